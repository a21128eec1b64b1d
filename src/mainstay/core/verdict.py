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


def refusal(transition: Transition, state: str | None, token: int, cancelling: bool) -> str:
    """Return why a transition was not applied to a job in this state, under this token; a missing job has no state."""
    if state is None or token != transition.token:
        return LOST
    if state == RUNNING and cancelling:
        return CANCELLING
    promoted = state == QUEUED and transition.state == SCHEDULED
    return ALREADY if state == transition.state or promoted else LOST
