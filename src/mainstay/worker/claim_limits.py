"""How many jobs a worker claims: some beyond its free slots while jobs are quick, one at a time on their last chance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.job import Claimed, field_getter
from ..core.retry import CRASHES

if TYPE_CHECKING:
    from .in_flight import Execution, InFlight

APART, LONGEST = 100, 30_000  # milliseconds between two of those that are released, and at most until they come back
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
        """Return whether to claim a single job: several of them were claimed a moment ago, and the first is to run alone."""
        return now < self._careful_until and self._running() is None

    def excess(self, executions: list[Execution], jobs: list[Claimed], now: int) -> dict[Execution, int]:
        """Return which of the claimed jobs to release, and for how long: others must not wait behind them meanwhile.

        All on their last chance are released, unless there is only one: it starts. The first of several goes back to the
        head of its queue, where it is claimed alone; the others wait for a time that differs for each of them.
        """
        if not any(map(_CRASHES, jobs)):  # nearly always: costs less than looking at each
            return {}
        risky = [execution for execution in executions if execution.job.crashes >= LAST_CHANCE]
        running = self._running()
        if not risky or (len(risky) == 1 and running is None):
            return {}
        if running is None:
            self._careful_until = now + self._poll
            return {execution: place * APART for place, execution in enumerate(risky)}
        lasted = min(now - running.claimed_at, LONGEST)  # the longer it runs, the less often the others are claimed
        return {execution: lasted + place * APART for place, execution in enumerate(risky, 1)}

    def _running(self) -> Execution | None:
        """Return the job on its last chance that this worker holds."""
        risky = (each for each in self._in_flight if each.job.crashes >= LAST_CHANCE and not each.ended)
        return next(risky, None)
