"""The heartbeat: renews the worker's lease on a thread that no handler can block, and gives the jobs up when that fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..core.clock import Clock
    from ..core.events import Events
    from .registration import Registration

AFTER_AN_ERROR = 1_000  # ms until the next try: the first part to reach the store again wakes the others
BEATS = 5  # renewals per lease: four may fail


class Heartbeat:
    """Renews the lease. A worker that cannot renew in time drops its jobs before other workers free them."""

    def __init__(
        self, registration: Registration, clock: Clock, events: Events, lost: Callable[[], None],
        cancel: Callable[[str, int], None], renewed: Callable[[], None],
    ) -> None:  # fmt: skip
        self._registration, self._clock, self._events = registration, clock, events
        self._lost, self._cancel, self._renewed = lost, cancel, renewed
        self._interval = registration.lease // BEATS
        self._again = min(self._interval, AFTER_AN_ERROR)
        self.replacing = False  # every job was dropped, and the store has not registered the new identity yet

    def step(self, now: int) -> int:
        """Renew once; return when to renew next."""
        if self.replacing:  # to renew the old lease would keep the dropped jobs from every other worker
            return self._replace()
        try:  # even when late: a supervisor may have renewed the lease, and the store refuses one that has run out
            renewal = self._registration.renew(now)
        except StoreError as error:
            self._events.emit("store_error", error=error, wait=self._again)
            return self._replace() if self._registration.lost(now + self._interval) else self._again
        if not renewal.alive:
            return self._replace()
        self._events.emit("beat", worker=self._registration.id)
        self._renewed()
        for job_id, token in renewal.cancelling:
            self._cancel(job_id, token)
        return self._due()

    def _due(self) -> int:
        """Return how long until the next renewal, counted from when the last one began."""
        renewed_at = self._registration.held_until - self._registration.lease
        return max(0, renewed_at + self._interval - self._clock.now())

    def _replace(self) -> int:
        """Drop everything and register under a new identity: the lease is lost, or about to be."""
        self.replacing = True
        try:
            self._lost()
        except StoreError as error:
            self._events.emit("store_error", error=error, wait=self._again)
            return self._again
        self.replacing = False
        return self._due()
