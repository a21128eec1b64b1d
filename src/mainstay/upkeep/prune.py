"""Prune: removes jobs and lines of the audit trail whose retention is over, a few at a time: no write lock is held long."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, TypeVar

from ..core.bulk import new_bulk
from ..core.clock import HOUR, MINUTE
from ..core.errors import ArchiveError, StoreError
from ..core.export import ActionRecord
from ..core.webhooks import KEEP as DELIVERIES
from . import release_notes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..core.clock import Clock
    from ..core.events import Events
    from ..stores.contract import Store
    from ..stores.results import Expired, Pruned
    from .archive import Archive

T = TypeVar("T")
CHUNK = 500  # lines of the audit trail
LEAST, FIRST, MOST = 20, 100, 500  # jobs that are removed at once
AIM = 12  # milliseconds for which a removal keeps others from writing, on average
# Milliseconds between two removals, so that others can write; and at least so many times what the last took:
BETWEEN = 20
REST = 3
ARCHIVED = 1_000  # jobs that are archived at once …
HOLD = 10 * MINUTE  # … and for so long no other process does the same


class Pace:
    """How many jobs to remove at once, and how long to rest in between (ms): by how long the last ones took."""

    def __init__(self) -> None:
        self.size, self.rest = FIRST, BETWEEN

    def took(self, ms: float, full: bool) -> None:
        """Learn from a removal; one that was not full says nothing about larger ones."""
        factor = min(max(AIM / max(ms, 1), 0.25), 1.5 if full else 1.0)
        self.size = round(min(max(self.size * factor, LEAST), MOST))
        self.rest = max(BETWEEN, round(REST * ms))

    def remove(self, items: Sequence[T], remove: Callable[[Sequence[T]], Pruned]) -> Iterator[int]:
        """Remove items in chunks with rests in between; return how many were removed, chunk by chunk."""
        start = 0
        while start < len(items):
            chunk = items[start : start + self.size]
            start += len(chunk)
            removed, ms = remove(chunk)
            self.took(ms, full=start < len(items))
            yield removed
            if start < len(items):
                time.sleep(self.rest / 1000)


class Prune:
    """Removes one chunk of jobs a step. With an archive, jobs are archived first."""

    name = "prune"

    def __init__(self, store: Store, events: Events, archive: Archive | None = None) -> None:
        self._store, self._events, self._archive = store, events, archive
        self._pace = Pace()
        self._found: list[Expired] = []  # and not removed yet; archived, if there is an archive

    def step(self, now: int) -> int:
        """Remove one chunk; return when to remove the next."""
        try:
            self._found = self._found or self._find(now)
            size = self._pace.size
            chunk, left = self._found[:size], self._found[size:]
            removed, ms = self._store.prune_jobs(chunk)
        except (StoreError, ArchiveError) as error:
            self._events.emit("store_error", error=error, wait=MINUTE)
            return MINUTE
        self._found = left
        self._pace.took(ms, full=len(chunk) == size)
        if removed:
            self._events.emit("pruned", count=removed)
        return self._pace.rest if chunk else MINUTE

    def _find(self, now: int) -> list[Expired]:
        return self._store.expired(now, MOST) if self._archive is None else archived(self._store, self._archive, now)


def archived(store: Store, archive: Archive, now: int) -> list[Expired]:
    """Archive jobs whose retention is over, and return them. They may be removed as long as nobody changes them."""
    from .archive import histories

    found = store.expired(now, ARCHIVED, HOLD)
    if found:
        archive.write(histories(store, [job.id for job in found]), now)
    return found


def prune_expired(
    store: Store, clock: Clock, archive: Archive | None, actor: str, going: Callable[[int], bool]
) -> tuple[int, int]:  # fmt: skip
    """Remove the jobs whose retention is over; return how many there were, and how many were removed.

    `going` gets how many were removed so far, after each chunk; the removal ends when it returns False. It is one line of the audit trail.
    """
    pace, matched, removed, before = Pace(), 0, 0, -1
    while removed > before:
        before, now = removed, clock.now()
        jobs = store.expired(now, ARCHIVED) if archive is None else archived(store, archive, now)
        matched += len(jobs)
        for count in pace.remove(jobs, store.prune_jobs):
            removed += count
            if not going(removed):
                before = removed
                break
    if removed:
        detail = json.dumps({"jobs": removed})
        store.record_action(ActionRecord(clock.now(), actor, "prune", None, detail, new_bulk().id))
    return matched, removed


class PruneActions:
    """Deletes lines of the audit trail that are older than `keep` ms, old deliveries of webhooks, and notes of workers that are gone."""

    name = "prune actions"

    def __init__(self, store: Store, events: Events, keep: int) -> None:
        self._store, self._events, self._keep = store, events, keep

    def step(self, now: int) -> int:
        """Delete one chunk; return when to delete the next."""
        try:
            count = self._store.prune_actions(now, self._keep, CHUNK)
            count = max(count, self._store.prune_deliveries(now, DELIVERIES, CHUNK))
            if count < CHUNK:
                release_notes.forget(self._store)
        except StoreError as error:
            self._events.emit("store_error", error=error, wait=MINUTE)
            return MINUTE

        return BETWEEN if count == CHUNK else HOUR
