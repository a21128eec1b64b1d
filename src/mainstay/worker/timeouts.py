"""Time limits: handlers that run too long, and claimed jobs that wait too long for a slot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.clock import human, monotonic
from ..core.outcome import Outcome
from ..core.payload import clean
from ..core.retry import Undecided

if TYPE_CHECKING:
    from ..core.clock import Clock
    from .in_flight import Execution, InFlight
    from .slots import Slots

IDLE, BUSY, SOONEST = 200, 100, 10  # milliseconds between two rounds; IDLE while nothing is in flight
SHORTEST, LONGEST = 1_000, 10_000  # a handler is late when it runs for its timeout once more, within these bounds
PATIENCE = 1_000  # milliseconds that a claimed job may wait here while other workers could run it


class Timeouts:
    """Checks every execution a few times a second."""

    def __init__(self, clock: Clock, in_flight: InFlight, slots: Slots) -> None:
        self._monotonic, self._in_flight, self._slots = monotonic(clock), in_flight, slots

    def step(self, _: int) -> int:
        """Do one round; return when to do the next. Measures by monotonic time: setting the clock ends no handler."""
        now = self._monotonic()
        wait = BUSY if len(self._in_flight) else IDLE
        waited = False
        for execution in self._in_flight:
            if execution.ended:
                continue
            if execution.deadline is not None:
                wait = min(wait, self._check(execution, execution.deadline - now))
            waited = waited or (not execution.started and now - execution.claimed_at > PATIENCE)
        if waited and (self._slots.room() <= 0 or self._slots.blocked):
            self._slots.withdraw()
        return max(SOONEST, wait)

    def _check(self, execution: Execution, left: int) -> int:
        if left > 0:
            return left
        if execution.overrun is None:
            self._slots.time_out(execution, timed_out(execution))
        elif not execution.late and -left >= max(SHORTEST, min(execution.job.timeout or 0, LONGEST)):
            self._slots.report_late(execution)
        return BUSY


def timed_out(execution: Execution) -> Outcome:
    """Return the outcome of an attempt that ran out of time."""
    error = f"TimeoutError: ran longer than timeout={human(execution.job.timeout or 0)}"
    try:
        retry = execution.type.retry.retryable(TimeoutError(error))
    except Undecided as undecided:  # a mistake in the policy must not end the job
        error, retry = clean(f"{error} ({undecided})", 2_000), True
    return Outcome("timed out", error=error, retry=retry)
