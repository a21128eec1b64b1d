"""How many jobs a worker claims: some beyond its free slots while jobs are quick, one at a time on their last chance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.job import Claimed, field_getter
from ..core.retry import CRASHES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .in_flight import Execution, InFlight

LAST_CHANCE = CRASHES - 1  # crashes behind a job that is dead with the next one
MOST = 1_000  # at most this many jobs wait in the worker for a slot …
AHEAD = 20  # … and no more than run in this many milliseconds at the present pace
SAMPLE = 5  # milliseconds over which the pace is measured

_CRASHES = field_getter(Claimed, "crashes")


class Prefetch:
    """Measures the pace of the worker. Slow jobs are not prefetched: another worker could run them sooner."""

    def __init__(self, in_flight: InFlight) -> None:
        self._in_flight = in_flight
        self._ended, self._at = 0, 0
        self.pace = 0.0  # jobs per millisecond

    def size(self, now: int) -> int:
        """Return how many jobs to hold beyond the slots."""
        elapsed = now - self._at
        if elapsed >= SAMPLE:
            pace = (self._in_flight.ended - self._ended) / elapsed
            self.pace = pace if pace > self.pace else (self.pace + pace) / 2
            self._ended, self._at = self._in_flight.ended, now
        return min(MOST, int(self.pace * AHEAD))


class LastChance:
    """Limits the claims while such jobs are about. If one of them kills this worker, no other dies with it."""

    def __init__(self, in_flight: InFlight, poll: int) -> None:
        self._in_flight, self._poll = in_flight, poll
        self._careful_until = 0

    def careful(self, now: int) -> bool:
        """Return whether such a job was claimed a moment ago, so that more of them may follow."""
        return now < self._careful_until

    def room(self, free: int) -> int:
        """Return how many jobs a careful worker may claim when so many slots are free: one, or none beside such a job."""
        return 0 if self._running() else min(1, free)

    def excess(self, executions: list[Execution], jobs: list[Claimed], now: int) -> Sequence[Execution]:
        """Return which of the claimed jobs to release: all on their last chance, except one if it is the only one here."""
        if not any(map(_CRASHES, jobs)):  # nearly always: costs less than looking at each
            return ()
        risky = [execution for execution in executions if execution.job.crashes >= LAST_CHANCE]
        if not risky:
            return ()
        self._careful_until = now + self._poll
        return () if len(risky) == 1 and not self._running() else risky

    def _running(self) -> bool:
        return any(execution.job.crashes >= LAST_CHANCE and not execution.ended for execution in self._in_flight)
