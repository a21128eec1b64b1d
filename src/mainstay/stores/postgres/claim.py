"""Claiming and finishing: the hot path of a worker, and the one way out of `running`.

A round of a worker (updates, outcomes, promotion, claim) is one batch: one transaction and one round trip. Only outcomes with
children, and a batch that names a job twice, take a transaction of several trips; and what `ruled` says of jobs with rules.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import psycopg

from ...core.counting import of_transitions, packed
from ...core.decide import Completed, Transition
from ...core.errors import LeaseLost, MainstayError, StoreBusy
from ...core.job import Claimed, field_getter
from ...core.states import COMPLETED, QUEUED
from ...core.updates import Log, Progress
from ...core.verdict import BUSY, STORED, refusal
from ..operations import Result, together
from ..results import Claims
from ..sql.actions import keep_children
from ..sql.admission import examine
from ..turns import FULL, is_turn, may_postpone
from . import lanes, outcome_columns, ruled
from .connect import BEGIN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ...core.updates import Update
    from ..operations import Operations, Statement
    from .dialect import PostgresDialect
    from .lanes import Lane, Wants
    from .store import PostgresStore

DIRECT = "direct"  # a claim that takes the first jobs in line too
COMPARED = 2  # kept places whose lines a claim compares, for each job that it asks for
AGAIN = 3  # times that one claim looks at lines again: those of other kept slots may fill it
LINES, RULES = "lines", "rules"  # what a claim has to look at for jobs that it did not get at once
PROMOTED = 500  # due jobs queued by one claim; the rest follow with the next
_PLACE = field_getter(Claimed, "rank", "ord", "seq")
_QUEUE = field_getter(Claimed, "queue")
_SEQ, _WORKER, _RULES = (field_getter(Completed, name) for name in ("seq", "worker", "rules"))
_claimed = partial(tuple.__new__, Claimed)  # saves the hot path a call of `_make`
_completed, _finished = (
    outcome_columns.of(Completed, outcome_columns.COMPLETED),
    outcome_columns.of(Transition, outcome_columns.FINISH),
)
_updated = {kind: outcome_columns.of(kind, kind._fields) for kind in outcome_columns.UPDATES}


def claim(
    store: PostgresStore, worker: str, wants: Wants, limit: int, now: int,
    finishing: Sequence[Transition] = (), updates: Sequence[Update] = (),
) -> Claims:  # fmt: skip
    """Write updates and outcomes, promote due jobs and claim in one transaction."""
    return _except_locked(store, finishing, lambda some: _claim(store, worker, wants, limit, now, some, updates))


def finish(store: PostgresStore, transitions: Sequence[Transition], updates: Sequence[Update] = ()) -> list[str]:
    """Apply transitions; return a verdict for each."""
    return _except_locked(store, transitions, lambda some: _finish_round(store, some, updates)).verdicts


def _finish_round(store: PostgresStore, transitions: Sequence[Transition], updates: Sequence[Update]) -> Claims:
    if not ruled.simple(transitions):
        return Claims(ruled.finish(store, transitions, updates), [], None)
    at = transitions[0].at if transitions else 0
    # The last claim was filled from lines alone: the next one, which comes soon, takes the first in line directly.
    later = store.filled and not store.full and may_postpone(store, FULL, at)
    looks = ruled.looks(store) if any(map(_RULES, transitions)) and not later else ()
    asked = [*looks, store.dialect.statement("admit_marked" if later else "admit_look")]
    verdicts, results = _round(store, transitions, updates, asked)
    if results[-1].rows:  # the children of a parent that has ended, or lines that others examine or that take more
        store.write(lambda: examine(store.dialect, store.engine_now(at)), by_worker=True)
    return Claims(verdicts, [], None)


def _except_locked(
    store: PostgresStore, transitions: Sequence[Transition], write: Callable[[Sequence[Transition]], Claims]
) -> Claims:
    """Write transitions, but not those whose jobs another open transaction has locked: a `complete_in` that does not end.

    A batch that meets such a row waits for it, and with it all other outcomes and the next claim. That happens once: after
    the wait, which lock_timeout ends, the jobs of that batch are looked up before they are written, and the locked ones are
    left out until they are free.
    """
    if any(t.state == QUEUED for t in _others(transitions)):
        store.cursors.forget()
    if not store.locked or store.locked.isdisjoint(map(_SEQ, transitions)):
        try:
            return write(transitions)
        except StoreBusy as error:
            if not transitions or not isinstance(error.__cause__, psycopg.errors.LockNotAvailable):
                raise
    locked = _locked(store, list(map(_SEQ, transitions)))
    claims = write([t for t in transitions if t.seq not in locked])
    verdicts = iter(claims.verdicts)
    return claims._replace(verdicts=[BUSY if t.seq in locked else next(verdicts) for t in transitions])


def _locked(store: PostgresStore, seqs: list[int | str]) -> set[int | str]:
    """Return which of these are locked at this moment. Racing threads may forget one: that costs a wait."""
    looks = [store.dialect.statement(name, seqs=seqs) for name in ("finish_free", "finish_refused")]
    free, existing = store.single(together(*looks), by_worker=True)
    locked = {row[0] for row in existing.rows} - {row[0] for row in free.rows}
    store.locked = store.locked.difference(seqs) | locked
    return locked


# Claiming -------------------------------------------------------------------------------------------------------------


def _claim(
    store: PostgresStore, worker: str, wants: Wants, limit: int, now: int,
    finishing: Sequence[Transition], updates: Sequence[Update],
) -> Claims:  # fmt: skip
    promote = store.dialect.statement("claim_ready", worker=worker, now=store.engine_now(now), limit=PROMOTED)
    try:
        if store.ruled or not ruled.simple(finishing):
            return ruled.claim(store, worker, wants, limit, now, promote, finishing, updates)
        claims, look = _claim_at_once(store, worker, wants, limit, now, promote, finishing, updates)
        for _ in range(AGAIN):
            if look != LINES:
                break
            some, look = _claim_at_once(
                store, worker, wants, limit - len(claims.jobs), now, promote, (), (), waits=True
            )
            claims = _joined(claims, some, wants)
        if look == RULES:
            some = ruled.claim(store, worker, wants, limit - len(claims.jobs), now, promote, (), ())
            claims = _joined(claims, some, wants)
    except MainstayError as error:
        if isinstance(error.__cause__, psycopg.errors.InvalidTextRepresentation) and "holds no lease" in str(error):
            raise LeaseLost(f"worker {worker} is not registered, or its lease ran out") from error
        raise
    return claims if claims.wait is None or len(claims.jobs) < limit or limit <= 0 else claims._replace(wait=None)


def _joined(claims: Claims, more: Claims, wants: Wants) -> Claims:
    """Return what a claim got by two trips."""
    return Claims(claims.verdicts, ruled.ordered(claims.jobs + more.jobs, wants), more.wait)


def _claim_at_once(
    store: PostgresStore, worker: str, wants: Wants, limit: int, now: int, promote: Statement,
    finishing: Sequence[Transition], updates: Sequence[Update], waits: bool = False,
) -> tuple[Claims, str]:  # fmt: skip
    """Do a round in one trip; return what it got, and what to look at for the rest: LINES, RULES or nothing.

    It looks at lines if it is its turn and the lock of admission is free, or if it `waits` for that lock. If another process had the lock at
    the last turn, it waits in this trip: outcomes are committed first, since whoever has the lock may want the rows that they have locked.
    """
    few, front = lanes.few(wants), store.placed
    turn = waits or bool((store.kept or any(map(_RULES, finishing))) and is_turn(store, limit, now))
    direct = bool(turn and few and limit >= FULL)
    waiting = waits or (direct and store.contended)
    looks, in_line = ruled.looks(store, waiting, direct) if turn else [], 0
    taking = claim_statements(store, worker, wants, few, limit, now, DIRECT if direct else "")
    verdicts, results = _round(store, finishing, updates, [*looks, promote, *taking], apart=waiting)
    if turn and not waits:  # a trip that only waits comes after one that met another process
        store.contended = results[0].rows[0][0] != "true"
    left = results[1].rows[0][0] if turn and not direct else None
    results = results[len(looks) :]
    _, _, store.ruled, paused, placed, kept = results[0].rows[0]
    if direct:
        (left, kept, behind, in_line), results[1] = _looked(results[1])
        placed = placed or behind
    store.placed, store.kept = bool(placed or kept), bool(kept)
    claims = _claims(verdicts, results, wants, limit)
    enough = len(claims.jobs) >= limit > 0
    store.filled = enough and limit >= FULL
    store.full = store.filled and in_line < len(claims.jobs)  # jobs come from lanes: lines can wait for the turn
    _note(store, few, claims, now, paused, enough, direct)
    missed = not enough and (store.ruled or (store.placed and not front))
    if not (missed or left or (kept and not store.filled)):
        return claims, ""
    return claims, RULES if left or store.ruled else LINES


def _note(
    store: PostgresStore, few: dict[Lane, int] | None, claims: Claims, now: int, paused: bool, enough: bool, direct: bool
) -> None:  # fmt: skip
    """Keep where a claim ended, or forget it if jobs may be anywhere.

    They may if more jobs are due than were queued, a lane is not empty, or what was examined is queued. Jobs in line have old places.
    """
    if claims.wait == 0 or paused or store.placed:
        store.cursors.forget()
    elif few is not None:
        store.cursors.note(few, [job for job in claims.jobs if not job.rules] if direct else claims.jobs, enough, now)


def _looked(result: Result) -> tuple[Iterable[int], Result]:
    """Return what `claim_lines` says of the lines, and the jobs that it took."""
    rows = result.rows
    return map(int, rows[0][0].split()), Result([row[1:] for row in rows] if rows[0][1] is not None else [], 0)


def claim_statements(
    store: PostgresStore,
    worker: str,
    wants: Wants,
    few: dict[Lane, int] | None,
    limit: int,
    now: int,
    end: str = "",
) -> list[Statement]:
    """Return the claim's statement, or none if nothing is wanted.

    With the `end` choose it only locks the jobs; with take_free it takes them, unless there are rates to be charged. DIRECT: it also takes the
    first jobs in line at slots that were given back.
    """
    if limit <= 0 or few == {}:
        return []
    direct = end == DIRECT
    asked = {"worker": worker, "now": store.engine_now(now), "limit": limit, "ruled": end != "" and not direct}
    end = end and ":" + end
    if few is None:
        return [store.dialect.statement("claim_wide" + end, **asked, **store.many_lanes.columns(wants))]
    queues, types = map(list, zip(*few, strict=True))
    priorities, ords, seqs = map(list, zip(*store.cursors.starts(few, now), strict=True))
    bound = {"queues": queues, "types": types, "priorities": priorities, "ords": ords, "seqs": seqs}
    if direct:
        bounds = ruled.BOUNDS | {"enough": COMPARED * limit, "heads": limit}
        return [store.dialect.statement("claim_lines", **asked, **bound, **bounds, places=list(few.values()))]
    name = "claim" if len(few) > 1 else "claim_lane"
    return [store.dialect.statement(name + end, **asked, **bound, places=list(few.values()))]


def _claims(verdicts: list[str], results: Sequence[Result], wants: Wants, limit: int) -> Claims:
    rows = [row for result in results[1:] for row in result.rows]
    rows.sort(key=_PLACE)  # RETURNING promises no order
    if len(wants) > 1:
        places = {queue: place for place, queue in enumerate(wants)}
        rows.sort(key=lambda row: places[_QUEUE(row)])
    wait = results[0].rows[0][1] if len(rows) < limit or limit <= 0 else None
    return Claims(verdicts, list(map(_claimed, rows)), wait)


# Finishing ------------------------------------------------------------------------------------------------------------


def _round(
    store: PostgresStore, transitions: Sequence[Transition], updates: Sequence[Update], asked: list[Statement],
    apart: bool = False,
) -> tuple[list[str], list[Result]]:  # fmt: skip
    """Finish, give slots back and ask in one transaction: at once, or in several trips. `apart`: in two transactions, of one trip if it can be."""
    freed, twice = ruled.give_back(store.dialect, transitions), named_twice(transitions)
    write = finish_in_turn if twice else finish_operations
    if twice or has_children(transitions):
        along = [*freed, *(() if apart else asked)]
        verdicts, results = store.write(lambda: write(store.dialect, transitions, updates, along), by_worker=True)
        return verdicts, store.single(together(*asked), by_worker=True) if apart else results[len(freed) :]
    begin, between = ([BEGIN], store.db.anew(by_worker=True)) if apart and (transitions or updates) else ([], [])
    verdicts, results = store.single(
        finish_operations(store.dialect, transitions, updates, [*freed, *between, *asked], begin), by_worker=True
    )
    return verdicts, results[len(freed) + len(between) :]


def finish_in_turn(
    dialect: PostgresDialect, transitions: Sequence[Transition], updates: Sequence[Update], asked: Sequence[Statement]
) -> Operations[tuple[list[str], list[Result]]]:
    """As `finish_operations`, one transition after the other: some job is named twice."""
    verdicts: list[str] = []
    for transition in transitions:
        found, _ = yield from finish_operations(dialect, [transition], updates)
        verdicts, updates = verdicts + found, ()
    return verdicts, (yield from together(*asked))


def finish_operations(
    dialect: PostgresDialect, transitions: Sequence[Transition], updates: Sequence[Update] = (),
    asked: Sequence[Statement] = (), first: Sequence[Statement] = (),
) -> Operations[tuple[list[str], list[Result]]]:  # fmt: skip
    """Run what comes first, write updates, apply transitions with their children, then ask; return a verdict for each, and the results of what was asked.

    Children follow only what was applied. Without any, everything is sent at once, and why a transition was refused is read
    afterwards. No job is named twice.
    """
    later, groups = has_children(transitions), _groups(transitions)
    written = [*first, *_update_statements(dialect, updates), *(_finish_statement(dialect, group) for group in groups)]
    results = yield from together(*written, *(() if later else asked))
    finished = results[len(written) - len(groups) : len(written)]
    if not later and all(result.rows[0][0] is None for result in finished):
        return [STORED] * len(transitions), results[len(written) :]
    applied = _applied(groups, finished)
    if later:
        yield from keep_children(dialect, [t for t in transitions if t.seq in applied], transitions[0].at)
        results += yield from together(*asked)
    return (yield from _verdicts(dialect, transitions, applied)), results[len(written) :]


def _others(transitions: Sequence[Transition]) -> Sequence[Transition]:
    """Return those that are not `Completed`: nearly always none, which costs less to find out than to look at each."""
    return [t for t in transitions if type(t) is not Completed] if set(map(type, transitions)) - {Completed} else ()


def named_twice(transitions: Sequence[Transition]) -> bool:
    """Return whether some job is named twice."""
    return len(set(map(_SEQ, transitions))) != len(transitions)


def has_children(transitions: Sequence[Transition]) -> bool:
    """Return whether jobs are to be enqueued with these outcomes, or a review is asked for."""
    return any(t.children or t.review for t in _others(transitions))


def _groups(transitions: Sequence[Transition]) -> list[list[Transition]]:
    """Return the transitions that simply complete, a list for each worker, and a list of the others, all in the order of seq."""
    ordered = sorted(transitions, key=_SEQ)
    if len(set(map(_WORKER, ordered))) == 1 and not _others(ordered):
        return [ordered]
    groups: dict[tuple[str | None, ...], list[Transition]] = {}
    for transition in ordered:
        groups.setdefault((transition.worker,) if _is_simple(transition) else (), []).append(transition)
    return list(groups.values())


def not_simple(transitions: Sequence[Transition]) -> list[Transition]:
    """Return those that do more than to complete a job."""
    return [t for t in _others(transitions) if not _is_simple(t)]


def _is_simple(transition: Transition) -> bool:
    t = transition
    return type(t) is Completed or (t.state == COMPLETED and t.reason is None and t.outcome == "completed")


def _finish_statement(dialect: PostgresDialect, group: list[Transition]) -> Statement:
    if not _is_simple(group[0]):
        outcomes = [t.outcome if t.recorded else None for t in group]  # None: no row for the attempt
        return dialect.statement(
            "finish", **_finished(group) | {"outcome": outcomes, "counted": list(map(packed, group))}
        )
    bound = _completed(group)
    if bound["result"].count(None) == len(group):
        bound["result"] = []
    held = ruled.held(group)
    name = "finish_completed:held" if held["slots"] else "finish_completed"
    bound |= held | outcome_columns.counts(of_transitions(group))
    return dialect.statement(name, **bound, worker=group[0].worker)


def _applied(groups: list[list[Transition]], results: Sequence[Result]) -> set[int | str]:
    """Return the jobs whose transitions were applied. A statement that applied all of its own returns NULL."""
    applied: set[int | str] = set()
    for group, result in zip(groups, results, strict=True):
        seqs = result.rows[0][0]
        applied.update(map(_SEQ, group) if seqs is None else seqs)
    return applied


def _verdicts(
    dialect: PostgresDialect, transitions: Sequence[Transition], applied: set[int | str]
) -> Operations[list[str]]:
    refused = [t.seq for t in transitions if t.seq not in applied]
    if not refused:
        return [STORED] * len(transitions)
    found = yield dialect.statement("finish_refused", seqs=refused)
    jobs = {row[0]: row[1:] for row in found.rows}
    return [STORED if t.seq in applied else refusal(t, jobs.get(t.seq)) for t in transitions]


def _update_statements(dialect: PostgresDialect, updates: Sequence[Update]) -> list[Statement]:
    """Return one statement a kind, in the order of seq; of progress and checkpoints only the last of an attempt is written."""
    found: dict[Any, dict[Any, Update]] = {}
    for each in updates:
        place = each[:3] if type(each) is Log else each[:2]
        found.setdefault(type(each), {})[place] = each
    return [
        dialect.statement(
            f"update:{outcome_columns.UPDATES[kind]}", **_update_columns(kind, [chosen[p] for p in sorted(chosen)])
        )
        for kind, chosen in found.items()
    ]


def _update_columns(kind: type, updates: list[Update]) -> dict[str, list[Any]]:
    bound = _updated[kind](updates)
    attempts = dict.fromkeys(zip(bound["seq"], bound["token"], strict=True))
    bound["jobs"], bound["tokens"] = map(list, zip(*attempts, strict=True))
    if kind is Progress:  # a whole number would make the array one of whole numbers
        for name in ("done", "total"):
            bound[name] = [None if value is None else float(value) for value in bound[name]]
    return bound
