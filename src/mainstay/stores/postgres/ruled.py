"""Claims and outcomes of jobs with rules: one transaction under the lock of admission, of three trips where no rate is charged."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ...core.admission import Candidate, carried
from ...core.breaker import open_lanes, probed
from ...core.job import Claimed, field_getter
from ...core.rules import limit_of
from ...core.verdict import STORED
from ..contract import Claims
from ..operations import together
from ..sql.admission import AHEAD, MOST, charge, examine, finished, knowledge, limits_of, writes
from ..sql.breaker import put_rule, rule_of
from . import claim as plain, lanes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ...core.decide import Transition
    from ...core.updates import Update
    from ..operations import Operations, Statement
    from ..sql.dialect import Dialect
    from .lanes import Wants
    from .store import PostgresStore

    Begun = tuple[
        list[str], int, list[tuple[Any, ...]], list[Statement]
    ]  # verdicts, the instant, rules, what is to be written

_claimed = partial(tuple.__new__, Claimed)
_PLACE = field_getter(Claimed, "rank", "ord", "seq")
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
    begin = _begin if _simple(finishing) else _begin_in_turn
    verdicts, instant, closed, written = yield from begin(store, finishing, updates, promote, store.engine_now(now))
    opened = open_lanes(wants, map(rule_of, closed), instant)
    after = store.dialect.statement("claim_next", now=store.engine_now(now))
    jobs: list[Claimed] = []
    if not opened.probes:
        taking = _taking(store, worker, opened.wants, limit, now, "take_free")
        results = yield from together(*written, *taking, after)
        jobs, written = [_claimed(row) for row in results[-2].rows] if taking else [], []
        if jobs or not taking:
            return verdicts, ordered(jobs, wants), results[-1].rows[0]
    yield from together(*written)
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
def _simple(finishing: Sequence[Transition]) -> bool:
    """Return whether outcomes can be written in one trip: no job is named twice, has children or a breaker."""
    if len({t.seq for t in finishing}) != len(finishing) or plain.has_children(finishing):
        return False
    return not any('"breaker"' in t.rules for t in finishing if t.rules)


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
    return verdicts, instant, closed, []


def _begin(
    store: PostgresStore,
    finishing: Sequence[Transition],
    updates: Sequence[Update],
    promote: Statement,
    now: int | None,
) -> Operations[Begun]:
    """Do all of it in one trip; return the statements that write what was decided, for the next one."""
    dialect, like = store.dialect, [t.rules for t in finishing]
    holds = [(slot, t.seq) for t in finishing if t.rules for slot in carried(t.rules).limits]
    slots, limits = sorted({slot for slot, _ in holds}), limits_of([carried(text) for text in set(like) if text])
    lock = dialect.statement("admit_lock", now=now)
    asked = {
        "lock": [lock],
        "freed": [dialect.statement("finish_holds", **_columns(("slots", "jobs"), holds))] if holds else [],
        "promoted": [promote],
        "marked": [dialect.statement("admit_candidates", limit=MOST)],
        "rules": [dialect.statement("admit_rules", names=sorted(limits))],
        "held": [dialect.statement("admit_holders", slots=slots)] if holds else [],
        "heads": [_first_in_line(dialect, slots, limits)] if holds else [],
    }
    sent = [name for name, some in asked.items() if some]
    verdicts, results = yield from plain.finish_operations(
        dialect, finishing, updates, [asked[name][0] for name in sent], [lock]
    )
    found = {name: result.rows for name, result in zip(sent, results, strict=True)}
    instant, closed = found["lock"][0][0], [row for row in found["rules"] if row[0] != "limit"]
    jobs = [Candidate(*row) for row in found.get("heads", ())]
    if found["marked"] or not _limited_only(jobs, set(slots)):
        yield from examine(dialect, now, slots, like=like)
        return verdicts, instant, closed, []
    known = knowledge(
        instant, [carried(job.rules) for job in jobs], slots, {"rules": found["rules"], "held": found.get("held", [])}
    )
    known.learn(limits)
    known.examine(jobs)
    known.unread = {job.waits for job in jobs}
    statements = writes(dialect, known, jobs)
    if known.left():
        yield from together(*statements)
        yield from examine(dialect, now, known.left(), like=like)
        statements = []
    return verdicts, instant, closed, statements


def _columns(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> dict[str, list[Any]]:
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def _first_in_line(dialect: Dialect, slots: list[str], limits: dict[str, dict[str, Any]]) -> Statement:
    running = [limits[limit_of(slot)[0]]["running"] for slot in slots]
    return dialect.statement("admit_first", slots=slots, running=running, most=AHEAD)


def _limited_only(jobs: Sequence[Candidate], slots: set[str]) -> bool:
    """Return whether jobs have nothing but limits, and these are among some slots."""
    return all(
        each.rules.keys() <= {"limits"} and slots.issuperset(each.slots)
        for each in (carried(job.rules) for job in jobs)
    )


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
    twice = len({t.seq for t in transitions}) != len(transitions)
    write = plain.finish_in_turn if twice else plain.finish_operations
    verdicts, _ = yield from write(store.dialect, transitions, updates, ())
    applied = [t for t, verdict in zip(transitions, verdicts, strict=True) if verdict == STORED]
    return verdicts, (yield from finished(store.dialect, applied, now))
