"""Time limits: handlers that run too long, and claimed jobs that wait too long for a slot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.clock import human
from ..core.outcome import Outcome

if TYPE_CHECKING:
    from .in_flight import Flight, Flights
    from .slots import Crew

SELDOM, OFTEN, SOON = 200, 100, 10  # milliseconds between two looks; seldom while there is nothing to look at
PATIENCE = 1_000  # how long a claimed job may wait here while others could run it


class Watch:
    """Looks at every flight a few times a second."""

    def __init__(self, flights: Flights, crew: Crew) -> None:
        self._flights, self._crew = flights, crew

    def step(self, now: int) -> int:
        """One look; answers when to look again."""
        wait = OFTEN if len(self._flights) else SELDOM
        waited = False
        for flight in self._flights:
            if flight.ended:
                continue
            if flight.deadline is not None:
                wait = min(wait, self._look(flight, flight.deadline - now))
            waited = waited or (not flight.started and now - flight.claimed_at > PATIENCE)
        if waited and self._crew.room() <= 0:
            self._crew.withdraw()
        return max(SOON, wait)

    def _look(self, flight: Flight, left: int) -> int:
        if left <= 0:
            self._crew.time_out(flight, timed_out(flight))
        return max(0, left)


def timed_out(flight: Flight) -> Outcome:
    """The outcome of an attempt that ran out of time."""
    retry = flight.type.retry.retryable(TimeoutError())
    return Outcome("timed out", error=f"TimeoutError: ran longer than {human(flight.job.timeout or 0)}", retry=retry)
