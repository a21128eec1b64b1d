"""Claiming: the hot path of a worker. Outcomes are written in the same transaction (`finish.py`)."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import suppress
from functools import cache, partial
from itertools import chain, repeat
from typing import TYPE_CHECKING

from ...core.errors import LeaseLost
from ...core.job import Claimed, field_getter
from ...core.rules import EXAMINE
from ..results import Claims
from ..turns import FULL, may_postpone, may_wait
from .finish import RULED, write_outcomes
from .sql import load, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from ...core.decide import Transition
    from ...core.updates import Update
    from .lines import Lines
    from .store import SqliteStore

    Columns = dict[str, Sequence[Any]]


MARK = "\x1e"  # between joined texts: JSON has no such character, nor has a sane name
PROMOTED = 500  # due jobs queued by one claim; the rest follow with the next
ROUNDS = 100  # times that one claim looks again: what it started lets others pass, and rates deny some
GROUP = 64  # lanes merged by one statement: the time grows faster than their number
DIRECT = 8  # a worker with up to this many lanes walks all of them; others first find those in which jobs wait

# The columns of `Claimed` as a claim reads them, before it changes the rows. The others are the same for all its jobs.
_NULLABLE = {name: f"coalesce({name}, 'null')" for name in ("timeout", "keep")}
_JSON = {name: f"CASE WHEN {name} IS NULL THEN 'null' ELSE json_quote({name}) END" for name in ("backoff", "rules")}
NUMBERS = {
    "attempt": "attempt + 1", "max_attempts": "max_attempts", "crashes": "crashes", "token": "token + 1",
    "created_at": "created_at", "rank": "-j.priority", "ord": "j.ord", "seq": "j.seq", "version": "version", **_NULLABLE, **_JSON,
}  # fmt: skip
_TEXT = {
    "id": "j.id", "type": "j.type", "queue": "queue",
    "payload": "coalesce((SELECT payload FROM mainstay_body WHERE job = j.seq), '')", "waits": "waits",
}  # fmt: skip
OF_QUEUE, IN_LINE = ("id", "type", "payload"), ("id", "type", "payload", "queue", "waits")
_PLACE = field_getter(Claimed, "rank", "ord", "seq")


def claim(
    store: SqliteStore, worker: str, wants: Mapping[str, Sequence[str]], limit: int, now: int,
    finishing: Sequence[Transition] = (), updates: Sequence[Update] = (),
) -> Claims:  # fmt: skip
    """Write updates and outcomes, promote due jobs and claim in one transaction."""

    def work(connection: sqlite3.Connection) -> Claims:
        store.db.works()
        if connection.execute(load("claim_lease"), {"worker": worker, "now": store.lease_now(now)}).fetchone() is None:
            raise LeaseLost(f"worker {worker} is not registered, or its lease ran out")
        verdicts, freed = write_outcomes(connection, finishing, updates)
        connection.execute(load("promote"), {"now": now, "limit": PROMOTED})
        lines = _merging(store, connection, wants, limit, now, finishing, freed) if freed else None
        jobs = _take_open(connection, worker, wants, limit, now, lines)
        look, due = False, None
        if len(jobs) < limit and not freed:
            look, due = connection.execute(_look_and_due()).fetchone()
            store.examined_at = now
        if freed or look or limit <= 0:  # a claim of nothing promotes and examines
            jobs = _take_more(store, connection, worker, wants, limit, now, finishing, freed, jobs, lines)
            due = None if len(jobs) == limit else connection.execute(load("claim_next_due")).fetchone()[0]
        return Claims(verdicts, jobs, None if due is None else due - now)

    return store.db.write(work)


@cache
def _look_and_due() -> str:
    """Return the statement that tells whether blocked jobs or lines are to be examined, and when the next job is due."""
    from .dialect import DIALECT

    return f"SELECT ({DIALECT.text('admit_look')}), ({load('claim_next_due')})"


def _merging(
    store: SqliteStore, connection: sqlite3.Connection, wants: Mapping[str, Sequence[str]], limit: int, now: int,
    finishing: Sequence[Transition], freed: set[str],
) -> Lines | None:  # fmt: skip
    """Keep slots that were given back; return their lines if this claim takes the first of them with the queued jobs (`turns`)."""
    if limit < FULL or may_postpone(store, limit, now) or not _plain(connection, freed):
        return None
    from .lines import Lines

    lines = Lines(store, connection, wants, now, map(RULED, finishing))
    lines.keep(freed)
    return lines


def _plain(connection: sqlite3.Connection, freed: set[str]) -> bool:
    """Return whether only lines are to be looked at, and no lane is closed."""
    return EXAMINE not in freed and not connection.execute(load("admit_marked")).fetchone()


def _take_more(
    store: SqliteStore, connection: sqlite3.Connection, worker: str, wants: Mapping[str, Sequence[str]], limit: int, now: int,
    finishing: Sequence[Transition], freed: set[str], jobs: list[Claimed], lines: Lines | None,
) -> list[Claimed]:  # fmt: skip
    """Examine the lines of slots that were given back, and take what that lets in; or keep them for later (`turns`)."""
    from .dialect import DIALECT
    from .lines import Lines

    full = may_wait(store, len(jobs), limit, now)
    if not full and not freed and not connection.execute(DIALECT.text("admit_look")).fetchone():
        return jobs
    if lines is None:
        lines = Lines(store, connection, wants, now, map(RULED, finishing))
        lines.keep(freed)
    if full:
        return jobs
    if len(jobs) >= limit > 0:
        lines.examine_rest(jobs[-1])
        return jobs
    found, undecided = [jobs] if jobs else [], True
    if limit > 0 and _plain(connection, freed):
        found += [_given(connection, worker, wants, now, columns) for columns in lines.take(limit - len(jobs))]
        undecided = not lines.decided
    if undecided and _examine(connection, now, freed, finishing):
        found.append(_take_open(connection, worker, wants, limit - sum(map(len, found)), now))
    return _ordered([*chain.from_iterable(found)], wants) if len(found) > 1 else next(iter(found), [])


def _take(
    connection: sqlite3.Connection, worker: str, wants: Mapping[str, Sequence[str]], limit: int, now: int,
    lines: Lines | None = None,
) -> list[Claimed]:  # fmt: skip
    """Take queued jobs; if there are as many as wanted, with those in line that come before the last of them."""
    jobs: list[Claimed] = []
    for _ in range(ROUNDS):
        columns = _first(connection, _lanes(connection, wants), limit - len(jobs))
        if not columns:
            break
        if lines is not None and len(columns["seq"]) == limit:
            columns = lines.merge(columns)
        if not any(columns["rules"]):
            return jobs + _given(connection, worker, wants, now, columns)
        taken, more = _take_ruled(connection, worker, wants, now, columns)
        jobs += taken
        if not more or len(jobs) >= limit:
            break
    return jobs


def _given(
    connection: sqlite3.Connection,
    worker: str,
    wants: Mapping[str, Sequence[str]],
    now: int,
    columns: Columns,
) -> list[Claimed]:
    chosen = {"worker": worker, "now": now, "seqs": str(columns["seq"])}  # a list of numbers is JSON
    connection.execute(load("claim"), chosen)
    jobs = _claimed(columns, {"started_at": now, "cancelling": False, "worker": worker})
    return jobs if len(wants) == 1 else _ordered(jobs, wants)


def _ordered(jobs: list[Claimed], wants: Mapping[str, Sequence[str]]) -> list[Claimed]:
    places = {queue: place for place, queue in enumerate(wants)}
    return sorted(jobs, key=lambda job: (places[job.queue], *_PLACE(job)))


def _take_ruled(
    connection: sqlite3.Connection, worker: str, wants: Mapping[str, Sequence[str]], now: int,
    columns: Columns,
) -> tuple[list[Claimed], bool]:  # fmt: skip
    """Take jobs of which some have rules: their rates are charged. Return them, and whether others may be taken now."""
    from ..sql.admission import charge
    from .dialect import DIALECT

    ruled = [
        (seq, ord, text)
        for seq, ord, text in zip(columns["seq"], columns["ord"], columns["rules"], strict=True)
        if text
    ]
    denied, freed = run(connection, charge(DIALECT, now, ruled))
    if denied:
        keep = [n for n, seq in enumerate(columns["seq"]) if seq not in denied]
        columns = {name: [column[n] for n in keep] for name, column in columns.items()}
    jobs = _given(connection, worker, wants, now, columns) if columns["seq"] else []
    moved = freed and _examine(connection, now, freed)
    return jobs, bool(moved or denied)


def _take_open(
    connection: sqlite3.Connection, worker: str, wants: Mapping[str, Sequence[str]], limit: int, now: int,
    lines: Lines | None = None,
) -> list[Claimed]:  # fmt: skip
    """Take jobs from the lanes that are neither paused nor at rest, and one of each type that may be tried again."""
    closed = connection.execute(load("claim_closed")).fetchall()
    if not closed:
        return _take(connection, worker, wants, limit, now, lines)
    from ...core.breaker import open_lanes, probed
    from ..sql.breaker import put_rule, rule_of
    from .dialect import DIALECT

    lanes = open_lanes(wants, map(rule_of, closed), now)
    jobs: list[Claimed] = []
    for rule, lane in lanes.probes:
        found = _take(connection, worker, lane, min(1, limit - len(jobs)), now)
        if found:
            statement = put_rule(DIALECT, probed(rule, now))
            connection.execute(statement.text, statement.values)
        jobs += found
    return jobs + _take(connection, worker, lanes.wants, limit - len(jobs), now)


def _examine(connection: sqlite3.Connection, now: int, freed: set[str], by: Sequence[Transition] = ()) -> int:
    from ..sql.admission import examine
    from .dialect import DIALECT

    return run(connection, examine(DIALECT, now, freed, like=map(RULED, by)))


def _lanes(connection: sqlite3.Connection, wants: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
    """Return what is wanted, without the lanes in which no job waits if there are many."""
    if sum(map(len, wants.values())) <= DIRECT:
        return wants
    waiting: dict[str, list[str]] = {}
    for queue, type in connection.execute(load("claim_lanes"), {"queues": json.dumps(list(wants))}):
        waiting.setdefault(queue, []).append(type)
    sets: dict[int, set[str]] = {}  # most workers want the same types of every queue: one set for all
    found = {}
    for queue, names in wants.items():
        if queue in waiting:
            known = sets.get(id(names)) or sets.setdefault(id(names), set(names))
            found[queue] = [type for type in waiting[queue] if type in known]
    return found


def _first(connection: sqlite3.Connection, lanes: Mapping[str, Sequence[str]], limit: int) -> Columns:
    """Return what a worker needs to know of the first jobs, queue by queue: a list per column; none if no job waits."""
    found: Columns = {}
    for queue, types in lanes.items():
        left = limit - len(found["seq"]) if found else limit
        if left > 0 and types:
            columns, complete = _first_of_queue(connection, queue, list(dict.fromkeys(types)), left)
            found = joined(found, columns)
            if not complete:
                break
    return found


def _first_of_queue(connection: sqlite3.Connection, queue: str, types: list[str], limit: int) -> tuple[Columns, bool]:
    """Return the same of one queue, and whether these are all that were asked for: of large jobs they are fewer."""
    columns = None
    if len(types) <= GROUP:  # nearly always: one statement
        with suppress(sqlite3.DataError):
            columns = read(connection, *_group(queue, types, limit, first_of), OF_QUEUE)
    complete = columns is not None
    if columns is None:
        seqs = _merged(connection, queue, types, limit)
        columns = read_numbered(connection, seqs, OF_QUEUE) if seqs else {}
        complete = not seqs or len(columns["seq"]) == len(seqs)
    return columns and {**columns, "queue": [queue] * len(columns["seq"])}, complete


def _merged(connection: sqlite3.Connection, queue: str, types: list[str], limit: int) -> list[str]:
    """Return the numbers of the first jobs of many lanes of a queue, which are read in groups and merged here."""
    places: list[str] = []
    for start in range(0, len(types), GROUP):
        (found,) = connection.execute(*_group(queue, types[start : start + GROUP], limit, places_of)).fetchone()
        places += found.split(",") if found else []
    first = sorted(tuple(map(int, place.split())) for place in places)[:limit]
    return [str(seq) for _, _, seq in first]


def _group(queue: str, types: list[str], limit: int, text: Callable[[int], str]) -> tuple[str, tuple[Any, ...]]:
    """Return a text about the first jobs of some lanes of a queue, and what it is bound to."""
    arms = len(types) if len(types) <= DIRECT else 1 << (len(types) - 1).bit_length()  # few texts to prepare
    return text(arms), (limit, queue, *types, *(None,) * (arms - len(types)))


@cache
def first_of(arms: int) -> str:
    """Return what selects the first jobs of so many lanes."""
    arm = "SELECT priority, ord, seq FROM mainstay_job WHERE state = 'queued' AND queue = ?2 AND type = ?"
    lanes = " UNION ALL ".join(f"{arm}{number}" for number in range(3, 3 + arms))
    return f"({lanes} ORDER BY 1 DESC, 2, 3 LIMIT ?1)"


def places_of(arms: int) -> str:
    """Return the statement `claim_first` for so many lanes."""
    return load("claim_first").replace("{jobs}", first_of(arms))


def read(
    connection: sqlite3.Connection, jobs: str, bound: tuple[Any, ...], names: tuple[str, ...], mark: str = MARK
) -> Columns | None:
    """Return a list per column of the jobs that a statement selects; None if the mark is in a text."""
    from ...core.codec import load_plain

    numbers, *texts = connection.execute(reading(jobs, names, mark), bound).fetchone()
    if numbers is None:
        return {}
    found = [*load_plain(numbers), *(text.split(mark) for text in texts)]
    if any(len(column) != len(found[0]) for column in found):
        return None
    return dict(zip((*NUMBERS, *names), found, strict=True))


def read_numbered(connection: sqlite3.Connection, seqs: list[str], names: tuple[str, ...], mark: str = MARK) -> Columns:
    """Return a list per column of these jobs, in any order; of fewer jobs if they are large."""
    try:
        found = read(connection, "(SELECT value AS seq FROM json_each(?))", (f"[{','.join(seqs)}]",), names, mark)
    except sqlite3.DataError:  # more text than SQLite can join
        if len(seqs) == 1:
            raise
        return read_numbered(connection, seqs[: len(seqs) // 2], names)
    return read_numbered(connection, seqs, names, os.urandom(16).hex()) if found is None else found


def joined(one: Columns, other: Columns) -> Columns:
    """Return the jobs of both, which may be none."""
    return {name: [*one[name], *other[name]] for name in one} if one and other else one or other


def only(columns: Columns, places: Iterable[int]) -> Columns:
    """Return the jobs at these places of the lists; none if there are no places."""
    chosen = list(places)
    return {name: [column[place] for place in chosen] for name, column in columns.items()} if chosen else {}


@cache
def reading(jobs: str, names: tuple[str, ...], mark: str = MARK) -> str:
    """Return the statement `claim_rows` with these jobs and texts."""
    numbers = " || '],[' || ".join(f"group_concat({number})" for number in NUMBERS.values())
    texts = ", ".join(f"group_concat({_TEXT[name]}, '{mark}')" for name in names)
    return load("claim_rows").replace("{numbers}", numbers).replace("{texts}", texts).replace("{jobs}", jobs)


def _claimed(columns: Columns, same: dict[str, Any]) -> list[Claimed]:
    """Return the jobs just claimed, in the order of their queue, which no aggregate promises."""
    rows = zip(*(columns[name] if name in columns else repeat(same[name]) for name in Claimed._fields), strict=False)
    return sorted(map(partial(tuple.__new__, Claimed), rows), key=_PLACE)


def finish(store: SqliteStore, transitions: Sequence[Transition], updates: Sequence[Update] = ()) -> list[str]:
    """Apply transitions; return a verdict for each."""

    def work(connection: sqlite3.Connection) -> list[str]:
        verdicts, freed = write_outcomes(connection, transitions, updates)
        if freed:
            _let_in(store, connection, transitions, freed)
        return verdicts

    return store.db.write(work)


def _let_in(
    store: SqliteStore, connection: sqlite3.Connection, transitions: Sequence[Transition], freed: set[str]
) -> None:
    """Queue the first jobs in line at slots that were given back without a claim."""
    from .lines import Lines

    lines = Lines(store, connection, None, transitions[0].at, map(RULED, transitions))
    if _plain(connection, freed):
        lines.keep(freed)
        freed = set()
        if not lines.queue():
            return
    _examine(connection, transitions[0].at, freed, transitions)
