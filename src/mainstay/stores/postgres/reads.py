"""What can be seen of jobs, workers and the server: short reads, no held cursors, no counts over history."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ...core.job import Action, Attempt, Job, LogLine, WorkerInfo, history
from ..counts import counted, together
from ..operations import Statement
from . import schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...core.job import Count
    from .connect import Database

COUNTED = ("queued", "scheduled", "running", "review", "dead")


def get_many(db: Database, ids: Sequence[str]) -> list[Job]:
    """Those of the jobs that exist, in the order asked."""
    if not ids:
        return []
    found = {row[0]: _job(row) for row in db.execute("get", list(dict.fromkeys(ids))).rows}
    return [found[job] for job in ids if job in found]


def _job(row: tuple[Any, ...]) -> Job:
    job = Job._make(row)
    return job._replace(tags=tuple(json.loads(row[24])) if row[24] else ())


def find(db: Database, prefix: str, limit: int) -> list[str]:
    """Ids that start so."""
    return [row[0] for row in db.execute("find", prefix, limit).rows]


def text(db: Database, statement: str, job_id: str) -> str | None:
    """The one text a statement answers about a job."""
    rows = db.execute(statement, job_id).rows
    return rows[0][0] if rows else None


def attempts(db: Database, job: Job) -> list[Attempt]:
    """Every attempt: those on record, then the one that runs or that completed."""
    found = [Attempt._make(row) for row in db.execute("attempts", job.id).rows]
    return history(job, found)


def logs(db: Database, job_id: str, after: int, limit: int) -> list[LogLine]:
    """Log lines in order."""
    rows = db.execute("logs", job_id, after, limit).rows
    return [LogLine._make((*row[:5], json.loads(row[5]) if row[5] else {})) for row in rows]


def actions(db: Database, job_id: str | None, limit: int) -> list[Action]:
    """What operators did, newest first."""
    found = db.execute("actions", limit) if job_id is None else db.execute("actions_job", job_id, limit)
    return [Action._make((*row[:4], json.loads(row[4]))) for row in found.rows]


def counts(db: Database, cap: int) -> list[Count]:
    """Jobs by type and label, each state looked at up to `cap`."""
    text = together({state: db.load(f"counts_{state}") for state in COUNTED})
    return counted(db.batch([Statement(text, (cap,))])[0].rows, cap)


def throughput(db: Database, since: int, cap: int) -> dict[str, int]:
    """How many jobs ended in each state since then."""
    return dict(db.execute("throughput", since, cap).rows)


def workers(db: Database) -> list[WorkerInfo]:
    """Registered workers."""
    return [_worker(row) for row in db.execute("workers").rows]


def _worker(row: tuple[Any, ...]) -> WorkerInfo:
    queues, types = tuple(json.loads(row[4])), tuple(json.loads(row[5]))
    return WorkerInfo._make((*row[:4], queues, types, *row[6:]))


def diagnostics(db: Database) -> dict[str, str]:
    """What `doctor` prints about this store."""
    with db.checkout() as wire:
        connection = wire.connection
        names = ("server_version", "fsync", "synchronous_commit", "max_connections")
        found = {name: connection.execute(f"SHOW {name}", prepare=False).fetchone() for name in names}
        size = connection.execute(
            "SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c "
            "WHERE c.relnamespace = to_regnamespace($1::text) AND c.relkind = 'r'",
            [f'"{db.load.schema}"'], prepare=False,
        ).fetchone()  # fmt: skip
        version, readable_from, _ = schema.versions(connection, db.load)
    shown = {name: str(row[0]) if row else "" for name, row in found.items()}
    return {
        "engine": f"PostgreSQL {shown['server_version'].split(' ')[0]}",
        "server": db.place,
        "schema": f"{version} in {db.load.schema}",
        "readable from": str(readable_from),
        "fsync": shown["fsync"],
        "synchronous_commit": shown["synchronous_commit"],
        "durability": _durability(shown["fsync"], shown["synchronous_commit"]),
        "pooler": "yes: statements are not prepared" if db.pooled else "no",
        "connections": f"{db.limit} a process, and one for a worker's bell; the server has {shown['max_connections']}",
        "size": str(size[0] or 0) if size else "0",
    }


def _durability(fsync: str, synchronous: str) -> str:
    if fsync == "off":
        return "process crash: fsync is off, a power cut of the server can lose or damage everything"
    if synchronous == "off":
        return (
            "process crash: synchronous_commit is off, a crash of the server can lose the last jobs that were accepted"
        )
    if synchronous in ("remote_write", "remote_apply"):
        return f"power cut: an accepted job is on the disk and sent to the synchronous standbys ({synchronous})"
    return "power cut: an accepted job is on the server's disk when enqueue returns"
