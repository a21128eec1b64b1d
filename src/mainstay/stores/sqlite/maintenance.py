"""What keeps the store healthy: leases, orphans, promotion, retention, types."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ...core.job import Claimed, TypeInfo
from ..contract import Orphan, Renewal
from .actions import remove
from .sql import load

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from ...core.job import WorkerInfo
    from .connect import Database


def register(db: Database, worker: WorkerInfo) -> None:
    """Register a worker."""
    bound = worker._asdict() | {"queues": json.dumps(worker.queues), "types": json.dumps(worker.types)}
    with db.writing() as connection:
        connection.execute(load("register"), bound)


def renew(db: Database, worker: str, now: int, lease: int, stopping: bool = False) -> Renewal:
    """Renew a lease; return whether it holds and which jobs were asked to stop."""
    with db.writing() as connection:
        renewal = {"worker": worker, "now": now, "lease": lease, "stopping": stopping}
        alive = connection.execute(load("renew"), renewal).rowcount == 1
        rows = connection.execute(load("renew_cancelling"), {"worker": worker}).fetchall()
    return Renewal(alive, rows)


def deregister(db: Database, worker: str) -> None:
    """Unregister a worker."""
    with db.writing() as connection:
        connection.execute(load("deregister"), {"worker": worker})


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
        connection.executemany(load("deregister"), [{"worker": worker} for worker in dead])
        connection.execute(load("orphans_deregister"), {"now": now})
        return _orphans(connection, now, grace, limit)


def _orphans(connection: sqlite3.Connection, now: int, grace: int, limit: int) -> list[Orphan]:
    rows = connection.execute(load("orphans"), {"now": now, "grace": grace, "limit": limit}).fetchall()
    return [Orphan(Claimed._make(row[:18]), row[17], bool(row[18])) for row in rows]


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


def register_types(db: Database, types: Sequence[TypeInfo]) -> None:
    """Make types known."""
    with db.writing() as connection:
        rows = [info._asdict() | {"policy": json.dumps(info.policy)} for info in types]
        connection.executemany(load("register_types"), rows)


def types(db: Database) -> list[TypeInfo]:
    """Every type ever declared."""
    with db.reading() as connection:
        rows = connection.execute(load("types")).fetchall()
    return [TypeInfo(name, queue, signature, json.loads(policy), seen) for name, queue, signature, policy, seen in rows]
