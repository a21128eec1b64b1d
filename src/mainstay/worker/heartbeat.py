"""Staying alive in the store's eyes, on a thread that no handler can block, and giving up when that fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..core.clock import Clock
    from ..core.events import Events
    from ..stores.contract import Store

AFTER_AN_ERROR = 1_000  # ms until the next try: the first to hear that the store is back wakes the others
BEATS = 5  # a lease's worth of beats: four may be missed


class Heartbeat:
    """Renews the worker's lease. Whoever cannot renew in time counts himself out before the others do."""

    def __init__(
        self, store: Store, lease: int, clock: Clock, events: Events, rejoin: Callable[[], str],
        cancel: Callable[[str, int], None], heard: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self._store, self._lease, self._clock, self._events = store, lease, clock, events
        self._rejoin, self._cancel, self._heard = rejoin, cancel, heard
        self._again = min(lease // BEATS, AFTER_AN_ERROR)
        self.worker = ""
        self.held_until = 0  # by our own count: from the start of the last renewal that worked
        self._adrift = False  # everything was dropped, and the store has not taken us back yet

    def step(self, now: int) -> int:
        """One beat; answers when the next is due."""
        if self._adrift:  # to beat on would hold for ever what was dropped
            return self._lost()
        late = now >= self.held_until - self._lease // BEATS
        try:  # even when late: a supervisor may have kept the lease, and one that has run out is not renewed
            beat = self._store.renew(self.worker, now, self._lease)
        except StoreError as error:
            self._events.emit("store_error", error=error, wait=self._again)
            return self._lost() if late else self._again
        if not beat.alive:
            return self._lost()
        self.held_until = now + self._lease
        self._events.emit("beat", worker=self.worker)
        self._heard()
        for job_id, token in beat.cancelling:
            self._cancel(job_id, token)
        return self._due()

    def _due(self) -> int:
        """How long until the next beat, counted from when the last one began: after one that took long, none."""
        return max(0, self.held_until - self._lease + self._lease // BEATS - self._clock.now())

    def _lost(self) -> int:
        """The lease is gone or about to go: drop everything and come back as someone new."""
        self._adrift = True
        try:
            self.worker = self._rejoin()
        except StoreError as error:
            self._events.emit("store_error", error=error, wait=self._again)
            return self._again
        self._adrift = False
        return self._due()
