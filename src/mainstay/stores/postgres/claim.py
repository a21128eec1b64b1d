"""Taking jobs and giving them back: the hot path of a worker, and the one door out of `running`.

A round of a worker — notes, outcomes, promotion, claim — is one batch: one transaction and one round trip. Only outcomes
with children, and a batch that names a job twice, take a transaction of several trips.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg

from ...core.decide import Completed
from ...core.errors import LeaseLost, MainstayError
from ...core.job import Claimed, field_getter
from ...core.states import COMPLETED, QUEUED
from ...core.updates import Checkpoint, Log, Progress
from ...core.verdict import STORED, refusal
from ..contract import Claims
from ..operations import Statement
from .connect import WORKER_TIMEOUT
from .enqueue import enqueue_operations
from .locked_rows import filled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...core.decide import Transition
    from ...core.updates import Update
    from ..operations import Operations, Result
    from .claim_cursor import ClaimCursors
    from .connect import Database
    from .locked_rows import LockedRows
    from .sql import Statements

    Wants = Mapping[str, Sequence[str]]

PROMOTED = 500  # due jobs queued by one claim; the rest follow with the next
_PLACE = field_getter(Claimed, "rank", "ord", "seq")
_SEQ = field_getter(Completed, "seq")
_DONE = field_getter(Completed, "seq", "token", "finished_at", "expires_at", "result")


def claim(
    db: Database, cursors: ClaimCursors, locked_rows: LockedRows, worker: str, wants: Wants, limit: int, now: int, judged: int | None,
    finishing: Sequence[Transition], updates: Sequence[Update],
) -> Claims:  # fmt: skip
    """Notes, finishes, promotion and claim in one transaction; `judged` is the instant, None the engine's own."""
    found, held = locked_rows.around(
        finishing, lambda some: _claim(db, cursors, worker, wants, limit, now, judged, some, updates)
    )
    return found._replace(verdicts=filled(finishing, found.verdicts, held)) if held else found


def _claim(
    db: Database, cursors: ClaimCursors, worker: str, wants: Wants, limit: int, now: int, judged: int | None,
    finishing: Sequence[Transition], updates: Sequence[Update],
) -> Claims:  # fmt: skip
    if any(type(t) is not Completed and t.state == QUEUED for t in finishing):
        cursors.forget()
    asked = _claims(db.load, cursors, worker, wants, limit, now, judged)
    try:
        if _intricate(finishing) or len(asked) > 2:
            found = db.run(lambda: _claim_operations(db.load, wants, limit, asked, finishing, updates), WORKER_TIMEOUT)
        else:
            found = _fused(db, wants, limit, asked, finishing, updates)
    except MainstayError as error:
        if _is_lease_lost(error):
            raise LeaseLost(f"worker {worker} is not registered, or its lease ran out") from error
        raise
    _follow(cursors, wants, found, limit, now)
    return found


def _fused(
    db: Database,
    wants: Wants,
    limit: int,
    asked: list[Statement],
    finishing: Sequence[Transition],
    updates: Sequence[Update],
) -> Claims:
    groups = _groups(finishing)
    answers = db.batch(
        [*_update_statements(db.load, updates), *_finish_statements(db.load, groups), *asked], WORKER_TIMEOUT
    )
    claims = len(answers) - len(asked)
    verdicts = _sorted_out(db, finishing, groups, answers[claims - len(groups) : claims])
    return _answered(verdicts, answers[claims:], wants, limit)


def _claim_operations(
    load: Statements, wants: Wants, limit: int, asked: list[Statement], finishing: Sequence[Transition],
    updates: Sequence[Update],
) -> Operations[Claims]:  # fmt: skip
    """As the batch, a step at a time."""
    verdicts = yield from finish_operations(load, finishing, updates)
    answers: list[Result] = []
    left = limit
    for statement in asked:
        if left > 0 or not answers:
            values = statement.values if not answers else (*statement.values[:4], left, *statement.values[5:])
            answers.append((yield Statement(statement.text, values)))
            left -= len(answers[-1].rows) if len(answers) > 1 else 0
    return _answered(verdicts, answers, wants, limit)


def _claims(
    load: Statements, cursors: ClaimCursors, worker: str, wants: Wants, limit: int, now: int, judged: int | None
) -> list[Statement]:
    """What to send for a claim: the lease and the promotion first, then a statement for the queues with the same types."""
    operations = [Statement(load("claim_ready"), (worker, judged, PROMOTED))]
    if limit <= 0:
        return operations
    for queues, types in _alike(wants):
        starts = zip(*cursors.starts(queues, types, now), strict=True)
        operations.append(Statement(load("claim"), (worker, judged, queues, types, limit, *map(list, starts))))
    return operations


def _alike(wants: Wants) -> list[tuple[list[str], list[str]]]:
    """The queues in their order, neighbours that want the same types together; those that want nothing left out."""
    groups: list[tuple[list[str], list[str]]] = []
    for queue, types in wants.items():
        if types and groups and groups[-1][1] == list(types):
            groups[-1][0].append(queue)
        elif types:
            groups.append(([queue], list(types)))
    return groups


def _follow(cursors: ClaimCursors, wants: Wants, found: Claims, limit: int, now: int) -> None:
    if found.wait == 0:  # more is due than was queued, with places anywhere
        cursors.forget()
        return
    full = len(found.jobs) >= limit
    for queues, types in _alike(wants):
        cursors.note(queues, types, found.jobs, full, now)


def _answered(verdicts: list[str], answers: Sequence[Result], wants: Wants, limit: int) -> Claims:
    rows = [row for answer in answers[1:] for row in answer.rows]
    rows.sort(key=_PLACE)  # RETURNING promises no order
    if len(wants) > 1:
        places = {queue: place for place, queue in enumerate(wants)}
        rows.sort(key=lambda row: places[row[3]])
    wait = answers[0].rows[0][1] if len(rows) < limit or limit <= 0 else None
    return Claims(verdicts, list(map(Claimed._make, rows)), wait)


def _is_lease_lost(error: MainstayError) -> bool:
    cause = error.__cause__
    return isinstance(cause, psycopg.errors.InvalidTextRepresentation) and "holds no lease" in str(cause)


# Finishing ------------------------------------------------------------------------------------------------------------


def finish(
    db: Database, locked_rows: LockedRows, transitions: Sequence[Transition], updates: Sequence[Update]
) -> list[str]:
    """Apply transitions; per transition a verdict."""
    verdicts, held = locked_rows.around(transitions, lambda some: _finish(db, some, updates))
    return filled(transitions, verdicts, held)


def _finish(db: Database, transitions: Sequence[Transition], updates: Sequence[Update]) -> list[str]:
    if not transitions and not updates:
        return []
    if _intricate(transitions):
        return db.run(lambda: finish_operations(db.load, transitions, updates), WORKER_TIMEOUT)
    groups = _groups(transitions)
    answers = db.batch([*_update_statements(db.load, updates), *_finish_statements(db.load, groups)], WORKER_TIMEOUT)
    return _sorted_out(db, transitions, groups, answers[len(answers) - len(groups) :])


def finish_operations(
    load: Statements, transitions: Sequence[Transition], updates: Sequence[Update] = ()
) -> Operations[list[str]]:
    """Apply transitions with their children, a step at a time; per transition a verdict."""
    for statement in _update_statements(load, updates):  # noqa: UP028  (a list takes no answers)
        yield statement
    if len({t.seq for t in transitions}) == len(transitions):
        return (yield from _finish_together(load, transitions))
    verdicts: list[str] = []
    for transition in transitions:
        verdicts += yield from _finish_together(load, [transition])
    return verdicts


def _finish_together(load: Statements, transitions: Sequence[Transition]) -> Operations[list[str]]:
    groups, answers = _groups(transitions), []
    for statement in _finish_statements(load, groups):
        answer = yield statement
        answers.append(answer)
    applied = _applied(groups, answers)
    children = [child for t in transitions if t.seq in applied for child in t.children]
    if children:
        yield from enqueue_operations(load, children, transitions[0].at, alone=True)
    return (yield from _verdicts(load, transitions, applied))


def _intricate(transitions: Sequence[Transition]) -> bool:
    """Whether these cannot be sent at once: children follow only what was applied, and a job may be named twice."""
    return len(set(map(_SEQ, transitions))) != len(transitions) or any(
        type(t) is not Completed and t.children for t in transitions
    )


def _groups(transitions: Sequence[Transition]) -> list[list[Transition]]:
    """What simply completed, and the rest, each in the order of seq."""
    ordered = sorted(transitions, key=_SEQ)
    simple = [t for t in ordered if _is_simple(t)]
    others = [t for t in ordered if not _is_simple(t)] if len(simple) < len(ordered) else []
    return [group for group in (simple, others) if group]


def _is_simple(transition: Transition) -> bool:
    t = transition
    return type(t) is Completed or (t.state == COMPLETED and t.reason is None and t.outcome == "completed")


def _finish_statements(load: Statements, groups: list[list[Transition]]) -> list[Statement]:
    return [
        Statement(load("finish_completed"), _completed(group))
        if _is_simple(group[0])
        else Statement(load("finish"), _columns(group))
        for group in groups
    ]


def _completed(transitions: Sequence[Transition]) -> tuple[list[Any], ...]:
    seqs, tokens, finished, expires, results = map(list, zip(*map(_DONE, transitions), strict=True))
    return seqs, tokens, finished, expires, results if any(result is not None for result in results) else []


def _columns(transitions: Sequence[Transition]) -> tuple[list[Any], ...]:
    rows = [
        (
            t.seq, t.token, t.state, t.attempt, t.crashes, t.run_at, t.finished_at, t.expires_at, t.reason, t.number,
            t.worker, t.started_at, t.at, t.outcome if t.recorded else None, t.error,
            t.traceback, t.result,
        )
        for t in transitions
    ]  # fmt: skip
    return tuple(map(list, zip(*rows, strict=True)))


def _applied(groups: list[list[Transition]], answers: Sequence[Result]) -> set[int | str]:
    """The jobs whose transitions were applied; a statement that applied all of its own answers NULL."""
    applied: set[int | str] = set()
    for group, answer in zip(groups, answers, strict=True):
        seqs = answer.rows[0][0]
        applied.update([t.seq for t in group] if seqs is None else seqs)
    return applied


def _sorted_out(
    db: Database, transitions: Sequence[Transition], groups: list[list[Transition]], answers: Sequence[Result]
) -> list[str]:
    """The verdicts on a batch that is written; why some were refused is read afterwards."""
    if all(answer.rows[0][0] is None for answer in answers):
        return [STORED] * len(transitions)
    return db.alone(_verdicts(db.load, transitions, _applied(groups, answers)), WORKER_TIMEOUT)


def _verdicts(load: Statements, transitions: Sequence[Transition], applied: set[int | str]) -> Operations[list[str]]:
    refused = [t.seq for t in transitions if t.seq not in applied]
    if not refused:
        return [STORED] * len(transitions)
    found = yield Statement(load("finish_standing"), (refused,))
    standing = {row[0]: row[1:] for row in found.rows}
    return [STORED if t.seq in applied else _verdict(t, standing.get(t.seq)) for t in transitions]


def _verdict(transition: Transition, standing: tuple[Any, ...] | None) -> str:
    state, token, cancel_at = standing or (None, 0, None)
    return refusal(transition, state, token, cancel_at is not None)


# Notes ----------------------------------------------------------------------------------------------------------------


def _kinds(updates: Sequence[Update]) -> dict[type, list[Update]]:
    """The notes by their kind, in the order of seq; of progress and checkpoints only the last of an attempt."""
    found: dict[type, dict[Any, Update]] = {}
    for each in updates:
        place = (each.seq, each.token, each.n) if isinstance(each, Log) else (each.seq, each.token)
        found.setdefault(type(each), {})[place] = each
    return {kind: [chosen[place] for place in sorted(chosen)] for kind, chosen in found.items()}


def _update_statements(load: Statements, updates: Sequence[Update]) -> list[Statement]:
    return [Statement(load(_UPDATES[kind]), _update_columns(kind, chosen)) for kind, chosen in _kinds(updates).items()]


def _update_columns(kind: type, updates: list[Update]) -> tuple[list[Any], ...]:
    columns = tuple(map(list, zip(*updates, strict=True)))
    if kind is Progress:
        numbers = [[None if value is None else float(value) for value in column] for column in columns[3:5]]
        return (*columns[:3], *numbers, columns[5])
    return columns


_UPDATES: dict[type, str] = {Log: "update_log", Progress: "update_progress", Checkpoint: "update_checkpoint"}
