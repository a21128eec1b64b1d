"""What a store says about a transition: whether it was applied, and if not, why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .states import QUEUED, RUNNING, SCHEDULED

if TYPE_CHECKING:
    from .decide import Transition

STORED = "stored"  # applied by this call
ALREADY = "already"  # applied by an earlier call, whose reply was lost
CANCELLING = "cancelling"  # a cancel was requested in the meantime: decide again
LOST = "lost"  # the token is no longer current: drop it
BUSY = "busy"  # another open transaction has locked the job: try again later


def refusal(transition: Transition, job: tuple[str, int, int | None, str | None] | None) -> str:
    """Return why a transition was not applied to a job with this state, token, cancel_at and worker; None: it is gone."""
    if job is None:
        return LOST
    state, token, cancel_at, worker = job
    if token != transition.token:
        return LOST
    if state == RUNNING and cancel_at is not None and worker == transition.worker:
        return CANCELLING
    promoted = state == QUEUED and transition.state == SCHEDULED
    return ALREADY if state == transition.state or promoted else LOST
