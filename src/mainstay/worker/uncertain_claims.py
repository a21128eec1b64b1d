"""Claims that got no reply: the store may have committed them all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..core.job import Claimed
    from ..stores.contract import Store
    from .in_flight import InFlight


class UncertainClaims:
    """Finds the jobs of such claims. No other worker runs them as long as this one lives."""

    def __init__(self, store: Store, in_flight: InFlight) -> None:
        self._store, self._in_flight = store, in_flight
        self.pending = False  # some claim got no reply, and `missed` has not been asked since

    def missed(self, worker: str) -> list[Claimed]:
        """Return the jobs that the store counts as this worker's and that this worker does not know."""
        held = self._store.claimed_by(worker)
        self.pending = False
        return [job for job in held if not self._in_flight.knows(job)]
