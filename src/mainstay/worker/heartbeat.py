"""Staying alive in the store's eyes, on a thread that no handler can block, and giving up when that fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..core.events import Events
    from ..stores.contract import Store

BEATS = 5  # a lease's worth of beats: four may be missed


class Heartbeat:
    """Renews the worker's lease. Whoever cannot renew in time counts himself out before the others do."""

    def __init__(
        self, store: Store, lease: int, events: Events, rejoin: Callable[[int], str],
        cancel: Callable[[str, int], None],
    ) -> None:  # fmt: skip
        self._store, self._lease, self._events = store, lease, events
        self._rejoin, self._cancel = rejoin, cancel
        self.worker = ""
        self.held_until = 0  # by our own count: from the start of the last renewal that worked

    def step(self, now: int) -> int:
        """One beat; answers when the next is due."""
        late = now >= self.held_until - self._lease // BEATS
        try:  # even when late: a supervisor may have kept the lease, and one that has run out is not renewed
            beat = self._store.beat(self.worker, now, self._lease)
        except StoreError as error:
            self._events.emit("store_error", error=error, wait=self._lease // BEATS)
            return self._lost(now) if late else self._lease // BEATS
        if not beat.alive:
            return self._lost(now)
        self.held_until = now + self._lease
        self._events.emit("beat", worker=self.worker)
        for job_id, token in beat.cancelling:
            self._cancel(job_id, token)
        return self._lease // BEATS

    def _lost(self, now: int) -> int:
        """The lease is gone or about to go: drop everything and come back as someone new."""
        try:
            self.worker = self._rejoin(now)
        except StoreError as error:
            self._events.emit("store_error", error=error, wait=self._lease // BEATS)
            return self._lease // BEATS
        self.held_until = now + self._lease
        return self._lease // BEATS
