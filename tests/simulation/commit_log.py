"""A log of every change, written by triggers in the same transaction as the change.

The reply to a call may be lost, late or wrong; what these tables say was committed. Works on a store in memory
and on a file that real processes share (`install` once, `read` at the end).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from mainstay.core.tally import attempts
from tests.simulation.history import Record

if TYPE_CHECKING:
    from collections.abc import Sequence

NOW = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"
BELONGINGS = ("body", "attempt", "log", "result", "checkpoint", "progress", "tag")

ACCOUNT = """
CREATE TABLE IF NOT EXISTS mainstay_seen (n INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER, job TEXT, token INTEGER,
    before TEXT, after TEXT, attempt INTEGER, crashes INTEGER, worker TEXT, run_at INTEGER, max_attempts INTEGER,
    queue TEXT, type TEXT, priority INTEGER, was_priority INTEGER, cancelling INTEGER, rules TEXT, start_by INTEGER,
    started_at INTEGER, was_queue TEXT)
"""
BORN = """
CREATE TRIGGER mainstay_born AFTER INSERT ON mainstay_job BEGIN
    INSERT INTO mainstay_seen VALUES (NULL, NOW, new.id, new.token, '', new.state, new.attempt, new.crashes, new.worker,
        new.run_at, new.max_attempts, new.queue, new.type, new.priority, NULL, new.cancel_at IS NOT NULL, new.rules,
        new.start_by, new.started_at, NULL);
END
"""
MOVED = """
CREATE TRIGGER mainstay_moved AFTER UPDATE ON mainstay_job
WHEN old.state IS NOT new.state OR old.token IS NOT new.token OR old.priority IS NOT new.priority
    OR old.rules IS NOT new.rules OR old.queue IS NOT new.queue OR old.run_at IS NOT new.run_at BEGIN
    INSERT INTO mainstay_seen VALUES (NULL, NOW, new.id, new.token, old.state, new.state, new.attempt, new.crashes,
        new.worker, new.run_at, new.max_attempts, new.queue, new.type, new.priority, old.priority,
        new.cancel_at IS NOT NULL, new.rules, new.start_by, new.started_at, old.queue);
END
"""
GONE = """
CREATE TRIGGER mainstay_gone AFTER DELETE ON mainstay_job BEGIN
    INSERT INTO mainstay_seen VALUES (NULL, NOW, old.id, old.token, old.state, '', old.attempt, old.crashes, old.worker,
        old.run_at, old.max_attempts, old.queue, old.type, old.priority, old.priority, old.cancel_at IS NOT NULL, old.rules,
        old.start_by, old.started_at, old.queue);
END
"""
# An update keeps its own token; `attempt` holds the job's token of that moment, `cancelling` whether it ran or had completed.
NOTED = """
CREATE TRIGGER mainstay_TABLE_EVENT AFTER EVENT ON mainstay_TABLE BEGIN
    INSERT INTO mainstay_seen (at, job, token, before, after, attempt, cancelling)
    SELECT NOW, id, new.token, 'note', 'note', token, state IN ('running', 'completed') FROM mainstay_job WHERE seq = new.job;
END
"""
# A lease keeps the worker in `worker`, and in `run_at` until when it runs: 0 once the worker is removed.
LEASED = """
CREATE TRIGGER mainstay_lease_EVENT AFTER EVENT ON mainstay_worker BEGIN
    INSERT INTO mainstay_seen (at, job, token, before, after, worker, run_at)
    VALUES (NOW, '', 0, 'lease', 'lease', ROW.id, UNTIL);
END
"""
# A hold keeps its slot in `queue`, a rule its kind in `type`, its name in `queue` and its value in `rules`; `after` is "" once it is gone.
HELD = """
CREATE TRIGGER mainstay_hold_EVENT AFTER EVENT ON mainstay_hold BEGIN
    INSERT INTO mainstay_seen (at, job, token, before, after, queue)
    VALUES (NOW, coalesce((SELECT id FROM mainstay_job WHERE seq = ROW.job), ''), 0, 'hold', THERE, ROW.slot);
END
"""
RULED = """
CREATE TRIGGER mainstay_rule_EVENT AFTER EVENT ON mainstay_rule BEGIN
    INSERT INTO mainstay_seen (at, job, token, before, after, type, queue, rules)
    VALUES (NOW, '', 0, 'rule', THERE, ROW.kind, ROW.name, ROW.value);
END
"""


class Seen(NamedTuple):
    """One line of the log: a move; or a stored update, a lease, a hold or a rule, marked as such in `before`."""

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
    rules: str | None
    start_by: int | None
    started_at: int | None
    was_queue: str | None


MOVE = Seen._fields[4:]


def install(connection: Any, now: str = NOW) -> None:
    """Create the log; `now` is the SQL expression for the engine's time."""
    for statement in (ACCOUNT, BORN, MOVED, GONE, *_updates(), *_leases(), *_flow()):
        connection.execute(statement.replace("NOW", now))


def _updates() -> list[str]:
    return [
        NOTED.replace("EVENT", event).replace("TABLE", table)
        for table in ("log", "progress", "checkpoint")
        for event in ("INSERT", "UPDATE")
    ]


def _leases() -> list[str]:
    renewed = [LEASED.replace("EVENT", event).replace("ROW", "new") for event in ("INSERT", "UPDATE")]
    ended = LEASED.replace("EVENT", "DELETE").replace("ROW", "old").replace("UNTIL", "0")
    return [ended, *(text.replace("UNTIL", "new.expires_at") for text in renewed)]


def _flow() -> list[str]:
    """Return the triggers on what holds jobs back."""
    there = [(event, "new", "'there'") for event in ("INSERT", "UPDATE")]
    return [
        text.replace("EVENT", event).replace("ROW", row).replace("THERE", after)
        for text in (HELD, RULED)
        for event, row, after in (*there, ("DELETE", "old", "''"))
    ]


def read(connection: Any, after: int = 0) -> list[Seen]:
    """Return the lines after line `after`, in the order of the commits."""
    return [
        Seen._make(row) for row in connection.execute("SELECT * FROM mainstay_seen WHERE n > ? ORDER BY n", (after,))
    ]


def record(line: Seen, commit: int | None = None) -> Record:
    """Return a line as a record; lines with the same `commit` were written together."""
    n, at, job, token, before, _, attempt, _, worker, until, *_ = line
    if before == "note":
        return Record(n, at, "engine", "note", "ok", job, token, {"current": attempt, "running": bool(line.cancelling)})
    if before == "lease":
        return Record(n, at, worker or "", "lease", "ok", "", 0, {"until": until})
    if before in ("hold", "rule"):
        return _flow_record(line, commit)
    args = dict(zip(MOVE, line[4:], strict=True))
    if commit is not None:
        args["commit"] = commit
    return Record(n, at, "engine", "move", "ok", job, token, args)


def _flow_record(line: Seen, commit: int | None) -> Record:
    there = {"there": bool(line.after), "commit": commit}
    if line.before == "hold":
        return Record(line.n, line.at, "engine", "hold", "ok", line.job, 0, {"slot": line.queue, **there})
    value = json.loads(line.rules or "{}")
    return Record(
        line.n, line.at, "engine", "rule", "ok", "", 0, {"kind": line.type, "name": line.queue, "value": value, **there}
    )


def counted(connection: Any) -> dict[str, int]:
    """Return how many jobs completed, died and were cancelled, and how many attempts ended, by the counters."""
    rows = connection.execute("SELECT name, sum(n) FROM mainstay_tally WHERE minute >= 0 AND type <> '' GROUP BY name")
    counts = dict(rows.fetchall())
    found = {name: counts.get(name, 0) for name in ("completed", "dead", "cancelled")}
    return {name: n for name, n in {**found, "attempts": attempts(counts)}.items() if n}


def strays(connection: Any) -> list[str]:
    """Return the tables with rows that belong to no job, and `job` if a job has lost its body."""
    lonely = "SELECT EXISTS (SELECT 1 FROM mainstay_{0} WHERE job NOT IN (SELECT seq FROM mainstay_job))"
    found = [table for table in BELONGINGS if connection.execute(lonely.format(table)).fetchone()[0]]
    bare = "SELECT EXISTS (SELECT 1 FROM mainstay_job WHERE seq NOT IN (SELECT job FROM mainstay_body))"
    return [*found, "job"] if connection.execute(bare).fetchone()[0] else found


def finals(connection: Any) -> Sequence[tuple[str, int, str, str | None]]:
    """Return id, token and state of every job, and what a blocked one waits for."""
    rows: Sequence[tuple[str, int, str, str | None]] = connection.execute(
        "SELECT id, token, state, waits FROM mainstay_job ORDER BY seq"
    ).fetchall()
    return rows
