"""What keeps the store healthy: leases, orphans, promotion, retention, types."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ...core.job import Claimed, TypeInfo
from ..contract import Beat, Orphan
from .operate import remove
from .sql import load

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from ...core.job import WorkerInfo
    from .connect import Database


def join(db: Database, worker: WorkerInfo) -> None:
    """Register a worker."""
    bound = worker._asdict() | {"queues": json.dumps(worker.queues), "types": json.dumps(worker.types)}
    with db.writing() as connection:
        connection.execute(load("join"), bound)


def beat(db: Database, worker: str, now: int, lease: int) -> Beat:
    """Renew a lease; answer the jobs that were asked to stop."""
    with db.writing() as connection:
        alive = connection.execute(load("beat"), {"worker": worker, "now": now, "lease": lease}).rowcount == 1
        rows = connection.execute(load("beat_cancelling"), {"worker": worker}).fetchall()
    return Beat(alive, rows)


def leave(db: Database, worker: str) -> None:
    """Unregister a worker."""
    with db.writing() as connection:
        connection.execute(load("leave"), {"worker": worker})


def orphans(db: Database, now: int, grace: int, limit: int, dead: Sequence[str]) -> list[Orphan]:
    """Jobs to be taken away, after burying the workers that are `dead` for sure or whose lease ran out."""
    with db.reading() as connection:  # nearly always there is nothing to do: look before taking the write lock
        idle = (
            not dead
            and connection.execute(
                "SELECT NOT EXISTS (SELECT 1 FROM mainstay_worker WHERE expires_at <= ?)", (now,)
            ).fetchone()[0]
        )
        if idle and not _orphans(connection, now, grace, 1):
            return []
    with db.writing() as connection:
        connection.executemany(load("leave"), [{"worker": worker} for worker in dead])
        connection.execute(load("orphans_bury"), {"now": now})
        return _orphans(connection, now, grace, limit)


def _orphans(connection: sqlite3.Connection, now: int, grace: int, limit: int) -> list[Orphan]:
    rows = connection.execute(load("orphans"), {"now": now, "grace": grace, "limit": limit}).fetchall()
    return [Orphan(Claimed._make(row[:18]), row[17], bool(row[18])) for row in rows]


def promote(db: Database, now: int, limit: int) -> int:
    """Queue what is due."""
    with db.writing() as connection:
        return connection.execute(load("promote"), {"now": now, "limit": limit}).rowcount


def prune(db: Database, now: int, limit: int) -> int:
    """Delete what retention has released."""
    bound = {"now": now, "limit": limit}
    with db.reading() as connection:
        if connection.execute(load("prune"), bound | {"limit": 1}).fetchone() is None:
            return 0
    with db.writing() as connection:
        seqs = [row[0] for row in connection.execute(load("prune"), bound)]
        remove(connection, seqs)
    return len(seqs)


def declare(db: Database, types: Sequence[TypeInfo]) -> None:
    """Make types known."""
    with db.writing() as connection:
        rows = [info._asdict() | {"policy": json.dumps(info.policy)} for info in types]
        connection.executemany(load("declare"), rows)


def types(db: Database) -> list[TypeInfo]:
    """Every type ever declared."""
    with db.reading() as connection:
        rows = connection.execute(load("types")).fetchall()
    return [TypeInfo(name, queue, signature, json.loads(policy), seen) for name, queue, signature, policy, seen in rows]
