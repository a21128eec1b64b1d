"""`demo`: a small shop on a real SQLite file, with real workers, one of which is killed. It takes about ten seconds."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import click

from ...core.clock import human
from ...core.errors import MainstayError
from ..exits import FAILED, OK, say
from ..options import command
from ..output import GLYPHS, Output, plural
from .screen import Screen
from .story import Story

if TYPE_CHECKING:
    from ...app import Mainstay

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
    path = _path(file)
    url = f"sqlite:///{path}"
    os.environ["MAINSTAY_URL"] = url  # for the shop in this process, and for its workers
    from . import shop

    story = _accept(shop.app, jobs, seconds)
    workers = [_worker() for _ in range(WORKERS)]
    try:
        _follow(shop.app, story, workers, Screen(output, f"mainstay demo · {url} · {WORKERS} workers"), seconds)
    finally:
        _stop(workers)
        shop.app.close()
    _sum_up(output, story, url)
    return OK if story.over else FAILED


def _path(file: str | None) -> str:
    if file is not None:
        return os.path.abspath(file)
    import tempfile

    return os.path.join(tempfile.mkdtemp(prefix="mainstay-demo-"), "demo.db")


def _accept(app: Mainstay, jobs: int, seconds: int) -> Story:
    """Enqueue the jobs before any worker runs."""
    from . import shop

    started = time.perf_counter()
    handles = app.enqueue_many(shop.orders(jobs, seconds))
    spent = round((time.perf_counter() - started) * 1000)
    story = Story(app, [handle.id for handle in handles], victim=handles[0].id)
    story.tell(
        "queued", f"{plural(len(handles), 'job')} accepted in {spent}ms: they are on the disk, no worker runs yet"
    )
    again = shop.daily_report.options(key="report-today").enqueue("today")
    if not again.created:
        story.tell("completed", f"daily_report was enqueued again: its key is taken, so it is the same job {again.id}")
    return story


def _worker() -> subprocess.Popen[bytes]:
    """Start a worker in its own process."""
    return subprocess.Popen([sys.executable, "-m", "mainstay.cli.demo.shop"], stderr=subprocess.PIPE)


def _follow(app: Mainstay, story: Story, workers: list[subprocess.Popen[bytes]], screen: Screen, seconds: int) -> None:
    """Show the jobs until they have ended; kill a worker meanwhile."""
    limit = time.monotonic() + 2 * seconds + 20
    while not story.over and time.monotonic() < limit:
        story.look()
        if story.ripe:
            _kill(app, story, workers)
        screen.show(story, app.clock.now())
        if all(worker.poll() is not None for worker in workers):
            raise MainstayError(f"the demo's workers ended: {_last_words(workers[-1])}")
        time.sleep(LOOK)
    screen.show(story, app.clock.now(), last=True)


def _kill(app: Mainstay, story: Story, workers: list[subprocess.Popen[bytes]]) -> None:
    """Kill the worker that runs the long job, without warning."""
    job = story.victim
    holder = next((worker for worker in app.store.workers() if job and worker.id == job.worker), None)
    process = next((process for process in workers if holder and process.pid == holder.pid), None)
    if process is not None and holder is not None:
        process.kill()
        process.wait()
        story.killed(holder.id, holder.pid)


def _last_words(worker: subprocess.Popen[bytes]) -> str:
    lines = worker.stderr.read().decode(errors="replace").strip().splitlines() if worker.stderr else []
    return lines[-1] if lines else f"exit code {worker.returncode}"


def _stop(workers: list[subprocess.Popen[bytes]]) -> None:
    for worker in workers:
        if worker.poll() is None:
            worker.terminate()
    for worker in workers:
        try:
            worker.wait(5)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()
        if worker.stderr:
            worker.stderr.close()


# The end ------------------------------------------------------------------------------------------------------------------


def _sum_up(output: Output, story: Story, url: str) -> None:
    """Print what happened, and what to try next."""
    out = output
    parts = [("completed", f"{plural(story.count('completed'), 'job')} completed")]
    if story.failures:
        again = "was retried automatically" if story.failures == 1 else "were retried automatically"
        parts.append(("retrying", f"{plural(story.failures, 'attempt')} failed and {again}"))
    if story.recovered_after is not None:
        text = f"a worker was killed; another took over its work within {human(story.recovered_after)}, from the checkpoint"
        parts.append(("running", text))
    parts += [
        (job.label, f"{job.type}: {job.error or job.reason}") for job in story.jobs.values() if job.label == "dead"
    ]
    parts += [
        ("review", f"{job.type} waits for you: {job.reason}") for job in story.jobs.values() if job.label == "review"
    ]
    if story.count("scheduled"):
        parts.append(("scheduled", f"{plural(story.count('scheduled'), 'job')} scheduled for later"))
    out.line(f"\n {out.paint('What you saw', 'bold')}")
    out.lines(f"  {out.paint(GLYPHS[label], label)} {text}" for label, text in parts)
    out.line(f"\n {out.paint('Try next', 'bold')}")
    out.lines(f"  {command}" for command in _next(story, url))
    if not story.over:
        say("the demo ran out of time before all jobs ended; mainstay status shows the rest")


def _next(story: Story, url: str) -> list[str]:
    of = {job.label: job.id for job in story.jobs.values()}
    victim = story.victim
    commands = [*_reachable(), f"export MAINSTAY_URL={url}", "mainstay status", "mainstay ls state:dead,review"]
    if victim is not None:
        commands.append(f"mainstay show {victim.id}   # the job that survived its worker")
    if "review" in of:
        commands.append(f'mainstay approve {of["review"]} --note "called them, it is right"')
    if "dead" in of:
        commands.append(f"mainstay retry {of['dead']}")
    return commands


def _reachable() -> list[str]:
    """Return the command that puts `mainstay` on the PATH, if it is not there: it is in the interpreter's folder."""
    if shutil.which("mainstay"):
        return []
    return [f'export PATH="{os.path.dirname(sys.executable)}:$PATH"']
