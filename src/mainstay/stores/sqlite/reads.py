"""What can be seen of jobs, workers and the file: short reads, no held cursors, no counts over history."""

from __future__ import annotations

import json
import os
import sqlite3
from typing import TYPE_CHECKING

from ...core.job import Action, Attempt, Job, LogLine, WorkerInfo, history
from ..counts import counted, together
from . import errors, schema
from .sql import load

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ...core.job import Count
    from .connect import Database

COUNTED = ("queued", "scheduled", "running", "review", "dead")


def get_many(db: Database, ids: Sequence[str]) -> list[Job]:
    """Those of the jobs that exist, in the order asked."""
    with db.reading() as connection:
        rows = [connection.execute(load("get"), {"id": job_id}).fetchone() for job_id in ids]
    return [_job(row) for row in rows if row is not None]


def _job(row: tuple[Any, ...]) -> Job:
    job = Job._make(row)
    return job._replace(tags=tuple(json.loads(row[24])) if row[24] else ())


def find(db: Database, prefix: str, limit: int) -> list[str]:
    """Ids that start so."""
    with db.reading() as connection:
        return [row[0] for row in connection.execute(load("find"), {"prefix": prefix, "limit": limit})]


def text(db: Database, statement: str, job_id: str) -> str | None:
    """The one text a statement answers about a job."""
    with db.reading() as connection:
        row = connection.execute(load(statement), {"id": job_id}).fetchone()
    return row[0] if row else None


def attempts(db: Database, job: Job) -> list[Attempt]:
    """Every attempt: those on record, then the one that runs or that completed."""
    with db.reading() as connection:
        found = [Attempt._make(row) for row in connection.execute(load("attempts"), {"id": job.id})]
    return history(job, found)


def logs(db: Database, job_id: str, after: int, limit: int) -> list[LogLine]:
    """Log lines in order."""
    with db.reading() as connection:
        rows = connection.execute(load("logs"), {"id": job_id, "after": after, "limit": limit}).fetchall()
    return [LogLine._make((*row[:5], json.loads(row[5]) if row[5] else {})) for row in rows]


def actions(db: Database, job_id: str | None, limit: int) -> list[Action]:
    """What operators did, newest first."""
    statement = load("actions") if job_id is None else load("actions_job")
    with db.reading() as connection:
        rows = connection.execute(statement, {"job": job_id, "limit": limit}).fetchall()
    return [Action._make((*row[:4], json.loads(row[4]))) for row in rows]


def counts(db: Database, cap: int) -> list[Count]:
    """Jobs by type and label, each state looked at up to `cap`."""
    text = together({state: load(f"counts_{state}") for state in COUNTED})
    with db.reading() as connection:
        return counted(connection.execute(text, {"cap": cap}).fetchall(), cap)


def throughput(db: Database, since: int, cap: int) -> dict[str, int]:
    """How many jobs ended in each state since then."""
    with db.reading() as connection:
        return dict(connection.execute(load("throughput"), {"since": since, "cap": cap}).fetchall())


def workers(db: Database) -> list[WorkerInfo]:
    """Registered workers."""
    with db.reading() as connection:
        rows = connection.execute(load("workers")).fetchall()
    return [_worker(row) for row in rows]


def _worker(row: tuple[Any, ...]) -> WorkerInfo:
    queues, types = tuple(json.loads(row[4])), tuple(json.loads(row[5]))
    return WorkerInfo._make((*row[:4], queues, types, *row[6:10], bool(row[10])))


def diagnostics(db: Database) -> dict[str, str]:
    """What `doctor` prints about this store."""
    with db.reading() as connection:
        mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
        version, readable_from = schema.versions(connection)
    return {
        "engine": f"SQLite {sqlite3.sqlite_version}",
        "file": db.path,
        "schema": str(version),
        "readable from": str(readable_from),
        "journal": mode,
        "synchronous": db.synchronous,
        "durability": _durability(db),
        "file system": "memory" if db.memory else errors.file_system(os.path.dirname(db.path)),
        "size": "0" if db.memory else str(_size(db.path)),
        "wal-reset bug": "yes" if errors.wal_reset_bug(sqlite3.sqlite_version_info) else "no",
    }


def _durability(db: Database) -> str:
    if db.memory:
        return "none: the jobs live as long as this process"
    if db.synchronous == "normal":
        return "process crash: a power cut can lose the last jobs that were accepted"
    return "power cut: an accepted job is on the disk when enqueue returns"


def _size(path: str) -> int:
    return sum(os.path.getsize(path + end) for end in ("", "-wal") if os.path.exists(path + end))
