"""`cancel --wait`: returns when the jobs that run have ended."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from ..core.errors import UsageError
from ..core.states import CANCELLED
from ..waiting import wait_for_all
from . import enqueue_args, exits
from .output import plural

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..app import Mainstay
    from ..control.bulk_run import Report
    from .output import Output

RUNNING = "cancelling"  # what a store says of a job that runs and was asked to stop


def WAIT(made: Callable[..., Any]) -> Callable[..., Any]:  # noqa: N802  (named as an option)
    """Add `--wait` and `--timeout`."""
    wait = click.option("--wait", is_flag=True, help="Return when the running ones have ended.")
    timeout = click.option("--timeout", metavar="DURATION", help="With --wait: how long; exit code 124 after it.")
    return wait(timeout(made))


def waiting_time(wait: bool, timeout: str | None) -> float | None:
    """Return how many seconds to wait; None: as long as it takes."""
    if timeout and not wait:
        raise UsageError("--timeout belongs to --wait", "the same command with --wait")
    return enqueue_args.duration("--timeout", timeout) if timeout else None


def await_cancelled(
    app: Mainstay, output: Output, report: Report, running: list[str], timeout: float | None
) -> tuple[Report, dict[str, str]]:
    """Wait for the jobs that run; return the report with what became of them, and that: a cancel that came too late is `ended`."""
    try:
        states = wait_for_all(
            app.store,
            running,
            timeout,
            lambda left: output.live(f"waiting for {plural(left, 'job')} to stop" * (left > 0)),
        )
    finally:
        output.live()
    found = {job: state if state == CANCELLED else "ended" for job, state in states.items()}
    return _amended(report, found), found


def _amended(report: Report, found: dict[str, str]) -> Report:
    counts = Counter(found.values())
    results = Counter(report.results) + Counter({CANCELLED: counts[CANCELLED]})
    results[RUNNING] -= len(found)
    refused = Counter(report.refused) + Counter({"ended": counts["ended"]})
    jobs = {job: found.get(job, result) for job, result in report.jobs.items()}
    return report._replace(changed=report.changed - counts["ended"], results=results, refused=refused, jobs=jobs)


def complain_running(running: list[str]) -> None:
    """Name the jobs that still run."""
    subject = f"job {running[0]}" if len(running) == 1 else plural(len(running), "job")
    exits.complain(f"{subject} did not stop in time", f"mainstay why {running[0]}")
