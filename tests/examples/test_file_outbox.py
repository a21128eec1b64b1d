"""System 001: the story runs, and workers that are killed at random lose no file, no resource and no answer."""

import importlib
import json
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from examples.file_outbox.world import PATIENCE, ROOT, STAND_IN, Workers, environment, stop
from tests.servers.faults import Faults
from tests.waiting import eventually

KILLS = 20
ANSWER = {"text": "The system must do it.", "after": 0.1}
pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def seed(request):
    """Another run each time; the number is printed if the test fails."""
    number = random.SystemRandom().randrange(1 << 32)
    print(f"seed {number}")
    return random.Random(number)


def test_the_story_is_as_it_should_be(tmp_path):
    with (tmp_path / "story").open("w+", encoding="utf-8") as told:  # not a pipe, which the servers would keep open
        done = subprocess.run(
            [sys.executable, "-m", "examples.file_outbox"], cwd=ROOT, stdout=told, stderr=told, check=False
        )
        told.seek(0)
        text = told.read()
    assert done.returncode == 0, text
    assert "✗" not in text


@pytest.fixture
def model():
    """A model that answers soon, and counts what it is asked."""
    with Faults(then=ANSWER) as faults:
        yield faults


@pytest.fixture
def system(tmp_path, model, monkeypatch):
    """The application as its users import it, and the workers that run it."""
    env = environment(tmp_path, model.url) | {"CLAUDE": str(STAND_IN)}
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    for name in [name for name in sys.modules if name.startswith("examples.file_outbox.")]:
        if not name.endswith(".world"):
            monkeypatch.delitem(sys.modules, name)
    jobs = importlib.import_module("examples.file_outbox.jobs")
    with Workers(tmp_path, env) as workers:
        yield workers
    jobs.app.close()


class Actions:
    """What users do at random, and what must be true when all is done. Each thing is changed again after its last change is done."""

    def __init__(self, seed, app, name):
        self._seed, self._app, self.name = seed, app, name
        self._users = importlib.import_module("examples.file_outbox.requirements")
        self.files, self.queues, self.prompts, self._last, self._number = {}, {}, {}, {}, 0

    def more(self):
        """Change some documents and a resource, and ask a question."""
        for _ in range(4):
            self._document(self._thing("R"))
        self._queue(self._thing(self.name))
        self._ask(f"Q-{self._number}")

    def _thing(self, kind):
        """One that was changed before, if nothing is under way about it, or another."""
        self._number += 1
        known = f"{kind}-{self._seed.randrange(5)}"
        last = self._last.get(known)
        done = last is None or self._app.get(last).state == "completed"
        return known if done else f"{kind}-{self._number + 5}"

    def _document(self, name):
        if name in self.files and self._seed.random() < 0.4:
            self.files.pop(name)
            self._last[name] = self._users.remove(name)
        else:
            self.files[name] = text = f"version {self._number}"
            self._last[name] = self._users.save(name, name, text, overwrite=True)

    def _queue(self, name):
        if name in self.queues and self._seed.random() < 0.4:
            self.queues.pop(name)
            self._last[name] = self._users.provision("sqs.queue", name, action="delete")
        else:
            self.queues[name] = seconds = self._seed.randrange(1, 600)
            self._last[name] = self._users.provision("sqs.queue", name, {"VisibilityTimeout": seconds})

    def _ask(self, name):
        document = {"id": name, "title": f"Question {name}.", "text": "Why?"}
        self.prompts[name] = [self._users.extract(document).id for _ in range(2)]


@pytest.mark.timeout(300)
def test_workers_killed_at_random_leave_everything_right(system, model, seed, tmp_path):
    from examples.file_outbox.jobs import app

    actions = Actions(seed, app, f"outbox-{seed.randrange(1 << 32)}")
    kill_at_random(system, seed, actions, app)
    finish(system, app)
    documents = {path.stem: json.loads(path.read_text())["text"] for path in (tmp_path / "data/requirements").iterdir()}
    assert documents == actions.files  # and nothing else, no temporary file either
    assert queues(actions) == actions.queues
    check_prompts(app, model, actions, tmp_path / "data/extracted")
    claims = sum(job.token - 1 for job in app.list("", limit=1_000))
    assert claims >= KILLS // 2  # of jobs whose workers were killed before
    report = app.reconcile()
    assert (report.wrong, report.changing, report.unchecked, report.complete) == (0, 0, 0, True)


def kill_at_random(system, seed, actions, app):
    """Kill one of two workers, again and again, while it runs a job."""
    workers, pause = [system.launch(), system.launch()], threading.Event()
    for _ in range(KILLS):
        actions.more()
        victim = eventually(lambda: busy(app, workers), "a worker to run a job", PATIENCE)
        pause.wait(seed.random() * 0.02)
        assert stop(victim, signal.SIGKILL) == -signal.SIGKILL
        workers.remove(victim)
        workers.append(system.launch())


def busy(app, workers):
    """One of the processes that run a job now, by what the store says."""
    pids = {worker.id: worker.pid for worker in app.workers()}
    working = {pids.get(job.worker) for job in app.list("state:running", limit=20)}
    return next((process for process in workers if process.pid in working), None)


def finish(system, app):
    """Let the workers end the rest. A job that died only because its workers were killed three times is run again."""

    def over():
        for job in app.list("state:dead"):
            assert {each.outcome for each in app.attempts(job.id)} <= {"crashed", "lost_unknown"}, job.error
            app.retry(job.id, "its workers were killed")
        return not app.list("state:alive", limit=1)

    eventually(over, "all jobs to end", 2 * PATIENCE)
    assert Counter(job.state for job in app.list("", limit=1_000)).keys() == {"completed"}


def queues(actions):
    import boto3

    client = boto3.client("sqs")
    names = [url.rpartition("/")[2] for url in client.list_queues(QueueNamePrefix=actions.name).get("QueueUrls", [])]
    return {name: timeout(client, name) for name in names}


def timeout(client, name):
    url = client.get_queue_url(QueueName=name)["QueueUrl"]
    found = client.get_queue_attributes(QueueUrl=url, AttributeNames=["VisibilityTimeout"])
    return int(found["Attributes"]["VisibilityTimeout"])


def check_prompts(app, model, actions, folder):
    """One job for each hash, its answer in its file; asked again only by an attempt after one that was killed."""
    assert sorted(path.name for path in folder.iterdir()) == sorted(f"{name}.txt" for name in actions.prompts)
    hashes = Counter(job.key for job in app.list("type:claude_extraction", limit=1_000))
    assert len(hashes) == len(actions.prompts)
    assert set(hashes.values()) == {1}
    for name, (first, second) in actions.prompts.items():
        assert first == second
        assert (folder / f"{name}.txt").read_text() == ANSWER["text"]
        asked = model.asked(f"Question {name}.")
        assert 1 <= asked <= len(app.attempts(first)), name


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel ends children on Linux only")
def test_a_worker_ends_with_the_example_that_was_killed(tmp_path):
    (tmp_path / "tiny.py").write_text(
        "from mainstay import Mainstay\napp = Mainstay('sqlite:///tiny.db')\n@app.job\ndef f(): ...\n"
    )
    story = (
        "import os, sys; from examples.file_outbox.world import Workers\n"
        "worker = Workers(sys.argv[1], {**os.environ, 'PYTHONPATH': sys.argv[1]}).start('tiny:app')\n"
        "print(worker.pid, flush=True); os.kill(os.getpid(), 9)"
    )
    with (tmp_path / "told").open("wb") as told:
        subprocess.run([sys.executable, "-c", story, tmp_path], cwd=ROOT, stdout=told, check=False)
    pid = int((tmp_path / "told").read_text())
    eventually(lambda: not _runs(pid), "the worker to end", 20)


def _runs(pid):
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
