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
        self.active = 0  # claimed and not ended
        self.ended = 0  # ended, ever

    def add(self, flights: list[Flight]) -> None:
        """Take over what was claimed."""
        with self._lock:
            for flight in flights:
                self._flights[flight.job.id] = flight
            self.active += len(flights)

    def get(self, job_id: str) -> Flight | None:
        """The flight of a job, or None."""
        return self._flights.get(job_id)

    def knows(self, job: Claimed) -> bool:
        """Whether this very attempt is among them."""
        found = self._flights.get(job.id)
        return found is not None and found.job.token == job.token

    def end(self, flight: Flight) -> bool:
        """Mark a flight as ended; False when it had ended before or was let go. The first to say so wins."""
        with self._lock:
            if flight.ended:
                return False
            flight.ended = True
            self.ended += 1
            self.active -= 1
            if self.active == 0:
                self._idle.notify_all()
            return True

    def wait_settled(self, seconds: float) -> None:
        """Block until some outcome is stored, or the time is over."""
        with self._idle:
            self._idle.wait(seconds)

    def wait_idle(self, seconds: float) -> bool:
        """Block until every flight has ended, or the time is over."""
        with self._idle:
            return self._idle.wait_for(lambda: self.active == 0, seconds)

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
            dropped = [flight for flight in self._flights.values() if not flight.ended]
            for flight in dropped:
                flight.ended = True
            self._flights.clear()
            self.active = 0
            self._idle.notify_all()
        return dropped

    def __iter__(self) -> Iterator[Flight]:
        with self._lock:
            return iter(list(self._flights.values()))

    def __len__(self) -> int:
        return len(self._flights)
