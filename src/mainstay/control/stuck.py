"""Jobs that are stuck: running for long, past their timeout, held by a silent worker, cancelled and going on, claimed and not started."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.clock import SECOND, human, span
from ..core.search_terms import Term
from ..core.states import RUNNING
from .records import StuckRecord
from .rules import instant

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..core.clock import Duration
    from ..core.job import Job, WorkerInfo
    from ..flow import Flow

AFTER = "5m"
PATIENCE = 30 * SECOND  # after which a cancel counts as ignored, and a claimed job as not started
CAP, PAGE = 5_000, 1_000  # running jobs that are looked at, and at once
SILENT, CANCEL, TIMEOUT, UNSTARTED, LONG = KINDS = ("silent", "cancel", "timeout", "unstarted", "long")


def stuck(app: Flow, after: Duration = AFTER) -> list[StuckRecord]:
    """Return the running jobs that are stuck, the one that was claimed first before others."""
    now, limit = app.clock.now(), span("after", after)
    workers = {worker.id: worker for worker in app.store.workers()}
    jobs = sorted(_running(app), key=lambda job: job.started_at or now)
    waiting = _unstarted(app, [job for job in jobs if now - (job.started_at or now) > PATIENCE])
    found = [(job, _kind(job, workers.get(job.worker or ""), job.id in waiting, now, limit)) for job in jobs]
    return [_record(job, kind, workers.get(job.worker or ""), now) for job, kind in found if kind]


def _running(app: Flow) -> Iterable[Job]:
    after, looked = None, 0
    while looked < CAP:
        page = app.store.search([Term("state", "=", (RUNNING,))], PAGE, after, app.clock.now())
        yield from (job for job in app.store.get_many(page.ids) if job.state == RUNNING)
        after, looked = page.after, looked + len(page.ids)
        if after is None:
            return


def _unstarted(app: Flow, jobs: list[Job]) -> set[str]:
    """Return the ids of jobs that their workers have claimed and not started; of workers on this machine."""
    workers = {job.worker for job in jobs if job.worker}
    return {job for worker in workers for job in app.store.unstarted(worker)}


def _kind(job: Job, worker: WorkerInfo | None, unstarted: bool, now: int, limit: int) -> str:
    """Return in which way a job is stuck, the most telling one; "" if it is not."""
    ran = now - (job.started_at or now)
    holds = {
        SILENT: worker is None or worker.expires_at <= now,
        CANCEL: job.cancel_at is not None and now - job.cancel_at > PATIENCE,
        UNSTARTED: unstarted,
        TIMEOUT: job.timeout is not None and ran > job.timeout,
        LONG: ran > limit,
    }
    return next((kind for kind in holds if holds[kind]), "")


def _record(job: Job, kind: str, worker: WorkerInfo | None, now: int) -> StuckRecord:
    ran = now - (job.started_at or now)
    seen = f"was last seen {human(now - worker.beat_at)} ago" if worker else "is gone"
    text, fix = {
        SILENT: (f"its worker {seen}", "mainstay worker   (any worker takes it over)"),
        CANCEL: (f"was asked to stop {human(now - (job.cancel_at or now))} ago, and its handler goes on", f"mainstay workers stop {job.worker}"),
        UNSTARTED: (f"was claimed {human(ran)} ago, and has not started: its worker is busy", f"mainstay workers drain {job.worker}"),
        TIMEOUT: (f"is {human(ran - (job.timeout or 0))} past its timeout of {human(job.timeout or 0)}", f"mainstay cancel {job.id}"),
        LONG: (f"runs for {human(ran)}", f"mainstay cancel {job.id}"),
    }[kind]  # fmt: skip
    return StuckRecord(job.id, job.type, kind, job.worker, job.attempt, instant(job.started_at), text, fix)
