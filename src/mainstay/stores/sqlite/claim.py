"""Taking jobs and giving them back: the hot path of a worker, and the one door out of `running`."""

from __future__ import annotations

import json
import os
import sqlite3
from functools import partial
from itertools import chain, repeat
from typing import TYPE_CHECKING

from ...core.decide import Completed
from ...core.errors import LeaseLost
from ...core.job import Claimed, field_getter
from ...core.states import COMPLETED
from ...core.updates import Checkpoint, Log, Progress, Update
from ...core.verdict import STORED, refusal
from ..contract import Claims
from ..operations import Statement
from .enqueue import enqueue_operations
from .sql import batches, load, many, run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ...core.decide import Transition
    from ..operations import Operations
    from .connect import Database

    Columns = tuple[str | None, list[list[Any]]]

MARK = "\x1e"  # between joined texts: JSON has no such character, nor has a sane name
PROMOTED = 500  # due jobs queued by one claim; the rest follow with the next
_PLACE = field_getter(Claimed, "rank", "ord", "seq")
_DONE = field_getter(Completed, "seq", "token", "finished_at")
_STATEMENTS = {Log: "update_log", Progress: "update_progress", Checkpoint: "update_checkpoint"}


def claim(
    db: Database, worker: str, wants: Mapping[str, Sequence[str]], limit: int, now: int,
    finishing: Sequence[Transition], updates: Sequence[Update],
) -> Claims:  # fmt: skip
    """Notes, finishes, promotion and claim in one transaction."""
    with db.writing() as connection:
        if connection.execute(load("claim_lease"), {"worker": worker, "now": now}).fetchone() is None:
            raise LeaseLost(f"worker {worker} is not registered, or its lease ran out")
        verdicts = _finish(connection, finishing, updates)
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
        seqs, columns = _next(connection, queue, json.dumps(types), left)
        if seqs is not None:
            connection.execute(load("claim"), {"worker": worker, "now": now, "seqs": seqs})
            jobs += _claimed(columns, queue, worker, now)
    return jobs


def _next(connection: sqlite3.Connection, queue: str, types: str, limit: int, mark: str = MARK) -> Columns:
    """The next jobs of a queue: their numbers as JSON, for the claim, and what a worker must know of them."""
    from ...core.codec import load_plain

    asked = {"queue": queue, "types": types, "limit": limit, "mark": mark}
    try:
        seqs, numbers, *texts = connection.execute(load("claim_next"), asked).fetchone()
    except sqlite3.DataError:  # more text than SQLite can join
        if limit == 1:
            raise
        return _next(connection, queue, types, limit // 2)
    if seqs is None:
        return None, []
    columns = [load_plain(seqs), *load_plain(numbers), *(text.split(mark) for text in texts)]
    if any(len(column) != len(columns[0]) for column in columns):  # the mark is in a text
        return _next(connection, queue, types, limit, os.urandom(16).hex())
    return seqs, columns


def _claimed(columns: list[list[Any]], queue: str, worker: str, now: int) -> list[Claimed]:
    """Jobs just taken, in order, which no aggregate promises: what is the same for all of them is not read from each."""
    seq, attempt, most, crashes, token, timeout, keep, backoff, created, rank, ord, id, type, payload = columns
    rows = zip(
        seq, id, type, repeat(queue), attempt, most, crashes, token, timeout, keep, backoff, created, repeat(now), repeat(False),
        payload, rank, ord, repeat(worker), strict=False,
    )  # fmt: skip
    return sorted(map(partial(tuple.__new__, Claimed), rows), key=_PLACE)


def finish(db: Database, transitions: Sequence[Transition], updates: Sequence[Update]) -> list[str]:
    """Apply transitions; per transition a verdict."""
    with db.writing() as connection:
        return _finish(connection, transitions, updates)


def _finish(connection: sqlite3.Connection, transitions: Sequence[Transition], updates: Sequence[Update]) -> list[str]:
    if updates:
        write_updates(connection, updates)
    if not transitions:
        return []
    connection.execute("SAVEPOINT batch")
    if _finish_all(connection, transitions):
        connection.execute("RELEASE batch")
        run(connection, _effects(transitions))
        return [STORED] * len(transitions)
    connection.execute("ROLLBACK TO batch")
    connection.execute("RELEASE batch")
    return [_finish_one(connection, transition) for transition in transitions]


def _finish_all(connection: sqlite3.Connection, transitions: Sequence[Transition]) -> bool:
    """Apply a batch in few statements; False when some transition did not apply."""
    simple = [t for t in transitions if type(t) is Completed or (t.state == COMPLETED and t.reason is None)]
    applied = 0
    if len(simple) < len(transitions):
        others = [_bound(t) for t in transitions if t.state != COMPLETED or t.reason is not None]
        applied = connection.executemany(load("finish"), others).rowcount
    for start, size in batches(len(simple)):
        values = list(chain.from_iterable(map(_DONE, simple[start : start + size])))
        applied += connection.execute(many("finish_completed", size), values).rowcount
    return applied == len(transitions)


def _finish_one(connection: sqlite3.Connection, transition: Transition) -> str:
    return STORED if run(connection, finish_operations(transition)) else standing(connection, transition)


def finish_operations(transition: Transition) -> Operations[bool]:
    """Apply one transition, on whichever connection; False where it does not hold any more."""
    _, count = yield Statement(load("finish"), _bound(transition))
    if count == 0:
        return False
    yield from _effects((transition,))
    return True


def standing(connection: sqlite3.Connection, transition: Transition) -> str:
    """Why a transition was refused: written before, overtaken by a cancel, or no longer ours."""
    row = connection.execute(load("finish_standing"), {"seq": transition.seq}).fetchone()
    state, token, cancel_at = row or (None, 0, None)
    return refusal(transition, state, token, cancel_at is not None)


def _bound(transition: Transition) -> tuple[Any, ...]:
    return (
        transition.seq, transition.state, transition.attempt, transition.crashes, transition.run_at,
        transition.finished_at, transition.expires_at, transition.reason, transition.token,
    )  # fmt: skip


def _effects(transitions: Sequence[Transition]) -> Operations[None]:
    """What an applied transition leaves behind: its attempt, its result, its children."""
    transitions = [t for t in transitions if type(t) is not Completed]
    attempts = [_attempt(t) for t in transitions if t.recorded]
    results = [(t.seq, t.result) for t in transitions if t.result is not None]
    children = [child for t in transitions for child in t.children]
    yield from _insert("finish_attempt", attempts)
    yield from _insert("finish_result", results)
    if children:
        yield from enqueue_operations(children, transitions[0].at, alone=True)


def _insert(name: str, rows: Sequence[tuple[Any, ...]]) -> Operations[None]:
    for start, size in batches(len(rows)):
        yield Statement(many(name, size), [value for row in rows[start : start + size] for value in row])


def _attempt(transition: Transition) -> tuple[Any, ...]:
    return (
        transition.seq, transition.token, transition.number, transition.worker, transition.started_at, transition.at,
        transition.outcome, transition.error, transition.traceback,
    )  # fmt: skip


def write_updates(connection: sqlite3.Connection, updates: Sequence[Update]) -> list[bool]:
    """Write notes in order; per note whether its attempt holds the job."""
    return [connection.execute(load(_STATEMENTS[type(note)]), note._asdict()).rowcount == 1 for note in updates]
