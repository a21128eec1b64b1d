"""Prune: removes jobs and lines of the audit trail whose retention is over, a few at a time: no write lock is held long."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

from ..core.clock import HOUR, MINUTE, SystemClock, monotonic
from ..core.errors import ArchiveError, StoreError
from . import release_notes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..core.clock import Clock
    from ..core.events import Events
    from ..stores.contract import Expired, Store
    from .archive import Archive

T = TypeVar("T")
SYSTEM = SystemClock()
CHUNK = 500  # lines of the audit trail
LEAST, FIRST, MOST = 20, 100, 500  # jobs that are removed at once
AIM = 15  # milliseconds that one removal may take, the wait for the lock included; the longest takes some times as long
BETWEEN = (
    50  # milliseconds between two chunks, so that others can write; and at least so many times what the last took:
)
REST = 4
ARCHIVED = 1_000  # jobs that are archived at once …
HOLD = 10 * MINUTE  # … and for so long no other process does the same


class Pace:
    """How many jobs to remove at once, and how long to rest in between: by how long the last ones took."""

    def __init__(self, clock: Clock = SYSTEM) -> None:
        self.size, self.rest = FIRST, BETWEEN
        self.monotonic = monotonic(clock)

    def took(self, ms: int, full: bool) -> None:
        """Learn from a removal; one that was not full says nothing about larger ones."""
        factor = min(max(AIM / max(ms, 1), 0.25), 2.0 if full else 1.0)
        self.size = round(min(max(self.size * factor, LEAST), MOST))
        self.rest = max(BETWEEN, REST * ms)

    def chunks(self, items: list[T]) -> Iterator[list[T]]:
        """Return items in chunks, with rests in between; measures how long their user takes."""
        start = 0
        while start < len(items):
            chunk, begun = items[start : start + self.size], self.monotonic()
            start += len(chunk)
            yield chunk
            self.took(self.monotonic() - begun, full=start < len(items))
            if start < len(items):
                time.sleep(self.rest / 1000)


class Prune:
    """Removes one chunk of jobs a step. With an archive, jobs are archived first."""

    name = "prune"

    def __init__(self, store: Store, events: Events, clock: Clock = SYSTEM, archive: Archive | None = None) -> None:
        self._store, self._events, self._archive = store, events, archive
        self._pace = Pace(clock)
        self._archived: list[Expired] = []  # and not removed yet

    def step(self, now: int) -> int:
        """Remove one chunk; return when to remove the next."""
        try:
            if self._archive is not None and not self._archived:
                self._archived = archived(self._store, self._archive, now)
            count, more = self._remove(now)
        except (StoreError, ArchiveError) as error:
            self._events.emit("store_error", error=error, wait=MINUTE)
            return MINUTE
        if count:
            self._events.emit("pruned", count=count)
        return self._pace.rest if more else MINUTE

    def _remove(self, now: int) -> tuple[int, bool]:
        """Remove a chunk; return how many jobs it had, and whether there may be more."""
        size, begun = self._pace.size, self._pace.monotonic()
        if self._archive is None:
            count = self._store.prune(now, size)
            more = count >= size
        else:
            chunk, self._archived = self._archived[:size], self._archived[size:]
            count = self._store.prune_jobs(chunk)
            more = bool(chunk)
        self._pace.took(self._pace.monotonic() - begun, more)
        return count, more


def archived(store: Store, archive: Archive, now: int) -> list[Expired]:
    """Archive jobs whose retention is over, and return them. They may be removed as long as nobody changes them."""
    from .archive import histories

    found = store.expired(now, ARCHIVED, HOLD)
    if found:
        archive.write(histories(store, [job.id for job in found]), now)
    return found


class PruneActions:
    """Deletes lines of the audit trail that are older than `keep` ms, and notes of workers that are gone."""

    name = "prune actions"

    def __init__(self, store: Store, events: Events, keep: int) -> None:
        self._store, self._events, self._keep = store, events, keep

    def step(self, now: int) -> int:
        """Delete one chunk; return when to delete the next."""
        try:
            count = self._store.prune_actions(now, self._keep, CHUNK)
            if count < CHUNK:
                release_notes.forget(self._store)
        except StoreError as error:
            self._events.emit("store_error", error=error, wait=MINUTE)
            return MINUTE
        return BETWEEN if count == CHUNK else HOUR
