"""Prune: deletes jobs and lines of the audit trail whose retention is over, a few at a time: no write lock is held long."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.clock import HOUR, MINUTE
from ..core.errors import StoreError
from . import release_notes

if TYPE_CHECKING:
    from ..core.events import Events
    from ..stores.contract import Store

CHUNK = 500
BETWEEN = 50  # milliseconds between two chunks, so that others can write


class Prune:
    """Deletes one chunk a step: of jobs."""

    name, pause = "prune", MINUTE

    def __init__(self, store: Store, events: Events) -> None:
        self._store, self._events = store, events

    def step(self, now: int) -> int:
        """Delete one chunk; return when to delete the next."""
        try:
            count = self._delete(now)
        except StoreError as error:
            self._events.emit("store_error", error=error, wait=MINUTE)
            return MINUTE
        return BETWEEN if count == CHUNK else self.pause

    def _delete(self, now: int) -> int:
        count = self._store.prune(now, CHUNK)
        if count:
            self._events.emit("pruned", count=count)
        return count


class PruneActions(Prune):
    """Deletes lines of the audit trail that are older than `keep` ms, and notes of workers that are gone."""

    name, pause = "prune actions", HOUR

    def __init__(self, store: Store, events: Events, keep: int) -> None:
        super().__init__(store, events)
        self._keep = keep

    def _delete(self, now: int) -> int:
        count = self._store.prune_actions(now, self._keep, CHUNK)
        if count < CHUNK:
            release_notes.forget(self._store)
        return count
