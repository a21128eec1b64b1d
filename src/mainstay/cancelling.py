"""`app.cancel`: cancels a job at once or with the caller's transaction, and waits for its handler if asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .core.errors import Conflict, ResultTimeout, UsageError
from .core.states import CANCELLED
from .refusals import checked
from .stores import outbox
from .waiting import await_end, wait_for

if TYPE_CHECKING:
    from .app import Mainstay
    from .core.clock import Duration
    from .core.job import Job
    from .handle import Handle


def cancel(app: Mainstay, job: str | Handle[Any], tx: object, actor: str, wait: Duration | None) -> str:
    """Cancel a job; return `cancelled` or `cancelling`."""
    full = app.resolve(job)
    if tx is None:
        reply = _cancelled(app, full, actor)
        return reply if wait is None or reply == CANCELLED else _ended(wait_for(app.store, full, wait), full)
    _check_no_wait(wait)
    replies = outbox.run(app.store, tx, lambda verbs: verbs.cancel([full], app.clock.now(), actor))
    return checked("cancel", full, replies[full])


async def acancel(app: Mainstay, job: str | Handle[Any], tx: object, actor: str, wait: Duration | None) -> str:
    """As `cancel`, awaited."""
    import asyncio

    full = await asyncio.to_thread(app.resolve, job)
    if tx is None:
        reply = await asyncio.to_thread(_cancelled, app, full, actor)
        if wait is None or reply == CANCELLED:
            return reply
        return _ended(await await_end(asyncio.get_running_loop(), app.store, full, wait), full)
    _check_no_wait(wait)
    replies = await outbox.arun(app.store, tx, lambda verbs: verbs.cancel([full], app.clock.now(), actor))
    return checked("cancel", full, replies[full])


def _cancelled(app: Mainstay, job_id: str, actor: str) -> str:
    return checked("cancel", job_id, app.store.cancel([job_id], app.clock.now(), actor)[job_id])


def _ended(job: Job | None, job_id: str) -> str:
    """Return `cancelled` for a job that was waited for; raise if it has ended otherwise, or (None) not in time."""
    if job is None:
        raise ResultTimeout(
            f"job {job_id} was asked to stop and still runs: it is cancelled when its handler has ended"
        )
    if job.state != CANCELLED:
        raise Conflict(f"job {job_id} was not cancelled: it is {job.state}")
    return job.state


def _check_no_wait(wait: Duration | None) -> None:
    if wait is not None:
        raise UsageError("cancel: tx= takes effect with your commit, so wait= cannot wait here; wait after the commit")
