"""What a hook is told about a job."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from .payload import decode_result
from .states import DEAD, RUNNING

if TYPE_CHECKING:
    from .decide import Transition
    from .job import Claimed
    from .updates import Progress

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class JobEvent(NamedTuple):
    """An attempt at a job, as a hook sees it. `app.get(event.id)` reads the whole job."""

    id: str
    type: str
    queue: str
    attempt: int
    max_attempts: int
    priority: int
    created_at: datetime
    started_at: datetime
    state: str = RUNNING  # what the job is now: `scheduled` if it is tried again
    seconds: float | None = None  # that the attempt took
    error: str | None = None
    code: str | None = None  # of the error
    result: Any = None  # as plain JSON values
    done: float | None = None  # progress, and the stage
    total: float | None = None
    stage: str | None = None

    @property
    def final(self) -> bool:
        """Whether the job is dead: no attempt follows."""
        return self.state == DEAD


def started(job: Claimed) -> JobEvent:
    """Return the event of an attempt that starts."""
    return JobEvent(
        job.id, job.type, job.queue, job.attempt, job.max_attempts, -job.rank, _instant(job.created_at), _instant(job.started_at),
    )  # fmt: skip


def progressed(job: Claimed, update: Progress) -> JobEvent:
    """Return the event of an attempt that reports progress."""
    return started(job)._replace(done=update.done, total=update.total, stage=update.stage)


def ended(job: Claimed, transition: Transition) -> JobEvent:
    """Return the event of an attempt that has ended."""
    t = transition
    return started(job)._replace(
        state=t.state, seconds=max(t.at - job.started_at, 0) / 1000, error=t.error, code=t.code, result=decode_result(t.result),
    )  # fmt: skip


def _instant(ms: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=ms)
