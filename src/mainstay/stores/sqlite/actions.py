"""What operators do to jobs: cancel, retry, judge, delete. Each is guarded by the state and leaves a line in the audit."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING

from ...core import keys
from ...core.states import SCHEDULED
from ..operations import Statement
from .sql import load, run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..operations import Operations
    from .connect import Database

STATE = "SELECT state FROM mainstay_job WHERE id = ?"
BELONGINGS = ("body", "attempt", "log", "result", "checkpoint", "progress")


def cancel(db: Database, ids: Sequence[str], now: int, actor: str) -> dict[str, str]:
    """Cancel what waits, ask what runs to stop."""
    with db.writing() as connection:
        return run(connection, cancel_operations(ids, now, actor))


def cancel_operations(ids: Sequence[str], now: int, actor: str) -> Operations[dict[str, str]]:
    """As `cancel`, on whichever connection."""
    answers = {}
    for job_id in ids:
        answers[job_id] = yield from _cancel(job_id, now, actor)
    return answers


def _cancel(job_id: str, now: int, actor: str) -> Operations[str]:
    for verb, outcome in (("cancel_waiting", "cancelled"), ("cancel_running", "cancelling")):
        bound = {"id": job_id, "now": now, "reason": f"cancelled by {actor}"}
        _, count = yield Statement(load(verb), bound)
        if count:
            yield Statement(load("audit"), (now, actor, "cancel", job_id, "{}"))
            return outcome
    rows, _ = yield Statement(STATE, (job_id,))
    return "ended" if rows else "missing"


def retry(db: Database, ids: Sequence[str], now: int, actor: str) -> dict[str, str]:
    """Queue jobs again, with fresh attempts."""
    with db.writing() as connection:
        return {job_id: _retry(connection, job_id, now, actor) for job_id in ids}


def _retry(connection: sqlite3.Connection, job_id: str, now: int, actor: str) -> str:
    row = connection.execute(load("retry_standing"), {"id": job_id}).fetchone()
    if row is None:
        return "missing"
    type, state, lock, until, key = row
    if lock is None and key is not None and until in (None, 0) and state != SCHEDULED:
        lock, _ = keys.lock(type, key, "alive", None, now)
    try:
        changed = connection.execute(
            load("retry"), {"id": job_id, "now": now, "lock": lock, "lock_until": until}
        ).rowcount
    except sqlite3.IntegrityError:
        return "duplicate"
    if not changed:
        return str(state)
    connection.execute(load("retry_result"), {"id": job_id})
    return _act(connection, now, actor, "retry", job_id, "queued", {"from": state})


def resolve_review(db: Database, job_id: str, approve: bool, now: int, actor: str, note: str) -> str:
    """End a review."""
    verb, done, state = ("approve", "approved", "completed") if approve else ("reject", "rejected", "dead")
    with db.writing() as connection:
        bound = {"id": job_id, "state": state, "now": now, "reason": note or f"{done} by {actor}"}
        if connection.execute(load("resolve_review"), bound).rowcount:
            return _act(connection, now, actor, verb, job_id, done, {"note": note})
        return _state(connection, job_id) or "missing"


def delete(db: Database, ids: Sequence[str], now: int, actor: str) -> dict[str, str]:
    """Remove jobs that do not run, with all that belongs to them."""
    with db.writing() as connection:
        return {job_id: _delete(connection, job_id, now, actor) for job_id in ids}


def _delete(connection: sqlite3.Connection, job_id: str, now: int, actor: str) -> str:
    row = connection.execute("SELECT seq, type, state FROM mainstay_job WHERE id = ?", (job_id,)).fetchone()
    if row is None or row[2] == "running":
        return row[2] if row else "missing"
    remove(connection, [row[0]])
    return _act(connection, now, actor, "delete", job_id, "deleted", {"type": row[1], "from": row[2]})


def remove(connection: sqlite3.Connection, seqs: Sequence[int]) -> None:
    """Delete jobs and their belongings by number."""
    chosen = json.dumps(list(seqs))
    untag(connection, chosen)
    for table in BELONGINGS:
        statement = f"DELETE FROM mainstay_{table} WHERE job IN (SELECT value FROM json_each(?))"  # noqa: S608  (our names)
        connection.execute(statement, (chosen,))
    connection.execute("DELETE FROM mainstay_job WHERE seq IN (SELECT value FROM json_each(?))", (chosen,))


def untag(connection: sqlite3.Connection, seqs: str) -> None:
    """Take all tags of jobs away, while their bodies still tell which they are."""
    connection.executemany(load("untag"), connection.execute(load("tags"), {"seqs": seqs}).fetchall())


def _state(connection: sqlite3.Connection, job_id: str) -> str | None:
    row = connection.execute(STATE, (job_id,)).fetchone()
    return row[0] if row else None


def _act(
    connection: sqlite3.Connection, now: int, actor: str, action: str, job_id: str, outcome: str,
    detail: dict[str, Any] | None = None,
) -> str:  # fmt: skip
    connection.execute(load("audit"), (now, actor, action, job_id, json.dumps(detail or {})))
    return outcome
