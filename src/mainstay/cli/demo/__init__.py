"""`demo`: a small shop on a real SQLite file, with real workers, one of which is killed. It takes about ten seconds."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from ...control.json_records import about, progress
from ...core.clock import human
from ...core.errors import MainstayError
from ...core.states import ENDED
from ..exits import FAILED, OK, say
from ..options import command
from ..output import GLYPHS, Output, cut, plural
from ..progress import bar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...app import Mainstay
    from ...core.job import Job

    Workers = list[subprocess.Popen[bytes]]

WORKERS, LOOK = 2, 0.12  # seconds between two reads of the store
KILL_AT = 0.4  # of the progress of the import


@command("mainstay demo\nmainstay demo --file demo.db\nmainstay demo --jobs 300 --seconds 30")
@click.option("--file", metavar="FILE", help="The file of the database.  [default: in a new temporary folder]")
@click.option("--jobs", default=60, show_default=True, type=click.IntRange(8, 5_000), help="The number of jobs.")
@click.option("--seconds", default=12, show_default=True, type=click.IntRange(4, 600), help="About how long it takes.")
@click.option("--serve/--no-serve", default=True, help="Serve the dashboard too.  [default: serve]")
def demo(file: str | None, jobs: int, seconds: int, serve: bool) -> int:
    """See jobs succeed, fail, retry and recover, in ten seconds.

    A small shop: receipts, cards that fail at first, a broken photo, an invoice that needs a decision, a report enqueued
    twice, a long import whose worker is killed. The jobs stay in the file, so you can try the other commands on them.

    The dashboard shows it all in the browser. On a terminal the shop then goes on, with new orders every second, until Ctrl-C.
    """
    output = Output()
    path = os.path.abspath(file or os.path.join(tempfile.mkdtemp(prefix="mainstay-demo-"), "demo.db"))
    url = os.environ["MAINSTAY_URL"] = f"sqlite:///{path}"  # for the shop in this process, and for its workers
    from .served import go_on, served
    from .shop import app

    output.facts(("mainstay demo", "bold"), url, f"{WORKERS} workers", indent=1)
    with served(app, serve) as link:
        if link is not None:
            output.line(("dashboard  ", "dim"), (link, "link"), indent=1)
        story = _accept(app, output, jobs, seconds)
        with _workers(app) as workers:
            _follow(app, story, workers, seconds)
            _sum_up(output, story, url, serve and link is None)
            if link is not None and sys.stdout.isatty():
                output.heading("The shop goes on")
                output.paragraph(text=f"new orders every second: watch them at {link}   Ctrl-C ends it", indent=2)
                go_on(app)
    return OK if story.over else FAILED


@contextmanager
def _workers(app: Mainstay) -> Iterator[Workers]:
    """Run the workers inside a `with`."""
    program = [sys.executable, "-m", "mainstay.cli.demo.shop"]
    workers = [subprocess.Popen(program, stderr=subprocess.PIPE) for _ in range(WORKERS)]  # noqa: S603  (fixed words)
    try:
        yield workers
    finally:
        _stop(workers)
        app.close()


def _accept(app: Mainstay, output: Output, jobs: int, seconds: int) -> Story:
    """Enqueue the jobs before any worker runs."""
    from . import shop

    started = time.perf_counter()
    handles = app.enqueue_many(shop.orders(jobs, seconds))
    spent = round((time.perf_counter() - started) * 1000)
    story = Story(app, output, [handle.id for handle in handles])
    story.tell(
        "queued", f"{plural(len(handles), 'job')} accepted in {spent}ms: they are on the disk, no worker runs yet"
    )
    again = shop.daily_report.options(key="report-today").enqueue("today")
    if not again.created:
        story.tell("completed", f"daily_report was enqueued again: its key is taken, so it is the same job {again.id}")
    return story


def _follow(app: Mainstay, story: Story, workers: Workers, seconds: int) -> None:
    """Follow the jobs until they have ended; kill the worker of the long one meanwhile, without warning."""
    limit = time.monotonic() + 2 * seconds + 20
    while not story.over and time.monotonic() < limit:
        story.look()
        job = story.to_kill
        for worker in app.store.workers() if job else ():
            process = next((process for process in workers if process.pid == worker.pid), None)
            if job and process and worker.id == job.worker:
                process.kill()
                process.wait()
                story.killed(job, worker.id, worker.pid)
        if all(worker.poll() is not None for worker in workers):
            raise MainstayError(f"the demo's workers ended: {_last_words(workers[-1])}")
        time.sleep(LOOK)


def _last_words(worker: subprocess.Popen[bytes]) -> str:
    lines = worker.stderr.read().decode(errors="replace").strip().splitlines() if worker.stderr else []
    return lines[-1] if lines else f"exit code {worker.returncode}"


def _stop(workers: Workers) -> None:
    for worker in workers:
        worker.terminate()
    for worker in workers:
        try:
            worker.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.communicate()


def _sum_up(output: Output, story: Story, url: str, not_served: bool = False) -> None:
    counts = story.counts
    parts = [("completed", f"{plural(counts['completed'], 'job')} completed")]
    if story.failures:
        again = plural(story.failures, "attempt failed and was", "attempts failed and were")
        parts.append(("retrying", f"{again} retried automatically"))
    if story.recovered_after is not None:
        text = f"a worker was killed; another took over its work within {human(story.recovered_after)}, from the checkpoint"
        parts.append(("running", text))
    parts += [
        (job.label, f"{job.type}: {about(job)}") for job in story.jobs.values() if job.label in {"dead", "review"}
    ]
    if counts["scheduled"]:
        parts.append(("scheduled", f"{plural(counts['scheduled'], 'job')} scheduled for later"))
    output.heading("What you saw")
    for label, text in parts:
        output.paragraph((GLYPHS[label], label), " ", text=text, indent=2)
    output.heading("Try next")
    for line in _next(story, url):
        output.line(line, indent=2)
    if not_served:
        say("the dashboard shows all this in the browser: pip install 'mainstay[dashboard]' and run it again")
    if not story.over:
        say("the demo ran out of time before all jobs ended; mainstay status shows the rest")


def _next(story: Story, url: str) -> list[str]:
    of = {job.label: job.id for job in story.jobs.values()}
    commands = [
        f"export MAINSTAY_URL={url}",
        "mainstay status",
        "mainstay ls state:dead,review",
        "mainstay serve   # the dashboard, on this file",
    ]
    if not shutil.which("mainstay"):  # not on the PATH: it is in the interpreter's folder
        commands.insert(0, f'export PATH="{os.path.dirname(sys.executable)}:$PATH"')
    if story.long is not None:
        commands.append(f"mainstay show {story.long.id}   # the job that survived its worker")
    if "review" in of:
        commands.append(f'mainstay approve {of["review"]} --note "called them, it is right"')
    if "dead" in of:
        commands.append(f"mainstay retry {of['dead']}")
        commands.append("mainstay worker --app mainstay.cli.demo.shop:app   # runs it; Ctrl-C stops")
    return commands


class Story:
    """Follows the jobs by reading the store, as any other program can, and prints a line for each event.

    On a terminal, the line below them shows the progress and is drawn over itself.
    """

    def __init__(self, app: Mainstay, output: Output, ids: list[str]) -> None:
        self._app, self._output, self._ids = app, output, ids  # the first job is the long one
        self._began = app.clock.now()
        self.jobs: dict[str, Job] = {}
        self.failures = 0
        self.killed_at: int | None = None
        self.killed_token = 0
        self.recovered_after: int | None = None

    def tell(self, label: str, text: str) -> None:
        """Print an event."""
        out = self._output
        since = f"{(self._app.clock.now() - self._began) / 1000:5.1f}s  "
        out.live()
        out.paragraph((since, "dim"), (GLYPHS[label], label), " ", text=text, indent=1)

    def look(self) -> None:
        """Read the jobs once, print an event for each change, and draw the progress."""
        for job in self._app.store.get_many(self._ids):
            before = self.jobs.get(job.id)
            self.jobs[job.id] = job
            if before is None or (before.label, before.attempt, before.token) != (job.label, job.attempt, job.token):
                self._changed(job)
        sys.stdout.flush()
        if self.over:
            self._output.live()
        elif self.long is not None:
            counts = ", ".join(f"{number} {label}" for label, number in sorted(self.counts.items()))
            shown = cut(counts, max(self._output.width - 32, 12))
            self._output.live(" ", *bar(self.long.done, self.long.total), f" {progress(self.long)} {shown}")

    def _changed(self, job: Job) -> None:
        awaited = job is self.long and self.killed_at is not None and self.recovered_after is None
        if awaited and job.token > self.killed_token and job.started_at is not None:
            self.recovered_after = max(job.started_at - (self.killed_at or 0), 0)
            text = f"import_catalog goes on from its checkpoint, on another worker, {human(self.recovered_after)} later"
            self.tell("running", text)
        if job.label == "retrying":
            self.failures += 1
            wait = human(max((job.run_at or 0) - self._app.clock.now(), 0))
            self.tell("retrying", f"{job.type} failed: {job.error}; next attempt in {wait}")
        elif job.label in {"dead", "review"}:
            self.tell(job.label, f"{job.type}: {job.error if job.label == 'dead' else job.reason}")
        elif job.label == "completed":
            self._completed(job)

    def _completed(self, job: Job) -> None:
        """Print an event, except for a plain job that completes at its first attempt."""
        if job is self.long:
            self.tell("completed", f"import_catalog is done: {self._app.store.result(job.id)}")
        elif job.tags or job.key:
            self.tell("completed", f"{job.type} is done" + (", as scheduled" if job.tags else ""))
        elif job.attempt > 1:
            self.tell("completed", f"{job.type} worked at attempt {job.attempt}")

    def killed(self, job: Job, worker: str, pid: int) -> None:
        """Print and remember that the worker of the long job was killed."""
        self.killed_at, self.killed_token = self._app.clock.now(), job.token
        row = f" at row {job.done:.0f} of {job.total:.0f}" if job.done and job.total else ""
        self.tell("dead", f"worker {worker} (pid {pid}) is killed with SIGKILL while it runs import_catalog{row}")

    @property
    def long(self) -> Job | None:
        """The long job, whose worker is killed."""
        return self.jobs.get(self._ids[0])

    @property
    def to_kill(self) -> Job | None:
        """The long job, when it is far enough for its worker to be killed."""
        job = self.long
        if self.killed_at is not None or job is None or job.state != "running":
            return None
        return job if job.done and job.total and job.done / job.total >= KILL_AT else None

    @property
    def over(self) -> bool:
        """Whether nothing more will happen: the jobs that still wait need a person, or are scheduled for later."""
        return len(self.jobs) == len(self._ids) and all(
            job.state in ENDED or job.state == "review" or "tomorrow" in job.tags for job in self.jobs.values()
        )

    @property
    def counts(self) -> Counter[str]:
        """How many jobs have each label."""
        return Counter(job.label for job in self.jobs.values())
