"""Time limits: handlers that run too long, and claimed jobs that wait too long for a slot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.clock import human
from ..core.outcome import Outcome

if TYPE_CHECKING:
    from .in_flight import Execution, InFlight
    from .slots import Slots

IDLE, BUSY, SOONEST = 200, 100, 10  # milliseconds between two rounds; IDLE while nothing is in flight
PATIENCE = 1_000  # milliseconds that a claimed job may wait here while other workers could run it


class Timeouts:
    """Checks every execution a few times a second."""

    def __init__(self, in_flight: InFlight, slots: Slots) -> None:
        self._in_flight, self._slots = in_flight, slots

    def step(self, now: int) -> int:
        """Do one round; return when to do the next."""
        wait = BUSY if len(self._in_flight) else IDLE
        waited = False
        for execution in self._in_flight:
            if execution.ended:
                continue
            if execution.deadline is not None:
                wait = min(wait, self._check(execution, execution.deadline - now))
            waited = waited or (not execution.started and now - execution.claimed_at > PATIENCE)
        if waited and self._slots.room() <= 0:
            self._slots.withdraw()
        return max(SOONEST, wait)

    def _check(self, execution: Execution, left: int) -> int:
        if left <= 0:
            self._slots.time_out(execution, timed_out(execution))
        return max(0, left)


def timed_out(execution: Execution) -> Outcome:
    """Return the outcome of an attempt that ran out of time."""
    retry = execution.type.retry.retryable(TimeoutError())
    error = f"TimeoutError: ran longer than {human(execution.job.timeout or 0)}"
    return Outcome("timed out", error=error, retry=retry)
