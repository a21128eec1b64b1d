"""`demo`: a small shop on a real SQLite file, with real workers, one of which is killed. It takes about ten seconds."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING

import click

from ...core.clock import human
from ...core.errors import MainstayError
from ..exits import FAILED, OK, say
from ..options import command
from ..output import GLYPHS, Output, plural
from ..records import about
from .story import Story

if TYPE_CHECKING:
    from ...app import Mainstay

    Workers = list[subprocess.Popen[bytes]]

WORKERS, LOOK = 2, 0.12  # seconds between two reads of the store


@command("mainstay demo\nmainstay demo --file demo.db\nmainstay demo --jobs 300 --seconds 30")
@click.option("--file", metavar="FILE", help="The file of the database.  [default: in a new temporary folder]")
@click.option("--jobs", default=60, show_default=True, type=click.IntRange(8, 5_000), help="The number of jobs.")
@click.option("--seconds", default=12, show_default=True, type=click.IntRange(4, 600), help="About how long it takes.")
def demo(file: str | None, jobs: int, seconds: int) -> int:
    """See jobs succeed, fail, retry and recover, in ten seconds.

    A small shop: receipts, cards that fail at first, a broken photo, an invoice that needs a decision, a report enqueued
    twice, a long import whose worker is killed. The jobs stay in the file, so you can try the other commands on them.
    """
    output = Output()
    path = os.path.abspath(file or os.path.join(tempfile.mkdtemp(prefix="mainstay-demo-"), "demo.db"))
    url = os.environ["MAINSTAY_URL"] = f"sqlite:///{path}"  # for the shop in this process, and for its workers
    from .shop import app

    output.facts(("mainstay demo", "bold"), url, f"{WORKERS} workers", indent=1)
    story = _accept(app, output, jobs, seconds)
    program = [sys.executable, "-m", "mainstay.cli.demo.shop"]
    workers = [subprocess.Popen(program, stderr=subprocess.PIPE) for _ in range(WORKERS)]  # noqa: S603  (fixed words)
    try:
        _follow(app, story, workers, seconds)
    finally:
        _stop(workers)
        app.close()
    _sum_up(output, story, url)
    return OK if story.over else FAILED


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


def _sum_up(output: Output, story: Story, url: str) -> None:
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
    if not story.over:
        say("the demo ran out of time before all jobs ended; mainstay status shows the rest")


def _next(story: Story, url: str) -> list[str]:
    of = {job.label: job.id for job in story.jobs.values()}
    commands = [f"export MAINSTAY_URL={url}", "mainstay status", "mainstay ls state:dead,review"]
    if not shutil.which("mainstay"):  # not on the PATH: it is in the interpreter's folder
        commands.insert(0, f'export PATH="{os.path.dirname(sys.executable)}:$PATH"')
    if story.long is not None:
        commands.append(f"mainstay show {story.long.id}   # the job that survived its worker")
    if "review" in of:
        commands.append(f'mainstay approve {of["review"]} --note "called them, it is right"')
    if "dead" in of:
        commands.append(f"mainstay retry {of['dead']}")
    return commands
