"""The whole story of the system, checked as it goes: `python3 dev.py example file_outbox`."""

import os
import pty
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from tests.waiting import eventually

from .world import PATIENCE, Workers, environment, stop

COUNT = 20  # requirements
INDENT = 4  # columns before what a command prints


class Story:
    """Prints what happens, and counts what is not as it should be."""

    def __init__(self, folder, env):
        self.folder, self.env, self.failed = Path(folder), env, 0
        self.data = self.folder / "data"

    def part(self, title):
        print(f"\n{title}")

    def check(self, what, holds):
        print(f"  {'✓' if holds else '✗'} {what}", flush=True)
        self.failed += not holds

    def run(self, *words):
        """Run a command as an operator does, print it and what it prints, and return its exit code."""
        print(f"  $ mainstay {shlex.join(words)}", flush=True)
        columns = shutil.get_terminal_size((80, 24)).columns - INDENT
        ours, theirs = pty.openpty()  # a terminal, so that it prints as it does for a person
        process = subprocess.Popen(
            [sys.executable, "-m", "mainstay", *words], cwd=self.folder, env={**self.env, "COLUMNS": str(columns)},
            stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs,
        )  # fmt: skip
        os.close(theirs)
        for line in printed(ours).splitlines():
            print(" " * INDENT + line)
        return process.wait()


def printed(terminal):
    """What is written to a terminal until nobody writes to it any more."""
    found = b""
    with suppress(OSError):  # by which Linux reports the end
        while block := os.read(terminal, 65_536):
            found += block
    os.close(terminal)
    return found.decode()


def main():
    """Run the story in a folder of its own; return 1 if something was not as it should be."""
    began = time.monotonic()
    print("AWS and a language model start here; the first run fetches the model (93 MB)", flush=True)
    with tempfile.TemporaryDirectory(prefix="file-outbox-") as folder:
        env = environment(folder)
        os.environ.update(env)
        story = Story(folder, env)
        with Workers(folder, env) as workers:
            tell(story, workers)
    print(
        f"\n{story.failed} checks failed"
        if story.failed
        else f"\nall as it should be, in {time.monotonic() - began:.0f} s"
    )
    return 1 if story.failed else 0


def tell(story, workers):
    """Tell the parts in order; some of them stop or kill the worker."""
    worker = documents(story, workers)
    failures(story)
    extraction(story)
    cloud(story)
    stop(worker)
    worker = crash(story, workers)
    changed_files(story)
    worker = shutdown(story, workers, worker)
    questions(story)
    stop(worker)


def documents(story, workers):
    """The job is recorded first, then the file is written."""
    from . import requirements

    story.part("Requirements become JSON documents: the job first, then the file")
    made = [requirements.save(f"R-{n}", f"Order {n}", f"An order has {n} lines.") for n in range(1, COUNT + 1)]
    story.check(f"{COUNT} jobs are accepted, and no file is written yet", not list(story.data.rglob("*.json")))
    worker = workers.start()
    results = [handle.result(timeout=PATIENCE) for handle in made]
    story.check(f"a worker has written {COUNT} documents", len(list(story.data.glob("requirements/*.json"))) == COUNT)
    story.check(
        "each is what its job says",
        all(result["written"] for result in results) and requirements.read("R-7")["id"] == "R-7",
    )
    again = requirements.save("R-7", "Order 7", "An order has 7 lines.").result(timeout=PATIENCE)
    story.check("the same document again is success, and nothing is written", not again["written"])
    return worker


def failures(story):
    """What no retry can mend is dead at once, and says what to do."""
    from . import requirements
    from .jobs import app, documents

    story.part("Bad input is dead at once")
    (story.data / "elsewhere").symlink_to(story.folder)
    (story.data / "requirements/R-99.json").write_text("{}")  # somebody else's
    taken = requirements.save("R-99", "Order 99", "Too many lines.")
    bad = [
        documents.create_file.enqueue("../outside.json", "{}"), documents.create_file.enqueue("elsewhere/x.json", "{}"),
        taken, requirements.provision("ec2.instance", "i-1", {}),
    ]  # fmt: skip
    eventually(lambda: all(app.get(handle).state == "dead" for handle in bad), "the jobs to die", PATIENCE)
    story.check(
        "a path outside, a link, an old file, an unknown resource: one attempt each",
        {app.get(each).attempt for each in bad} == {1},
    )
    story.run("dead")
    (story.data / "requirements/R-99.json").unlink()
    story.run("retry", taken.id, "--note", "the other file is gone")
    story.check("after the cause is gone, an operator runs the job again", taken.result(timeout=PATIENCE)["written"])


def extraction(story):
    """The prompt is frozen when it is enqueued; its hash is the key."""
    from . import requirements
    from .jobs import app

    story.part("Requirements become prompts for Claude, asked once for each hash")
    document = requirements.read("R-1")
    first, twice = requirements.extract(document), requirements.extract(document)
    story.check("an equal question while it is alive is the same job", twice.id == first.id and not twice.created)
    requirements.save("R-1", "Order 1", "An order can be cancelled within one day.", overwrite=True).result(
        timeout=PATIENCE
    )
    later = requirements.extract(requirements.read("R-1"))
    answers = [handle.result(timeout=PATIENCE) for handle in (first, later)]
    story.check("a changed document is another question", later.id != first.id)
    story.check("the first prompt stayed as it was", app.get(first).args["prompt"] == requirements.prompt_for(document))
    written = (story.data / "extracted/R-1.txt").read_text(encoding="utf-8")
    story.check("the answer is in the target file", written in [each.text for each in answers])
    story.run("show", first.id, "--fields", "type,state,ref,key")
    print(f"    the model says: {written[:50]!r}")


def cloud(story):
    """The resource becomes what its specification says, however often the job runs."""
    import boto3

    from . import requirements

    story.part("AWS resources follow their specification")
    queue = requirements.provision("sqs.queue", "orders", {"VisibilityTimeout": 45})
    bucket = requirements.provision("s3.bucket", "order-files", {"Versioning": True})
    outcomes = [handle.result(timeout=PATIENCE)["outcome"] for handle in (queue, bucket)]
    story.check("a queue and a bucket are created", outcomes == ["created", "created"])
    changed = requirements.provision("sqs.queue", "orders", {"VisibilityTimeout": 60}).result(timeout=PATIENCE)
    same = requirements.provision("sqs.queue", "orders", {"VisibilityTimeout": 60}).result(timeout=PATIENCE)
    story.check(
        "the queue is updated, and the second time left alone",
        (changed["outcome"], same["outcome"]) == ("updated", "unchanged"),
    )
    gone = requirements.provision("s3.bucket", "order-files", action="delete").result(timeout=PATIENCE)
    found = boto3.client("s3").list_buckets()["Buckets"]
    story.check(
        "the bucket is deleted", gone["outcome"] == "deleted" and "order-files" not in [each["Name"] for each in found]
    )


def crash(story, workers):
    """Reconciliation finds what a crash left between the file and the record."""
    from . import requirements
    from .jobs import app

    story.part("A worker is killed when a file is gone, and before that is recorded")
    handle = requirements.remove(f"R-{COUNT}")
    dying = workers.start("examples.file_outbox.crashing:app")
    code = dying.wait(PATIENCE)
    story.check("the worker was killed", code == -9)
    story.check(
        "the file is gone, and its job has not ended",
        not (story.data / f"requirements/R-{COUNT}.json").exists() and app.get(handle).state != "completed",
    )
    story.check("reconciliation finds it (exit code 3: a job changes it)", story.run("reconcile") == 3)
    worker = workers.start()
    handle.result(timeout=PATIENCE)
    story.check("the next worker completes the job, and all is consistent", story.run("reconcile") == 0)
    return worker


def changed_files(story):
    """What somebody changes behind the back of the jobs is reported, and never mended."""
    from . import requirements

    story.part("Somebody edits one file and removes another")
    (story.data / "requirements/R-2.json").write_text("{}")
    (story.data / "requirements/R-3.json").unlink()
    story.check("reconciliation reports both (exit code 1)", story.run("reconcile") == 1)
    story.check(
        "and mends neither",
        (story.data / "requirements/R-2.json").read_text() == "{}"
        and not (story.data / "requirements/R-3.json").exists(),
    )
    for n in (2, 3):
        requirements.save(f"R-{n}", f"Order {n}", "As it was.", overwrite=True).result(timeout=PATIENCE)
    story.check("after the user has saved them again, all holds", story.run("reconcile", "-q") == 0)


def shutdown(story, workers, worker):
    """SIGTERM at a checkpoint costs no attempt, and nothing is done twice."""
    from .jobs import app, index_documents

    story.part("SIGTERM in the middle of a long job")
    handle = index_documents.enqueue()
    eventually(lambda: (app.get(handle).done or 0) >= 2, "the job to be under way", PATIENCE)
    stop(worker)
    job = app.get(handle)
    story.check(
        f"it waits again, {job.done:g} of {job.total:g} documents done, no attempt spent",
        (job.state, job.attempt) == ("queued", 0),
    )
    worker = workers.start()
    result = handle.result(timeout=PATIENCE)
    story.check(
        f"another worker goes on after document {result['began_after']}, and {result['words']} words are counted",
        result["began_after"] == job.done and app.get(handle).attempt == 1,
    )
    return worker


def questions(story):
    """The six questions of the specification."""
    story.part("The six questions, from one store")
    for question, words, codes in (
        ("What work is outstanding right now?", ["status"], (0, 3)),
        ("What failed and why?", ["dead"], (0,)),
        ("Is anything stuck?", ["stuck"], (0,)),
        ("How long do jobs take?", ["stats", "--since", "1h"], (0,)),
        ("Are there duplicate jobs?", ["dupes", "--within", "1h"], (0, 3)),
        ("What ran in the last hour?", ["history", "1h", "--limit", "5"], (0,)),
    ):
        print(f"\n  {question}")
        story.check(f"answered by `mainstay {' '.join(words)}`", story.run(*words) in codes)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("\nstopped: the servers and workers have ended")
