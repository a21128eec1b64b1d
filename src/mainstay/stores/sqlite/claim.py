"""Taking jobs and giving them back: the hot path of a worker, and the one door out of `running`."""

from __future__ import annotations

import json
from operator import itemgetter
from typing import TYPE_CHECKING

from ...core.errors import LeaseLost
from ...core.job import Claimed
from ...core.notes import Checkpoint, Log, Note, Progress
from ...core.states import COMPLETED, QUEUED, SCHEDULED
from ..contract import ALREADY, CANCELLING, LOST, STORED, Claims
from .enqueue import enqueue
from .sql import batches, load, many

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ...core.decide import Transition
    from .connect import Database

PROMOTED = 500  # due jobs queued by one claim; the rest follow with the next
UNRECORDED = {("completed", COMPLETED), ("handed back", QUEUED)}  # the job itself tells of these attempts
_PLACE = itemgetter(15, 16, 0)  # rank, ord, seq
_STATEMENTS = {Log: "note_log", Progress: "note_progress", Checkpoint: "note_checkpoint"}


def claim(
    db: Database, worker: str, wants: Mapping[str, Sequence[str]], limit: int, now: int,
    finishing: Sequence[Transition], notes: Sequence[Note],
) -> Claims:  # fmt: skip
    """Notes, finishes, promotion and claim in one transaction."""
    with db.writing() as connection:
        if connection.execute(load("claim_lease"), {"worker": worker, "now": now}).fetchone() is None:
            raise LeaseLost(f"worker {worker} is not registered, or its lease ran out")
        verdicts = _finish(connection, finishing, notes)
        connection.execute(load("promote"), {"now": now, "limit": PROMOTED})
        jobs = _take(connection, worker, wants, limit, now)
        due = None if len(jobs) == limit else connection.execute(load("claim_next_due")).fetchone()[0]
    return Claims(verdicts, jobs, None if due is None else due - now)


def _take(
    connection: sqlite3.Connection, worker: str, wants: Mapping[str, Sequence[str]], limit: int, now: int
) -> list[Claimed]:
    jobs: list[Claimed] = []
    for queue, types in wants.items():
        left = limit - len(jobs)
        if left <= 0:
            break
        bound = {"worker": worker, "now": now, "queue": queue, "types": json.dumps(types), "limit": left}
        rows = connection.execute(load("claim"), bound).fetchall()
        rows.sort(key=_PLACE)  # RETURNING promises no order
        jobs += map(Claimed._make, rows)
    return jobs


def held(db: Database, worker: str) -> list[Claimed]:
    """What a worker holds."""
    with db.reading() as connection:
        return [Claimed._make(row) for row in connection.execute(load("held"), {"worker": worker})]


def finish(db: Database, transitions: Sequence[Transition], notes: Sequence[Note]) -> list[str]:
    """Apply transitions; per transition a verdict."""
    with db.writing() as connection:
        return _finish(connection, transitions, notes)


def _finish(connection: sqlite3.Connection, transitions: Sequence[Transition], notes: Sequence[Note]) -> list[str]:
    if notes:
        write_notes(connection, notes)
    if not transitions:
        return []
    connection.execute("SAVEPOINT batch")
    if _finish_all(connection, transitions):
        connection.execute("RELEASE batch")
        _effects(connection, transitions)
        return [STORED] * len(transitions)
    connection.execute("ROLLBACK TO batch")
    connection.execute("RELEASE batch")
    return [_finish_one(connection, transition) for transition in transitions]


def _finish_all(connection: sqlite3.Connection, transitions: Sequence[Transition]) -> bool:
    """Apply a batch in few statements; False when some transition did not apply."""
    simple = [t for t in transitions if t.state == COMPLETED and t.reason is None]
    others = [_bound(t) for t in transitions if t.state != COMPLETED or t.reason is not None]
    applied = connection.executemany(load("finish"), others).rowcount if others else 0
    for start, size in batches(len(simple)):
        flat: list[Any] = []
        for t in simple[start : start + size]:
            flat += (t.seq, t.token, t.finished_at)
        applied += connection.execute(many("finish_completed", size), flat).rowcount
    return applied == len(transitions)


def _finish_one(connection: sqlite3.Connection, transition: Transition) -> str:
    if connection.execute(load("finish"), _bound(transition)).rowcount == 1:
        _effects(connection, (transition,))
        return STORED
    return standing(connection, transition)


def standing(connection: sqlite3.Connection, transition: Transition) -> str:
    """Why a transition was refused: written before, overtaken by a cancel, or no longer ours."""
    row = connection.execute(load("finish_standing"), {"seq": transition.seq}).fetchone()
    if row is None or row[1] != transition.token:
        return LOST
    state, _, cancel_at = row
    if state == "running" and cancel_at is not None:
        return CANCELLING
    promoted = state == QUEUED and transition.state == SCHEDULED
    return ALREADY if state == transition.state or promoted else LOST


def _bound(transition: Transition) -> tuple[Any, ...]:
    return (
        transition.seq, transition.state, transition.attempt, transition.crashes, transition.run_at,
        transition.finished_at, transition.expires_at, transition.reason, transition.token,
    )  # fmt: skip


def _effects(connection: sqlite3.Connection, transitions: Sequence[Transition]) -> None:
    """What an applied transition leaves behind: its attempt, its result, its children."""
    attempts = [_attempt(t) for t in transitions if (t.outcome, t.state) not in UNRECORDED]
    results = [(t.seq, t.result) for t in transitions if t.result is not None]
    children = [child for t in transitions for child in t.children]
    if attempts:
        connection.executemany(load("finish_attempt"), attempts)
    if results:
        connection.executemany(load("finish_result"), results)
    if children:
        enqueue(connection, children, transitions[0].at, alone=True)


def _attempt(transition: Transition) -> tuple[Any, ...]:
    return (
        transition.seq, transition.token, transition.number, transition.worker, transition.started_at, transition.at,
        transition.outcome, transition.error, transition.traceback,
    )  # fmt: skip


def write_notes(connection: sqlite3.Connection, notes: Sequence[Note]) -> list[bool]:
    """Write notes in order; per note whether its attempt holds the job."""
    return [connection.execute(load(_STATEMENTS[type(note)]), note._asdict()).rowcount == 1 for note in notes]


def note(db: Database, notes: Sequence[Note]) -> list[bool]:
    """Write notes in a transaction of their own."""
    with db.writing() as connection:
        return write_notes(connection, notes)


def finish_in(connection: sqlite3.Connection, transition: Transition) -> None:
    """Apply one transition in the caller's transaction, or raise."""
    if _finish_one(connection, transition) != STORED:
        raise LeaseLost(f"job {transition.id} is no longer this attempt's: roll the transaction back")
