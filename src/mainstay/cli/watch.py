"""`watch`: shows what becomes of one job, with its progress and its log, until it ends. Its exit code is the job's."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from ..control import json_records
from ..core.clock import human
from ..core.states import CANCELLED, COMPLETED, DEAD, ENDED, REVIEW
from . import enqueue_args, exits
from .jobs import stored
from .logs import PAGE, log_line
from .options import command, on_store
from .output import state
from .progress import bar

if TYPE_CHECKING:
    from ..app import Mainstay
    from ..core.job import Job
    from .options import Target
    from .output import Cell, Output

POLL = 0.2  # seconds
CODES = {COMPLETED: exits.OK, DEAD: exits.JOB_FAILED, CANCELLED: exits.JOB_FAILED, REVIEW: exits.PARTIAL}
TENTHS = 10  # a pipe gets a line for each


@command(
    """
    mainstay watch 01JQ93
    mainstay watch 01JQ93 --timeout 10m
    mainstay watch 01JQ93 -q
    mainstay watch 01JQ93 --jsonl
    """
)
@click.argument("job")
@click.option("--timeout", metavar="DURATION", help="How long to watch; exit code 124 after it.")
@on_store("Print nothing: only the exit code tells.")
def watch(target: Target, output: Output, job: str, timeout: str | None) -> int:
    """Follow one job until it ends, with its progress and its log.

    The exit code is 0 if it completed, 8 if it is dead or cancelled, 3 if it waits for a person (see mainstay reviews), 124 after the
    timeout. Ctrl-C ends the watching; the job goes on.
    """
    patience = None if timeout is None else enqueue_args.duration("--timeout", timeout)
    with target.open() as app:
        seen = _Watching(app, output, stored(app, job))
        limit = None if patience is None else time.monotonic() + patience
        try:
            return seen.until(limit)
        except KeyboardInterrupt:
            output.live()
            output.talk("not watched any more; the job goes on")
            return exits.INTERRUPTED
        finally:
            output.live()


class _Watching:
    """What was printed of a job."""

    def __init__(self, app: Mainstay, output: Output, job: Job) -> None:
        self._app, self._output, self._job = app, output, job
        self._lines = 0
        self._known: tuple[Any, ...] = ()
        self._tenth: tuple[Any, ...] = ()

    def until(self, limit: float | None) -> int:
        """Print what is new until the job is at rest, and return the exit code."""
        while True:
            self._job = stored(self._app, self._job.id)  # before the log, so that no line is missed
            self._output.now = self._app.clock.now()
            self._print()
            if self._job.state in CODES:
                return self._end()
            left = POLL if limit is None else min(POLL, limit - time.monotonic())
            if left <= 0:
                self._output.live()
                self._output.talk(f"it is still {self._job.label}; the job goes on")
                return exits.TIMEOUT
            self._output.flush()
            time.sleep(left)

    def _print(self) -> None:
        """Print the state if it changed, the new lines of the log, and how far the job is."""
        job, lines = self._job, self._app.store.logs(self._job.id, self._lines, PAGE)
        self._lines += len(lines)
        moved = (job.label, job.token, job.attempt)
        if self._output.shape.quiet:
            return
        if lines or moved != self._known:
            self._output.live()
        if self._output.shape.machine:
            self._print_records(moved, [json_records.of(line) | {"event": "log"} for line in lines])
        else:
            if moved != self._known and job.state not in ENDED:
                self._output.line(*self._where())
            for line in lines:
                self._output.line(*log_line(self._output, line))
            self._print_progress()
        self._known = moved

    def _print_records(self, moved: tuple[Any, ...], lines: list[dict[str, Any]]) -> None:
        if not self._output.shape.jsonl:  # with --json, the job is printed when it has ended
            return
        if moved != self._known and self._job.state not in ENDED:
            self._output.data(json_records.of_job(self._job, self._output.now) | {"event": "state"})
        for line in lines:
            self._output.data(line)

    def _where(self) -> list[Cell]:
        job = self._job
        where = f"  on {job.worker}" if job.worker else ""
        at = job.started_at if job.state == "running" else None
        return [
            (self._output.moment(at or self._output.now), "dim"), " ", state(job.label), f"  {job.type} {job.id}",
            (f"  attempt {job.attempt}/{job.max_attempts}{where}", "dim"),
        ]  # fmt: skip

    # progress -------------------------------------------------------------------------------------------------------
    def _print_progress(self) -> None:
        job = self._job
        if job.state != "running":
            return
        took = human(max(self._output.now - (job.started_at or self._output.now), 0))
        percent = f" {int(100 * job.done / job.total):>3} %  " if job.total and job.done is not None else ""
        cells = [*bar(job.done, job.total), percent + (f"{job.stage}  " if job.stage else "") + took]
        self._output.live(*cells)
        tenth = (job.stage, int(TENTHS * (job.done or 0) / job.total) if job.total else None)
        if not self._output.tty and tenth not in (self._tenth, (None, None)):
            self._output.line((self._output.moment(self._output.now), "dim"), " progress ", *cells)
        self._tenth = tenth

    # the end --------------------------------------------------------------------------------------------------------
    def _end(self) -> int:
        job = self._job
        self._output.live()
        if self._output.shape.machine:
            self._output.data(
                json_records.of_job(job, self._output.now) | ({"event": "state"} if self._output.shape.jsonl else {})
            )
        elif not self._output.shape.quiet:
            took = json_records.durations(job, self._output.now)["took"]
            why = (
                f": {job.error or job.reason}"
                if job.state in (DEAD, CANCELLED, REVIEW) and (job.error or job.reason)
                else ""
            )
            spent = f" in {human(took)}" if took is not None else ""
            self._output.line(
                (self._output.moment(job.finished_at or self._output.now), "dim"),
                " ",
                state(job.label),
                f"{spent}{why}",
            )
            self._output.talk(f"→ mainstay {'reviews' if job.state == REVIEW else f'show {job.id}'}")
        return CODES[job.state]
