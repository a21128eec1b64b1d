"""Taking jobs and giving them back: the hot path of a worker, and the one door out of `running`.

A round of a worker — notes, outcomes, promotion, claim — is one batch: one transaction and one round trip. Only outcomes
with children, and a batch that names a job twice, take a transaction of several trips.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg

from ...core.decide import Completed
from ...core.errors import LeaseLost, MainstayError
from ...core.job import Claimed, picker
from ...core.notes import Checkpoint, Log, Progress
from ...core.states import COMPLETED, QUEUED, SCHEDULED
from ..contract import ALREADY, CANCELLING, LOST, STORED, Claims
from ..steps import Step
from .blocked import filled
from .connect import HURRY
from .enqueue import enqueue_steps

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...core.decide import Transition
    from ...core.notes import Note
    from ..steps import Answer, Steps
    from .blocked import Blocked
    from .connect import Database
    from .sql import Statements
    from .trail import Trail

    Wants = Mapping[str, Sequence[str]]

PROMOTED = 500  # due jobs queued by one claim; the rest follow with the next
UNRECORDED = {("completed", COMPLETED), ("handed back", QUEUED)}  # the job itself tells of these attempts
_PLACE = picker(Claimed, "rank", "ord", "seq")
_SEQ = picker(Completed, "seq")
_DONE = picker(Completed, "seq", "token", "finished_at", "expires_at", "result")


def claim(
    db: Database, trail: Trail, blocked: Blocked, worker: str, wants: Wants, limit: int, now: int, judged: int | None,
    finishing: Sequence[Transition], notes: Sequence[Note],
) -> Claims:  # fmt: skip
    """Notes, finishes, promotion and claim in one transaction; `judged` is the instant, None the engine's own."""
    found, held = blocked.around(
        finishing, lambda some: _claim(db, trail, worker, wants, limit, now, judged, some, notes)
    )
    return found._replace(verdicts=filled(finishing, found.verdicts, held)) if held else found


def _claim(
    db: Database, trail: Trail, worker: str, wants: Wants, limit: int, now: int, judged: int | None,
    finishing: Sequence[Transition], notes: Sequence[Note],
) -> Claims:  # fmt: skip
    if any(type(t) is not Completed and t.state == QUEUED for t in finishing):
        trail.forget()
    asked = _claims(db.load, trail, worker, wants, limit, now, judged)
    try:
        if _intricate(finishing) or len(asked) > 2:
            found = db.run(lambda: _claim_steps(db.load, wants, limit, asked, finishing, notes), HURRY)
        else:
            found = _fused(db, wants, limit, asked, finishing, notes)
    except MainstayError as error:
        if _is_lease_lost(error):
            raise LeaseLost(f"worker {worker} is not registered, or its lease ran out") from error
        raise
    _follow(trail, wants, found, limit, now)
    return found


def _fused(
    db: Database, wants: Wants, limit: int, asked: list[Step], finishing: Sequence[Transition], notes: Sequence[Note]
) -> Claims:
    groups = _groups(finishing)
    answers = db.batch([*_note_steps(db.load, notes), *_finish_steps(db.load, groups), *asked], HURRY)
    claims = len(answers) - len(asked)
    verdicts = _sorted_out(db, finishing, groups, answers[claims - len(groups) : claims])
    return _answered(verdicts, answers[claims:], wants, limit)


def _claim_steps(
    load: Statements, wants: Wants, limit: int, asked: list[Step], finishing: Sequence[Transition],
    notes: Sequence[Note],
) -> Steps[Claims]:  # fmt: skip
    """As the batch, a step at a time."""
    verdicts = yield from finish_steps(load, finishing, notes)
    answers: list[Answer] = []
    left = limit
    for step in asked:
        if left > 0 or not answers:
            values = step.values if not answers else (*step.values[:4], left, *step.values[5:])
            answers.append((yield Step(step.text, values)))
            left -= len(answers[-1].rows) if len(answers) > 1 else 0
    return _answered(verdicts, answers, wants, limit)


def _claims(
    load: Statements, trail: Trail, worker: str, wants: Wants, limit: int, now: int, judged: int | None
) -> list[Step]:
    """What to send for a claim: the lease and the promotion first, then a statement for the queues with the same types."""
    steps = [Step(load("claim_ready"), (worker, judged, PROMOTED))]
    if limit <= 0:
        return steps
    for queues, types in _alike(wants):
        starts = zip(*trail.starts(queues, types, now), strict=True)
        steps.append(Step(load("claim"), (worker, judged, queues, types, limit, *map(list, starts))))
    return steps


def _alike(wants: Wants) -> list[tuple[list[str], list[str]]]:
    """The queues in their order, neighbours that want the same types together; those that want nothing left out."""
    groups: list[tuple[list[str], list[str]]] = []
    for queue, types in wants.items():
        if types and groups and groups[-1][1] == list(types):
            groups[-1][0].append(queue)
        elif types:
            groups.append(([queue], list(types)))
    return groups


def _follow(trail: Trail, wants: Wants, found: Claims, limit: int, now: int) -> None:
    if found.wait == 0:  # more is due than was queued, with places anywhere
        trail.forget()
        return
    full = len(found.jobs) >= limit
    for queues, types in _alike(wants):
        trail.note(queues, types, found.jobs, full, now)


def _answered(verdicts: list[str], answers: Sequence[Answer], wants: Wants, limit: int) -> Claims:
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


def held(db: Database, worker: str) -> list[Claimed]:
    """What a worker holds."""
    return [Claimed._make(row) for row in db.batch([Step(db.load("held"), (worker,))], HURRY)[0].rows]


# Finishing ------------------------------------------------------------------------------------------------------------


def finish(db: Database, blocked: Blocked, transitions: Sequence[Transition], notes: Sequence[Note]) -> list[str]:
    """Apply transitions; per transition a verdict."""
    verdicts, held = blocked.around(transitions, lambda some: _finish(db, some, notes))
    return filled(transitions, verdicts, held)


def _finish(db: Database, transitions: Sequence[Transition], notes: Sequence[Note]) -> list[str]:
    if not transitions and not notes:
        return []
    if _intricate(transitions):
        return db.run(lambda: finish_steps(db.load, transitions, notes), HURRY)
    groups = _groups(transitions)
    answers = db.batch([*_note_steps(db.load, notes), *_finish_steps(db.load, groups)], HURRY)
    return _sorted_out(db, transitions, groups, answers[len(answers) - len(groups) :])


def finish_steps(load: Statements, transitions: Sequence[Transition], notes: Sequence[Note] = ()) -> Steps[list[str]]:
    """Apply transitions with their children, a step at a time; per transition a verdict."""
    for step in _note_steps(load, notes):  # noqa: UP028  (a list takes no answers)
        yield step
    if len({t.seq for t in transitions}) == len(transitions):
        return (yield from _finish_together(load, transitions))
    verdicts: list[str] = []
    for transition in transitions:
        verdicts += yield from _finish_together(load, [transition])
    return verdicts


def _finish_together(load: Statements, transitions: Sequence[Transition]) -> Steps[list[str]]:
    groups, answers = _groups(transitions), []
    for step in _finish_steps(load, groups):
        answer = yield step
        answers.append(answer)
    applied = _applied(groups, answers)
    children = [child for t in transitions if t.seq in applied for child in t.children]
    if children:
        yield from enqueue_steps(load, children, transitions[0].at, alone=True)
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


def _finish_steps(load: Statements, groups: list[list[Transition]]) -> list[Step]:
    return [
        Step(load("finish_completed"), _completed(group))
        if _is_simple(group[0])
        else Step(load("finish"), _columns(group))
        for group in groups
    ]


def _completed(transitions: Sequence[Transition]) -> tuple[list[Any], ...]:
    seqs, tokens, finished, expires, results = map(list, zip(*map(_DONE, transitions), strict=True))
    return seqs, tokens, finished, expires, results if any(result is not None for result in results) else []


def _columns(transitions: Sequence[Transition]) -> tuple[list[Any], ...]:
    rows = [
        (
            t.seq, t.token, t.state, t.attempt, t.crashes, t.run_at, t.finished_at, t.expires_at, t.reason, t.number,
            t.worker, t.started_at, t.at, None if (t.outcome, t.state) in UNRECORDED else t.outcome, t.error,
            t.traceback, t.result,
        )
        for t in transitions
    ]  # fmt: skip
    return tuple(map(list, zip(*rows, strict=True)))


def _applied(groups: list[list[Transition]], answers: Sequence[Answer]) -> set[int | str]:
    """The jobs whose transitions were applied; a statement that applied all of its own answers NULL."""
    applied: set[int | str] = set()
    for group, answer in zip(groups, answers, strict=True):
        seqs = answer.rows[0][0]
        applied.update([t.seq for t in group] if seqs is None else seqs)
    return applied


def _sorted_out(
    db: Database, transitions: Sequence[Transition], groups: list[list[Transition]], answers: Sequence[Answer]
) -> list[str]:
    """The verdicts on a batch that is written; why some were refused is read afterwards."""
    if all(answer.rows[0][0] is None for answer in answers):
        return [STORED] * len(transitions)
    return db.alone(_verdicts(db.load, transitions, _applied(groups, answers)), HURRY)


def _verdicts(load: Statements, transitions: Sequence[Transition], applied: set[int | str]) -> Steps[list[str]]:
    refused = [t.seq for t in transitions if t.seq not in applied]
    if not refused:
        return [STORED] * len(transitions)
    found = yield Step(load("finish_standing"), (refused,))
    standing = {row[0]: row[1:] for row in found.rows}
    return [STORED if t.seq in applied else _verdict(t, standing.get(t.seq)) for t in transitions]


def _verdict(transition: Transition, standing: tuple[Any, ...] | None) -> str:
    """Why a transition was refused: written before, overtaken by a cancel, or no longer ours."""
    if standing is None or standing[1] != transition.token:
        return LOST
    state, _, cancel_at = standing
    if state == "running" and cancel_at is not None:
        return CANCELLING
    promoted = state == QUEUED and transition.state == SCHEDULED
    return ALREADY if state == transition.state or promoted else LOST


# Notes ----------------------------------------------------------------------------------------------------------------


def note(db: Database, notes: Sequence[Note]) -> list[bool]:
    """Write notes in a transaction of their own; per note whether its attempt holds the job."""
    if not notes:
        return []
    kinds = _kinds(notes)
    answers = db.batch(_note_steps(db.load, notes), HURRY)
    current = {
        (kind, *list(kinds[kind])[place - 1][:2])
        for kind, answer in zip(kinds, answers, strict=True)
        for (place,) in answer.rows
    }
    return [(type(each), each.seq, each.token) in current for each in notes]


def _kinds(notes: Sequence[Note]) -> dict[type, list[Note]]:
    """The notes by their kind, in the order of seq; of progress and checkpoints only the last of an attempt."""
    found: dict[type, dict[Any, Note]] = {}
    for each in notes:
        place = (each.seq, each.token, each.n) if isinstance(each, Log) else (each.seq, each.token)
        found.setdefault(type(each), {})[place] = each
    return {kind: [chosen[place] for place in sorted(chosen)] for kind, chosen in found.items()}


def _note_steps(load: Statements, notes: Sequence[Note]) -> list[Step]:
    return [Step(load(_NOTES[kind]), _note_columns(kind, chosen)) for kind, chosen in _kinds(notes).items()]


def _note_columns(kind: type, notes: list[Note]) -> tuple[list[Any], ...]:
    columns = tuple(map(list, zip(*notes, strict=True)))
    if kind is Progress:
        numbers = [[None if value is None else float(value) for value in column] for column in columns[3:5]]
        return (*columns[:3], *numbers, columns[5])
    return columns


_NOTES: dict[type, str] = {Log: "note_log", Progress: "note_progress", Checkpoint: "note_checkpoint"}
