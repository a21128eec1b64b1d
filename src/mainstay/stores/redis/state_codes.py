"""The letters by which records name the states."""

from __future__ import annotations

from ...core import states

STATES = {
    "q": states.QUEUED, "s": states.SCHEDULED, "b": states.BLOCKED, "r": states.RUNNING, "v": states.REVIEW,
    "c": states.COMPLETED, "x": states.CANCELLED, "d": states.DEAD,
}  # fmt: skip
LETTERS = {state: letter for letter, state in STATES.items()}
