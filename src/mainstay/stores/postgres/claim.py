"""Claiming and finishing: the hot path of a worker, and the one way out of `running`.

A round of a worker (updates, outcomes, promotion, claim) is one batch: one transaction and one round trip. Only outcomes with
children, and a batch that names a job twice, take a transaction of several trips.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg

from ...core.decide import Completed, Transition
from ...core.errors import LeaseLost, MainstayError
from ...core.job import Claimed, field_getter
from ...core.states import COMPLETED, QUEUED
from ...core.updates import Log, Progress
from ...core.verdict import STORED, refusal
from ..contract import Claims
from ..operations import together
from ..sql.actions import keep_children
from . import columns, lanes
from .connect import WORKER_TIMEOUT
from .locked_rows import with_busy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...core.updates import Update
    from ..operations import Operations, Result, Statement
    from .dialect import PostgresDialect
    from .lanes import Lane, Wants
    from .store import PostgresStore

PROMOTED = 500  # due jobs queued by one claim; the rest follow with the next
_PLACE = field_getter(Claimed, "rank", "ord", "seq")
_QUEUE = field_getter(Claimed, "queue")
_SEQ = field_getter(Completed, "seq")
_completed, _finished = columns.of(Completed, columns.COMPLETED), columns.of(Transition, columns.FINISH)
_updated = {kind: columns.of(kind, kind._fields) for kind in columns.UPDATES}


def claim(
    store: PostgresStore, worker: str, wants: Wants, limit: int, now: int,
    finishing: Sequence[Transition] = (), updates: Sequence[Update] = (),
) -> Claims:  # fmt: skip
    """Write updates and outcomes, promote due jobs and claim in one transaction."""
    claims, busy = store.locked_rows.write_others(
        finishing, lambda some: _claim(store, worker, wants, limit, now, some, updates)
    )
    return claims._replace(verdicts=with_busy(finishing, claims.verdicts, busy)) if busy else claims


def _claim(
    store: PostgresStore, worker: str, wants: Wants, limit: int, now: int,
    finishing: Sequence[Transition], updates: Sequence[Update],
) -> Claims:  # fmt: skip
    _forget_cursors(store, finishing)
    few = lanes.few(wants)
    asked = [_promote(store, worker, now), *_claim_statements(store, worker, wants, few, limit, now)]
    try:
        verdicts, results = _round(store, asked, finishing, updates)
    except MainstayError as error:
        if _is_lease_lost(error):
            raise LeaseLost(f"worker {worker} is not registered, or its lease ran out") from error
        raise
    claims = _claims(verdicts, results, wants, limit)
    if claims.wait == 0:  # more jobs are due than were queued, and their places are anywhere
        store.cursors.forget()
    elif few is not None:
        store.cursors.note(few, claims.jobs, len(claims.jobs) >= limit, now)
    return claims


def _forget_cursors(store: PostgresStore, transitions: Sequence[Transition]) -> None:
    if any(type(t) is not Completed and t.state == QUEUED for t in transitions):
        store.cursors.forget()


def _round(
    store: PostgresStore, asked: list[Statement], finishing: Sequence[Transition], updates: Sequence[Update]
) -> tuple[list[str], list[Result]]:
    """Write updates and outcomes, then ask; return the verdicts and the results of what was asked."""
    if _needs_trips(finishing):
        return store.db.run(lambda: _round_operations(store.dialect, asked, finishing, updates), WORKER_TIMEOUT)
    groups = _groups(finishing)
    written = [*_update_statements(store.dialect, updates), *_finish_statements(store.dialect, groups)]
    results = store.db.batch([*written, *asked], WORKER_TIMEOUT)
    first = len(results) - len(asked)
    return _read_verdicts(store, finishing, groups, results[first - len(groups) : first]), results[first:]


def _round_operations(
    dialect: PostgresDialect, asked: list[Statement], finishing: Sequence[Transition], updates: Sequence[Update]
) -> Operations[tuple[list[str], list[Result]]]:
    verdicts = yield from finish_operations(dialect, finishing, updates)
    return verdicts, (yield from together(*asked))


def _promote(store: PostgresStore, worker: str, now: int) -> Statement:
    return store.dialect.statement("claim_ready", worker=worker, now=store.engine_now(now), limit=PROMOTED)


def _claim_statements(
    store: PostgresStore, worker: str, wants: Wants, few: dict[Lane, int] | None, limit: int, now: int
) -> list[Statement]:
    """Return the claim's statement, or none if nothing is wanted."""
    if limit <= 0 or few == {}:
        return []
    asked = {"worker": worker, "now": store.engine_now(now), "limit": limit}
    if few is None:
        return [store.dialect.statement("claim_wide", **asked, **store.many_lanes.columns(wants))]
    queues, types = map(list, zip(*few, strict=True))
    priorities, ords, seqs = map(list, zip(*store.cursors.starts(few, now), strict=True))
    bound = {"queues": queues, "types": types, "priorities": priorities, "ords": ords, "seqs": seqs}
    name = "claim" if len(few) > 1 else "claim_lane"
    return [store.dialect.statement(name, **asked, **bound, places=list(few.values()))]


def _claims(verdicts: list[str], results: Sequence[Result], wants: Wants, limit: int) -> Claims:
    rows = [row for result in results[1:] for row in result.rows]
    rows.sort(key=_PLACE)  # RETURNING promises no order
    if len(wants) > 1:
        places = {queue: place for place, queue in enumerate(wants)}
        rows.sort(key=lambda row: places[_QUEUE(row)])
    wait = results[0].rows[0][1] if len(rows) < limit or limit <= 0 else None
    return Claims(verdicts, list(map(Claimed._make, rows)), wait)


def _is_lease_lost(error: MainstayError) -> bool:
    cause = error.__cause__
    return isinstance(cause, psycopg.errors.InvalidTextRepresentation) and "holds no lease" in str(cause)


# Finishing ------------------------------------------------------------------------------------------------------------


def finish(store: PostgresStore, transitions: Sequence[Transition], updates: Sequence[Update] = ()) -> list[str]:
    """Apply transitions; return a verdict for each."""
    _forget_cursors(store, transitions)
    verdicts, busy = store.locked_rows.write_others(transitions, lambda some: _finish(store, some, updates))
    return with_busy(transitions, verdicts, busy)


def _finish(store: PostgresStore, transitions: Sequence[Transition], updates: Sequence[Update]) -> list[str]:
    if not transitions and not updates:
        return []
    return _round(store, [], transitions, updates)[0]


def finish_operations(
    dialect: PostgresDialect, transitions: Sequence[Transition], updates: Sequence[Update] = ()
) -> Operations[list[str]]:
    """Apply transitions with their children, one statement after the other; return a verdict for each."""
    for statement in _update_statements(dialect, updates):  # noqa: UP028  (`yield from` a list sends no results)
        yield statement
    if len({t.seq for t in transitions}) == len(transitions):
        return (yield from _finish_together(dialect, transitions))
    verdicts: list[str] = []
    for transition in transitions:
        verdicts += yield from _finish_together(dialect, [transition])
    return verdicts


def _finish_together(dialect: PostgresDialect, transitions: Sequence[Transition]) -> Operations[list[str]]:
    groups, results = _groups(transitions), []
    for statement in _finish_statements(dialect, groups):
        result = yield statement
        results.append(result)
    applied = _applied(groups, results)
    yield from keep_children(dialect, [t for t in transitions if t.seq in applied], transitions[0].at)
    return (yield from _verdicts(dialect, transitions, applied))


def _needs_trips(transitions: Sequence[Transition]) -> bool:
    """Whether these cannot be sent at once: children follow only what was applied, and a job may be named twice."""
    return len(set(map(_SEQ, transitions))) != len(transitions) or any(
        type(t) is not Completed and t.children for t in transitions
    )


def _groups(transitions: Sequence[Transition]) -> list[list[Transition]]:
    """Return the transitions that simply complete, and the others, each in the order of seq."""
    ordered = sorted(transitions, key=_SEQ)
    simple = [t for t in ordered if _is_simple(t)]
    others = [t for t in ordered if not _is_simple(t)] if len(simple) < len(ordered) else []
    return [group for group in (simple, others) if group]


def _is_simple(transition: Transition) -> bool:
    t = transition
    return type(t) is Completed or (t.state == COMPLETED and t.reason is None and t.outcome == "completed")


def _finish_statements(dialect: PostgresDialect, groups: list[list[Transition]]) -> list[Statement]:
    return [
        _completed_statement(dialect, group) if _is_simple(group[0]) else _finished_statement(dialect, group)
        for group in groups
    ]


def _completed_statement(dialect: PostgresDialect, transitions: list[Transition]) -> Statement:
    bound = _completed(transitions)
    if not any(result is not None for result in bound["result"]):
        bound["result"] = []
    return dialect.statement("finish_completed", **bound)


def _finished_statement(dialect: PostgresDialect, transitions: list[Transition]) -> Statement:
    outcomes = [t.outcome if t.recorded else None for t in transitions]  # None: no row for the attempt
    return dialect.statement("finish", **_finished(transitions) | {"outcome": outcomes})


def _applied(groups: list[list[Transition]], results: Sequence[Result]) -> set[int | str]:
    """Return the jobs whose transitions were applied; a statement that applied all of its own returns NULL."""
    applied: set[int | str] = set()
    for group, result in zip(groups, results, strict=True):
        seqs = result.rows[0][0]
        applied.update([t.seq for t in group] if seqs is None else seqs)
    return applied


def _read_verdicts(
    store: PostgresStore, transitions: Sequence[Transition], groups: list[list[Transition]], results: Sequence[Result]
) -> list[str]:
    """Return the verdicts on a batch that is written; why some were refused is read afterwards."""
    if all(result.rows[0][0] is None for result in results):
        return [STORED] * len(transitions)
    return store.db.alone(_verdicts(store.dialect, transitions, _applied(groups, results)), WORKER_TIMEOUT)


def _verdicts(
    dialect: PostgresDialect, transitions: Sequence[Transition], applied: set[int | str]
) -> Operations[list[str]]:
    refused = [t.seq for t in transitions if t.seq not in applied]
    if not refused:
        return [STORED] * len(transitions)
    found = yield dialect.statement("finish_refused", seqs=refused)
    found_jobs = {row[0]: row[1:] for row in found.rows}
    return [STORED if t.seq in applied else _verdict(t, found_jobs.get(t.seq)) for t in transitions]


def _verdict(transition: Transition, job: tuple[Any, ...] | None) -> str:
    state, token, cancel_at = job or (None, 0, None)
    return refusal(transition, state, token, cancel_at is not None)


# Updates --------------------------------------------------------------------------------------------------------------


def _kinds(updates: Sequence[Update]) -> dict[type, list[Update]]:
    """Return the updates by kind, in the order of seq; of progress and checkpoints only the last of an attempt."""
    found: dict[type, dict[Any, Update]] = {}
    for each in updates:
        place = (each.seq, each.token, each.n) if isinstance(each, Log) else (each.seq, each.token)
        found.setdefault(type(each), {})[place] = each
    return {kind: [chosen[place] for place in sorted(chosen)] for kind, chosen in found.items()}


def _update_statements(dialect: PostgresDialect, updates: Sequence[Update]) -> list[Statement]:
    return [
        dialect.statement(columns.UPDATES[kind], **_update_columns(kind, chosen))
        for kind, chosen in _kinds(updates).items()
    ]


def _update_columns(kind: type, updates: list[Update]) -> dict[str, list[Any]]:
    bound = _updated[kind](updates)
    if kind is Progress:  # a whole number would make the array one of whole numbers
        for name in ("done", "total"):
            bound[name] = [None if value is None else float(value) for value in bound[name]]
    return bound
