"""The engine's own account of every change: triggers that write it down in the same transaction, so that it is true.

What a call answered may have been lost, delayed or wrong; what these tables say was committed. Works on a store in memory
and on a file that real processes share (`install` once, `read` at the end).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .history import Record

if TYPE_CHECKING:
    from collections.abc import Sequence

NOW = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"
_MOVE = ("job, token, before, after, attempt, crashes, worker, run_at, max_attempts, queue, type, priority, was_priority, "
         "cancelling")  # fmt: skip
_NEW = ("{row}.id, {row}.token, {before}, {after}, {row}.attempt, {row}.crashes, {row}.worker, {row}.run_at, "
        "{row}.max_attempts, {row}.queue, {row}.type, {row}.priority, {was}, {row}.cancel_at IS NOT NULL")  # fmt: skip

TABLES = """
CREATE TABLE IF NOT EXISTS mainstay_seen (n INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER, job TEXT, token INTEGER,
    before TEXT, after TEXT, attempt INTEGER, crashes INTEGER, worker TEXT, run_at INTEGER, max_attempts INTEGER,
    queue TEXT, type TEXT, priority INTEGER, was_priority INTEGER, cancelling INTEGER)
"""
LEASES = (("INSERT", "new.expires_at"), ("UPDATE OF expires_at", "new.expires_at"), ("DELETE", "0"))
NOTES = ("log", "progress", "checkpoint")
BELONGINGS = ("body", "attempt", "log", "result", "checkpoint", "progress", "tag")


class Seen(NamedTuple):
    """One line of the account: a move; or a stored note or a lease, marked as such in `before`."""

    n: int
    at: int
    job: str
    token: int
    before: str
    after: str
    attempt: int
    crashes: int
    worker: str | None
    run_at: int | None
    max_attempts: int
    queue: str
    type: str
    priority: int
    was_priority: int | None
    cancelling: int


MOVE = Seen._fields[4:]


def install(connection: Any, now: str = NOW) -> None:
    """Have the engine keep the account from here on; `now` is the SQL expression for its time."""
    connection.execute(TABLES)
    for statement in _triggers(now):
        connection.execute(statement)


def _triggers(now: str) -> list[str]:
    born = _NEW.format(row="new", before="''", after="new.state", was="NULL")
    moved = _NEW.format(row="new", before="old.state", after="new.state", was="old.priority")
    gone = _NEW.format(row="old", before="old.state", after="''", was="old.priority")
    insert = f"INSERT INTO mainstay_seen (at, {_MOVE}) SELECT {now}, "
    changed = "old.state IS NOT new.state OR old.token IS NOT new.token OR old.priority IS NOT new.priority"
    return [
        f"CREATE TRIGGER mainstay_born AFTER INSERT ON mainstay_job BEGIN {insert} {born}; END",
        f"CREATE TRIGGER mainstay_moved AFTER UPDATE ON mainstay_job WHEN {changed} BEGIN {insert} {moved}; END",
        f"CREATE TRIGGER mainstay_gone AFTER DELETE ON mainstay_job BEGIN {insert} {gone}; END",
        *(_note_trigger(table, event, now) for table in NOTES for event in ("INSERT", "UPDATE")),
        *(_lease_trigger(event, until, now) for event, until in LEASES),
    ]


def _note_trigger(table: str, event: str, now: str) -> str:
    """A note keeps its own token; `attempt` holds the job's token of that moment, `cancelling` whether it ran."""
    return f"""
        CREATE TRIGGER mainstay_{table}_{event} AFTER {event} ON mainstay_{table} BEGIN
            INSERT INTO mainstay_seen (at, job, token, before, after, attempt, cancelling)
            SELECT {now}, id, new.token, 'note', 'note', token, state = 'running' FROM mainstay_job WHERE seq = new.job;
        END"""


def _lease_trigger(event: str, until: str, now: str) -> str:
    """A lease keeps the worker in `worker`, and in `run_at` until when it runs: 0 once it has left or was buried."""
    row = "old" if event == "DELETE" else "new"
    return f"""
        CREATE TRIGGER mainstay_lease_{event[:6]} AFTER {event} ON mainstay_worker BEGIN
            INSERT INTO mainstay_seen (at, job, token, before, after, worker, run_at)
            VALUES ({now}, '', 0, 'lease', 'lease', {row}.id, {until});
        END"""


def read(connection: Any, after: int = 0) -> list[Seen]:
    """The account, in the order of the commits, leaving out what comes up to line `after`."""
    return [
        Seen._make(row) for row in connection.execute("SELECT * FROM mainstay_seen WHERE n > ? ORDER BY n", (after,))
    ]


def record(line: Seen, commit: int | None = None) -> Record:
    """A line as a record; `commit` tells which lines were written together."""
    n, at, job, token, before, after, attempt, _, worker, until, *_ = line
    if before == "note":
        return Record(n, at, "engine", "note", "ok", job, token, {"current": attempt, "running": bool(line.cancelling)})
    if before == "lease":
        return Record(n, at, worker or "", "lease", "ok", "", 0, {"until": until})
    args = dict(zip(MOVE, line[4:], strict=True))
    if commit is not None:
        args["commit"] = commit
    return Record(n, at, "engine", "move", "ok", job, token, args)


def strays(connection: Any) -> list[str]:
    """The tables in which something belongs to no job, and `job` when a job has lost its body."""
    lonely = "SELECT EXISTS (SELECT 1 FROM mainstay_{0} WHERE job NOT IN (SELECT seq FROM mainstay_job))"
    found = [table for table in BELONGINGS if connection.execute(lonely.format(table)).fetchone()[0]]
    bare = "SELECT EXISTS (SELECT 1 FROM mainstay_job WHERE seq NOT IN (SELECT job FROM mainstay_body))"
    return found + ["job"] if connection.execute(bare).fetchone()[0] else found


def finals(connection: Any) -> Sequence[tuple[str, int, str]]:
    """Every job as it stands: id, token, state."""
    rows: Sequence[tuple[str, int, str]] = connection.execute(
        "SELECT id, token, state FROM mainstay_job ORDER BY seq"
    ).fetchall()
    return rows
