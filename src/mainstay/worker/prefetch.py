"""Prefetch: how many jobs a worker claims beyond its free slots."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .in_flight import InFlight

MOST = 1_000  # at most this many jobs wait in the worker for a slot …
AHEAD = 20  # … and no more than run in this many milliseconds at the present pace
SAMPLE = 5  # milliseconds over which the pace is measured


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
