"""When a lease on a SQLite file ends. All workers run on this machine, and the lock of each tells that its process exists.

So no clock ends a lease alone: it may be set, a write of others may keep a worker from renewing, and the machine may have been
suspended. A sweep ends the lease of a worker that holds its lock once it has watched for a while, and found that others could
write and this worker did not renew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .store import SqliteStore

WATCH = 2  # the part of a lease, from its end, for which a sweep watches: a half; a live worker renews twice in it
LOOK = 500  # ms that one look counts for at most, however long ago the last was: this process may have been kept from looking


class Watched(NamedTuple):
    """A worker whose lease is over and whose lock is held, as the last look found it."""

    expires_at: int
    at: int
    for_ms: int


def lease_now(store: SqliteStore, now: int) -> int:
    """Return 0 where workers have locks: the lease of a registered worker runs."""
    return now - store.stalled() if store.clock_ends_leases else 0


def spared(store: SqliteStore, late: list[tuple[str, int, int]], now: int) -> list[str]:
    """Return the workers to watch for longer. Called in a write transaction, because each look must prove that one can write."""
    before, store.watched, young = store.watched, {}, []
    for worker, beat_at, expires_at in late:
        if store.local_workers.locked(worker):
            lease = expires_at - beat_at
            seen = before.get(worker)
            if seen is None or seen.expires_at != expires_at:
                seen = Watched(expires_at, now, 0)
            for_ms = seen.for_ms + min(max(now - seen.at, 0), LOOK, lease // 4)
            store.watched[worker] = Watched(expires_at, now, for_ms)
            if for_ms < lease // WATCH:
                young.append(worker)
    return young
