"""Finishing: the one way out of `running`, and what belongs to the outcome of an attempt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.counting import of_transitions
from ...core.decide import Completed, Transition
from ...core.job import field_getter
from ...core.rules import EXAMINE
from ...core.states import COMPLETED
from ...core.verdict import STORED, refusal
from ..operations import Statement, together
from .sql import batched, filled, load, many, run, spacious, tally

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from ...core.updates import Update
    from ..operations import Operations

_DONE, _HOLDER = field_getter(Completed, "seq", "token", "finished_at"), field_getter(Transition, "seq", "token")
RULED = field_getter(Transition, "rules")
_ATTEMPT = field_getter(
    Transition, "seq", "token", "number", "worker", "started_at", "at", "outcome", "error", "traceback", "code"
)


def write_outcomes(
    connection: sqlite3.Connection, transitions: Sequence[Transition], updates: Sequence[Update]
) -> tuple[list[str], set[str]]:
    """Write updates and transitions; return a verdict for each, and the slots that may have room now."""
    late = bool(updates) and set(map(type, transitions)) == {
        Completed
    }  # a completed job still takes updates, no other does
    if not late:
        _update(connection, updates)
    if not transitions:
        return [], set()
    connection.execute("SAVEPOINT batch")
    if _finish_all(connection, transitions):
        connection.execute("RELEASE batch")
        if late:
            _update(connection, updates, transitions)
        return [STORED] * len(transitions), run(connection, _effects(transitions))
    connection.execute("ROLLBACK TO batch")
    connection.execute("RELEASE batch")
    if late:
        _update(connection, updates)
    verdicts, freed = [], set()
    for t in transitions:
        applied = run(connection, _finish_one(t))
        verdicts.append(refused(connection, t) if applied is None else STORED)
        freed |= applied or set()
    return verdicts, freed


def _update(connection: sqlite3.Connection, updates: Sequence[Update], applied: Sequence[Transition] = ()) -> None:
    """Write updates. Attempts whose transitions were applied held their jobs: that need not be looked up."""
    if updates:
        from .updates import write_updates

        write_updates(connection, updates, set(map(_HOLDER, applied)))


def _finish_all(connection: sqlite3.Connection, transitions: Sequence[Transition]) -> bool:
    """Apply a batch in few statements; return False if some transition did not apply."""
    simple = [t for t in transitions if type(t) is Completed or (t.state == COMPLETED and t.reason is None)]
    applied = 0
    if len(simple) < len(transitions):
        others = [t._asdict() for t in transitions if t.state != COMPLETED or t.reason is not None]
        applied = connection.executemany(load("finish"), others).rowcount
    worker = simple[0].worker if simple else None  # nearly always that of all; the others are applied one by one
    for start, size in spacious(len(simple)):
        values = filled(map(_DONE, simple[start : start + size]), size, 3)
        applied += connection.execute(many(load("finish_completed"), size), [*values, worker]).rowcount
    return applied == len(transitions)


def finish_operations(transition: Transition) -> Operations[bool]:
    """Apply one transition, on any connection; return False if its attempt no longer holds the job."""
    freed = yield from _finish_one(transition)
    if freed:
        from ..sql.admission import wake
        from .dialect import DIALECT

        yield from wake(DIALECT, freed)
    return freed is not None


def _finish_one(transition: Transition) -> Operations[set[str] | None]:
    """Apply one transition; return the slots that may have room now, or None if its attempt no longer holds the job."""
    _, count = yield Statement(load("finish"), transition._asdict())
    return None if count == 0 else (yield from _effects((transition,)))


def refused(connection: sqlite3.Connection, transition: Transition) -> str:
    """Return why a transition was not applied."""
    return refusal(transition, connection.execute(load("finish_refused"), {"seq": transition.seq}).fetchone())


def _effects(applied: Sequence[Transition]) -> Operations[set[str]]:
    """Write what belongs to applied transitions: counters, attempts, results, children; return the slots that may have room now."""
    freed: set[str] = set()
    yield from together(*tally(of_transitions(applied)))
    if any(map(RULED, applied)):
        from ..sql.admission import finished
        from .dialect import DIALECT

        freed = yield from finished(DIALECT, applied, applied[0].at)
    rows, _ = yield Statement(load("parents"))
    if rows:
        from .dialect import DIALECT

        yield DIALECT.statement("admit_ended", seqs=[t.seq for t in applied if t.finished_at is not None])
    if (yield from _recorded(applied)) or rows:
        freed.add(EXAMINE)
    return freed


def _recorded(transitions: Sequence[Transition]) -> Operations[bool]:
    """Write what belongs to transitions, and return whether there are children."""
    transitions = [t for t in transitions if type(t) is not Completed]
    attempts = [_ATTEMPT(t) for t in transitions if t.recorded]
    results = [(t.seq, t.result) for t in transitions if t.result is not None]
    yield from together(*batched(load("finish_attempt"), attempts), *batched(load("finish_result"), results))
    if any(t.children or t.review for t in transitions):
        from ..sql.actions import keep_children
        from .dialect import DIALECT

        yield from keep_children(DIALECT, transitions, transitions[0].at)
    return any(t.children for t in transitions)
