"""What an operator can do to a job in the state that it is in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.states import BLOCKED, CANCELLED, COMPLETED, DEAD, QUEUED, REVIEW, RUNNING, SCHEDULED

if TYPE_CHECKING:
    from ..core.job import Job

_CHANGES = ("amend", "reprioritise", "requeue")
POSSIBLE = {
    QUEUED: ("cancel", *_CHANGES, "reschedule", "delete"),
    SCHEDULED: ("retry", "cancel", *_CHANGES, "reschedule", "delete"),
    BLOCKED: ("cancel", *_CHANGES, "reschedule", "delete"),
    RUNNING: ("cancel",),
    REVIEW: ("approve", "reject", "retry", "cancel", "delete"),
    COMPLETED: ("copy", "delete"),
    DEAD: ("retry", "copy", *_CHANGES, "delete"),
    CANCELLED: ("retry", "copy", *_CHANGES, "delete"),
}
DECISIONS = ("approve", "reject", "retry")  # of a review: those who may decide


def possible(job: Job, decides: bool = True) -> tuple[str, ...]:
    """Return the names of the actions; without those that decide a review, for somebody who may not."""
    found = () if job.label == "cancelling" else POSSIBLE[job.state]
    return tuple(name for name in found if decides or job.state != REVIEW or name not in DECISIONS)
