"""The jobs in this worker's hands, from claim until their outcome is stored."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..context import Context
    from ..core.job import Claimed


class Flight:
    """One claimed job: waiting for a slot, running, or ended and not yet stored.

    Defaults stand on the class: one of these is made for every job, and most never change them.
    """

    started = False
    ended = False  # it has an outcome, or is no longer ours
    mark = 0  # where the store notes that it runs
    deadline: int | None = None
    context: Context | None = None
    cancel: str | None = None  # why it was told to stop
    stop: Any = None  # how its executor interrupts it, where it can

    def __init__(self, job: Claimed, type: Any, now: int) -> None:
        self.job, self.type, self.claimed_at = job, type, now


class Flights:
    """Those in flight, by id. A job stays until its outcome is stored, so that nobody takes it for lost."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle = threading.Condition(self._lock)
        self._flights: dict[str, Flight] = {}
        self._open: dict[Flight, bool] = {}  # those that have not ended
        self._taken = 0

    @property
    def active(self) -> int:
        """How many were claimed and have not ended."""
        return len(self._open)

    @property
    def ended(self) -> int:
        """How many have ended, ever."""
        return self._taken - len(self._open)

    def add(self, flights: list[Flight]) -> None:
        """Take over what was claimed."""
        with self._lock:
            self._flights.update([(flight.job.id, flight) for flight in flights])
            self._open.update(dict.fromkeys(flights, True))
            self._taken += len(flights)

    def get(self, job_id: str) -> Flight | None:
        """The flight of a job, or None."""
        return self._flights.get(job_id)

    def knows(self, job: Claimed) -> bool:
        """Whether this very attempt is among them."""
        found = self._flights.get(job.id)
        return found is not None and found.job.token == job.token

    def end(self, flight: Flight) -> bool:
        """Mark a flight as ended; False when it had ended before or was let go. Who takes it out first wins: no lock."""
        if self._open.pop(flight, None) is None:
            return False
        flight.ended = True
        if not self._open:
            with self._idle:
                self._idle.notify_all()
        return True

    def wait_settled(self, seconds: float) -> None:
        """Block until some outcome is stored, or the time is over."""
        with self._idle:
            self._idle.wait(seconds)

    def wait_idle(self, seconds: float) -> bool:
        """Block until every flight has ended, or the time is over."""
        with self._idle:
            return self._idle.wait_for(lambda: not self._open, seconds)

    def settle(self, flights: list[Flight]) -> None:
        """Let go of jobs whose outcome is stored or refused; of these very attempts, not of a later one at the same job."""
        with self._lock:
            for flight in flights:
                if self._flights.get(flight.job.id) is flight:
                    del self._flights[flight.job.id]
            self._idle.notify_all()

    def drop_all(self) -> list[Flight]:
        """Let go of everything: the lease is lost."""
        with self._lock:
            dropped = [flight for flight in list(self._open) if self._open.pop(flight, None)]
            for flight in dropped:
                flight.ended = True
            self._flights.clear()
            self._idle.notify_all()
        return dropped

    def __iter__(self) -> Iterator[Flight]:
        with self._lock:
            return iter(list(self._flights.values()))

    def __len__(self) -> int:
        return len(self._flights)
