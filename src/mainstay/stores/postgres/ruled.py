"""What claims and outcomes of jobs with rules take beyond one trip: a transaction under the lock of admission.

Limits alone take none. A queued job holds its slot, so any claim may take it. Outcomes give slots back without the lock: that only makes
room, and `freed` keeps the slots. Claims take the first jobs in line directly (`claim_lines`), or `looks` queues them, in the same trip, if no other
transaction has the lock (`turns` says when).
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING

from ...core.admission import carried
from ...core.breaker import open_lanes, probed
from ...core.decide import Transition
from ...core.job import Claimed, field_getter
from ...core.verdict import STORED
from ..operations import together
from ..results import Claims
from ..sql.admission import AHEAD, LINES, charge, examine, finished
from ..sql.breaker import put_rule, rule_of
from . import claim as plain, lanes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ...core.updates import Update
    from ..operations import Operations, Statement
    from ..sql.dialect import Dialect
    from .lanes import Wants
    from .store import PostgresStore

    Begun = tuple[list[str], int, list[tuple[Any, ...]]]  # verdicts, the instant, what is paused or at rest

_claimed = partial(tuple.__new__, Claimed)
_RULES, _HELD = field_getter(Transition, "rules"), field_getter(Transition, "seq", "rules")
_PLACE = field_getter(Claimed, "rank", "ord", "seq")
ALL = 2**31
BOUNDS = {"lines": LINES, "most": AHEAD, "enough": ALL, "heads": ALL, "row": 100}  # of what one statement examines
ROUNDS = 10  # times that one claim looks again: what it started lets others pass


def claim(
    store: PostgresStore, worker: str, wants: Wants, limit: int, now: int, promote: Statement,
    finishing: Sequence[Transition], updates: Sequence[Update],
) -> Claims:  # fmt: skip
    """Write updates and outcomes, promote and examine jobs, charge rates and claim."""
    store.cursors.forget()  # a job that is queued now has the place that it had when it was blocked
    verdicts, jobs, (wait, store.ruled) = store.write(
        lambda: _claim(store, worker, wants, limit, now, promote, finishing, updates), by_worker=True
    )
    if len(jobs) >= limit > 0:
        wait = None
    return Claims(verdicts, jobs, wait if wait is None else max(0, wait))


def _claim(
    store: PostgresStore, worker: str, wants: Wants, limit: int, now: int, promote: Statement,
    finishing: Sequence[Transition], updates: Sequence[Update],
) -> Operations[tuple[list[str], list[Claimed], tuple[int | None, bool]]]:  # fmt: skip
    begin = _begin if _at_once(finishing) else _begin_in_turn
    verdicts, instant, closed = yield from begin(store, finishing, updates, promote, store.engine_now(now))
    opened = open_lanes(wants, map(rule_of, closed), instant)
    after = store.dialect.statement("claim_next", now=store.engine_now(now))
    jobs: list[Claimed] = []
    if not opened.probes:
        taking = _taking(store, worker, opened.wants, limit, now, "take_free")
        results = yield from together(*taking, after)
        jobs = [_claimed(row) for row in results[0].rows] if taking else []
        if jobs or not taking or not results[-1].rows[0][1]:  # else there may be rates to be charged
            return verdicts, ordered(jobs, wants), results[-1].rows[0]
    for rule, lane in opened.probes:
        if not (yield store.dialect.statement("breaker_free", name=rule.name)).rows:
            continue
        found = yield from _take(store, worker, lane, min(1, limit - len(jobs)), now, instant)
        if found:
            yield put_rule(store.dialect, probed(rule, instant))
        jobs += found
    jobs += yield from _take(store, worker, opened.wants, limit - len(jobs), now, instant)
    return verdicts, ordered(jobs, wants), (yield after).rows[0]


def _taking(store: PostgresStore, worker: str, wants: Wants, limit: int, now: int, end: str) -> list[Statement]:
    return plain.claim_statements(store, worker, wants, lanes.few(wants), limit, now, end) if wants else []


# the beginning of a claim: outcomes, promotion and what is to be examined ---------------------------------------------
def simple(finishing: Sequence[Transition]) -> bool:
    """Return whether no rule keeps outcomes from being written in one trip."""
    return not any(map(_RULES, finishing)) or _at_once(finishing)


def _at_once(finishing: Sequence[Transition]) -> bool:
    """Return whether no job is named twice, has children or a breaker."""
    if plain.named_twice(finishing) or plain.has_children(finishing):
        return False
    return not any('"breaker"' in text for text in set(map(_RULES, finishing)) if text)


def give_back(dialect: Dialect, finishing: Sequence[Transition]) -> list[Statement]:
    """Return the statement that removes the holds of jobs that have run, and keeps their slots for whoever examines lines next.

    Those that simply completed are left out: the statement that finishes them does it.
    """
    found = held(plain.not_simple(finishing))
    return [dialect.statement("finish_holds", **found)] if found["slots"] else []


def held(finishing: Sequence[Transition]) -> dict[str, list[Any]]:
    """Return the slots of the limits of jobs, the jobs, and the numbers of the limits: a list a column."""
    if not any(map(_RULES, finishing)):
        return {"slots": []}
    rows = [(slot, seq, running) for seq, text in map(_HELD, finishing) if text for slot, running in _limits(text)]
    return {name: [row[n] for row in rows] for n, name in enumerate(("slots", "jobs", "running"))}


@lru_cache(10_000)
def _limits(text: str) -> list[tuple[str, int]]:
    """Return the slots of the limits in a stored text, with their numbers."""
    each = carried(text)
    return [(slot, rule[2]) for slot, rule in zip(each.limits, each.rules.get("limits", ()), strict=True)]


def looks(store: PostgresStore, waits: bool = False, direct: bool = False) -> list[Statement]:
    """Return the statements that examine the lines of kept slots if the lock is free, or wait for it.

    A `direct` claim needs only the lock: its own statement examines the lines.
    """
    dialect = store.dialect
    lock = dialect.statement("admit_wait" if waits else "admit_try")
    return [lock] if direct else [lock, dialect.statement("admit_lines", **BOUNDS)]


def _begin_in_turn(
    store: PostgresStore,
    finishing: Sequence[Transition],
    updates: Sequence[Update],
    promote: Statement,
    now: int | None,
) -> Operations[Begun]:
    (instant,) = (yield store.dialect.statement("admit_lock", now=now)).rows[0]
    verdicts, freed = yield from _finish(store, finishing, updates, instant)
    yield promote
    yield from examine(store.dialect, now, freed, like=[t.rules for t in finishing])
    closed = (yield store.dialect.statement("rules", kinds=["breaker", "pause"])).rows
    return verdicts, instant, closed


def _begin(
    store: PostgresStore,
    finishing: Sequence[Transition],
    updates: Sequence[Update],
    promote: Statement,
    now: int | None,
) -> Operations[Begun]:
    """Do all of it in one trip, but for lines and jobs that take more than that."""
    dialect = store.dialect
    lock, lines = dialect.statement("admit_lock", now=now), dialect.statement("admit_lines", **BOUNDS)
    read = [dialect.statement("admit_look"), dialect.statement("rules", kinds=["breaker", "pause"]), lock]
    asked = [*give_back(dialect, finishing), promote, lines, *read]
    verdicts, results = yield from plain.finish_operations(dialect, finishing, updates, asked, [lock])
    look, closed, instants = (result.rows for result in results[-len(read) :])
    if look:
        yield from examine(dialect, now, like=map(_RULES, finishing))
    return verdicts, instants[0][0], closed


def ordered(jobs: list[Claimed], wants: Wants) -> list[Claimed]:
    """Return claimed jobs in the order of claims."""
    places = {queue: place for place, queue in enumerate(wants)}
    return sorted(jobs, key=lambda job: (places[job.queue], *_PLACE(job)))


def _take(
    store: PostgresStore, worker: str, wants: Wants, limit: int, now: int, instant: int
) -> Operations[list[Claimed]]:  # fmt: skip
    """Take jobs whose rates permit it, and those that these let pass."""
    jobs: list[Claimed] = []
    for _ in range(ROUNDS):
        statements = _taking(store, worker, wants, limit - len(jobs), now, "choose")
        chosen = (yield statements[0]).rows if statements else []
        if not chosen:
            break
        denied, freed = yield from charge(store.dialect, instant, [row for row in chosen if row[2]])
        seqs = [seq for seq, *_ in chosen if seq not in denied]
        if seqs:
            taken = yield store.dialect.statement(
                "claim_chosen", seqs=seqs, worker=worker, now=instant
            )  # when it was charged
            jobs += map(_claimed, taken.rows)
        moved = (yield from examine(store.dialect, store.engine_now(now), freed)) if freed else 0
        if not moved and not denied:
            break
    return jobs


# finishing ------------------------------------------------------------------------------------------------------------
def finish(store: PostgresStore, transitions: Sequence[Transition], updates: Sequence[Update]) -> list[str]:
    """Write updates and outcomes, and examine the jobs that these let pass."""
    store.ruled = True
    return store.write(lambda: _finish_alone(store, transitions, updates), by_worker=True)


def _finish_alone(
    store: PostgresStore, transitions: Sequence[Transition], updates: Sequence[Update]
) -> Operations[list[str]]:  # fmt: skip
    at = store.engine_now(transitions[0].at)
    (instant,) = (yield store.dialect.statement("admit_lock", now=at)).rows[0]
    verdicts, freed = yield from _finish(store, transitions, updates, instant)
    yield from examine(store.dialect, at, freed, like=[t.rules for t in transitions])
    return verdicts


def _finish(
    store: PostgresStore, transitions: Sequence[Transition], updates: Sequence[Update], now: int
) -> Operations[tuple[list[str], set[str]]]:  # fmt: skip
    """Write updates and outcomes; return the verdicts, and the slots that may have room now."""
    write = plain.finish_in_turn if plain.named_twice(transitions) else plain.finish_operations
    verdicts, _ = yield from write(store.dialect, transitions, updates, ())
    applied = [t for t, verdict in zip(transitions, verdicts, strict=True) if verdict == STORED]
    return verdicts, (yield from finished(store.dialect, applied, now))
