"""Search on SQLite and PostgreSQL: one statement, built at run time from the fixed pieces below; every value is bound.

One term that has an index is the path: it selects the candidates, newest first. The other terms are checked job by job, and
only in a window of the newest candidates, so that no search reads the whole history. A page that ends at the edge of the
window says so, and its `after` continues from there.

The pieces are spelled as PostgreSQL spells them, with `?` for a value, SQLite's `INDEXED BY`, and `{name}` for what the
dialect of the engine gives.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from ...core import ids, states
from ...core.search_terms import Page, is_number, possible_id, reference_range, validate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ...core.search_terms import Term
    from ..operations import Operations
    from .dialect import Dialect
    from .store import SqlStore

    Sql = tuple[str, tuple[Any, ...]]

WINDOW = 100_000
PROBE = 2_000  # rows counted of each path: enough to tell a narrow one from a wide one
DIGITS = 15  # of a number that every engine compares exactly; a longer one needs `{difference}`
LANE_INDEX = "mainstay.job_lane"

# The condition of each label, and the index of those that have one. The others are checked job by job.
LABELS = {state: f"j.state = '{state}'" for state in states.STATES} | {
    "retrying": "j.state = 'scheduled' AND j.attempt > 0",
    "cancelling": "j.state = 'running' AND j.cancel_at IS NOT NULL",
}
INDEXES = {
    "queued": LANE_INDEX, "scheduled": "mainstay.job_due", "retrying": "mainstay.job_due",
    "running": "mainstay.job_running", "cancelling": "mainstay.job_running", "review": "mainstay.job_review",
    "dead": "mainstay.job_dead",
}  # fmt: skip
OVERLAPS = ({"scheduled", "retrying"}, {"running", "cancelling"})
COLUMNS = {"created": "created_at", "finished": "finished_at"}  # of a field; the others have its name
# The fields with an index of their values, the usually narrow ones first.
SELECTS = {
    "id": "SELECT {number} AS seq FROM {indexed_ids} WHERE id >= ?::text AND id < ?::text",
    "key": "SELECT job AS seq FROM mainstay.body WHERE key = ?::text",
    "ref": "SELECT job AS seq FROM mainstay.body WHERE ref = ?::text",
    "code": "SELECT DISTINCT job AS seq FROM mainstay.attempt WHERE code = ?::text",
    "parent": "SELECT job AS seq FROM mainstay.body WHERE parent >= ?::text AND parent < ?::text",
    "fingerprint": "SELECT seq FROM mainstay.job INDEXED BY mainstay.job_dead WHERE state = 'dead' AND fingerprint >= ?::text AND fingerprint < ?::text",
    "tag": "SELECT job AS seq FROM mainstay.tag WHERE tag = ?::text",
    "schedule": "SELECT job AS seq FROM mainstay.body WHERE schedule = ?::text",
    "tenant": "SELECT job AS seq FROM mainstay.body WHERE tenant = ?::text",
}

# The tables of the candidates. A search leaves PostgreSQL the choice how to join them; jobs given by number are looked up one by one.
JOINED = (" {join} mainstay.job j ON j.seq = c.seq", " {join} mainstay.body b ON b.job = c.seq")
LOOKED_UP = (" {look_up_job}", " {look_up_body}")


class Path(NamedTuple):
    """A way to the candidates: a select of `seq`, and the terms that it covers, which need no check."""

    sql: str
    values: tuple[Any, ...]
    covers: tuple[Term, ...]


NEWEST = Path("SELECT j.seq FROM mainstay.job j", (), ())


def search(store: SqlStore, terms: Sequence[Term], limit: int, after: str | None, now: int) -> Page:
    """Return the ids of the jobs for which every term holds, newest first."""
    return store.browse(lambda: search_operations(store.dialect, terms, limit, after, now))


def search_operations(
    dialect: Dialect, terms: Sequence[Term], limit: int, after: str | None, now: int
) -> Operations[Page]:
    """As `search`, on whichever connection."""
    validate(terms, limit)
    if terms and dialect.search_settings:
        yield dialect.search_settings
    terms = yield from _with_ids(dialect, terms)
    path = yield from _choose(dialect, _paths(terms))
    checks = [check(term, now) for term in terms if term not in path.covers]
    below = yield from _below(dialect, after)
    floor = (yield from _floor(dialect, path, below)) if checks else None
    found = yield dialect.built(_selected(dialect, path, [*checks, *_bounds(below, floor)], limit + 1))
    return (yield from _page(dialect, [row[0] for row in found.rows], limit, floor))


def count(store: SqlStore, terms: Sequence[Term], now: int, after: str | None = None) -> dict[str, int]:
    """Return how many jobs match, by type: one statement reads the rows that it counts, and no more of them than it checks."""
    return store.browse(lambda: _count(store.dialect, terms, now, after))


def _count(dialect: Dialect, terms: Sequence[Term], now: int, after: str | None) -> Operations[dict[str, int]]:
    validate(terms, 1)
    if dialect.search_settings:
        yield dialect.search_settings
    terms = yield from _with_ids(dialect, terms)
    path = yield from _choose(dialect, _paths(terms))
    below = yield from _below(dialect, after)
    checks = [check(term, now) for term in terms if term not in path.covers]
    candidates, values = _candidates(dialect, path, [("j.seq = c.seq", ()), *checks, *_bounds(below)])
    found = yield dialect.built((f"SELECT j.type, count(*) {candidates} GROUP BY j.type", values))
    return dict(found.rows)


def matching(dialect: Dialect, seqs: Sequence[int], terms: Sequence[Term], now: int) -> Operations[set[str]]:
    """Return the ids of those of these jobs for which every term holds."""
    terms = yield from _with_ids(dialect, terms)
    path = Path("{seqs}", (json.dumps(seqs),), ())
    checks = [check(term, now) for term in terms]
    found = yield dialect.built(_selected(dialect, path, checks, len(seqs), LOOKED_UP))
    return {row[0] for row in found.rows}


def _page(dialect: Dialect, found: list[str], limit: int, floor: int | None) -> Operations[Page]:
    after = found[limit - 1] if len(found) > limit else None
    if after is None and floor is not None:
        there = "SELECT min(j.seq) AS seq FROM mainstay.job j WHERE j.seq >= ?::bigint"  # `floor` itself may be deleted
        edge = yield dialect.built((_ids_of(there), (floor,)))
        after = edge.rows[0][0] if edge.rows else None
    return Page(tuple(found[:limit]), after, None if floor is None else WINDOW)


def _selected(dialect: Dialect, path: Path, checks: list[Sql], limit: int, tables: tuple[str, str] = JOINED) -> Sql:
    """Select the candidates of the path that pass the checks, the newest `limit` of them, and only then their ids."""
    candidates, values = _candidates(dialect, path, checks, tables)
    return _ids_of(f"SELECT c.seq {candidates} ORDER BY c.seq DESC LIMIT ?::bigint"), (*values, limit)


def _candidates(dialect: Dialect, path: Path, checks: list[Sql], tables: tuple[str, str] = JOINED) -> Sql:
    """Return the candidates of the path that pass the checks, from FROM on; with `j` and `b` where the checks name them."""
    where, values = joined(" AND ", checks) if checks else ("true", ())
    where = dialect.fill(where)
    job, body = tables
    joins = job * ("j." in where) + body * ("b." in where)
    return f"FROM ({path.sql}) c{joins} WHERE {where}", (*path.values, *values)


def _ids_of(selected: str) -> str:
    return f"{{ids_of}} ({selected}) {{newest_first}}"


def _bounds(below: int | None, floor: int | None = None) -> list[Sql]:
    bounds: list[Sql] = [] if below is None else [("c.seq < ?::bigint", (below,))]
    return bounds if floor is None else [*bounds, ("c.seq >= ?::bigint", (floor,))]


def _floor(dialect: Dialect, path: Path, below: int | None) -> Operations[int | None]:
    """Return the last candidate inside the window; None if all candidates are inside."""
    where, values = next(iter(_bounds(below)), ("true", ()))
    sql = f"SELECT c.seq FROM ({path.sql}) c WHERE {where} ORDER BY c.seq DESC LIMIT 2 OFFSET ?::bigint"  # noqa: S608
    edge = yield dialect.built((sql, (*path.values, *values, WINDOW - 1)))
    return edge.rows[0][0] if len(edge.rows) == 2 else None


def _below(dialect: Dialect, after: str | None) -> Operations[int | None]:
    """Return the seq below which a page starts. If the job `after` was deleted, it starts at the next older one."""
    if after is None:
        return None
    sql = "SELECT {number}, id FROM {indexed_ids} WHERE id <= ?::text ORDER BY id DESC LIMIT 1"
    found = yield dialect.built((sql, (after,)))
    if not found.rows:
        return 0
    seq: int = found.rows[0][0]
    return seq if found.rows[0][1] == after else seq + 1


def _with_ids(dialect: Dialect, terms: Sequence[Term]) -> Operations[list[Term]]:
    """Return the terms, with the word that begins the id of a job as a term for that id: it has an index."""
    found = []
    for term in terms:
        word = possible_id(term)
        if word is not None:
            there = yield dialect.built((f"{SELECTS['id']} LIMIT 1", _range(word)))
            term = term._replace(field="id", op="=", values=(word,)) if there.rows else term  # noqa: PLW2901
        found.append(term)
    return found


# Paths ----------------------------------------------------------------------------------------------------------------


def _choose(dialect: Dialect, paths: list[Path]) -> Operations[Path]:
    """Return the path with the fewest candidates, counted up to `PROBE`."""
    if len(paths) < 2:
        return paths[0] if paths else NEWEST
    sizes = []
    for path in paths:
        sql = f"SELECT count(*) FROM (SELECT 1 FROM ({path.sql}) c LIMIT {PROBE}) seen"  # noqa: S608
        found = yield dialect.built((sql, path.values))
        sizes.append(found.rows[0][0])
    return paths[sizes.index(min(sizes))]


def _paths(terms: Sequence[Term]) -> list[Path]:
    """Return the paths of the terms that have an index, the usually narrow ones first."""
    asked = [term for term in terms if not term.negated]
    paths = [_values(term) for name in SELECTS for term in asked if term.field == name]
    types, queues = (tuple(term for term in asked if term.field == name) for name in ("type", "queue"))
    paths += [
        _states(term, (*types, *(queues if {*term.values} == {"queued"} else ())))
        for term in asked
        if term.field == "state" and INDEXES.keys() >= {*term.values}
    ]
    return paths + [_finished(term) for term in asked if term.field == "finished"]


def _values(term: Term) -> Path:
    """One select for each value. Tags, codes, and prefixes that overlap, can select a job twice."""
    selects = [_select(term.field, value) for value in dict.fromkeys(term.values)]
    once = term.field == "key"
    return Path(*joined(" UNION ALL " if once else " UNION ", selects, "{}"), (term,))


def _select(field: str, value: object) -> Sql:
    if field in {"id", "parent", "fingerprint"}:
        return SELECTS[field], _range(value)
    of_type = reference_range(value) if field in {"ref", "tenant"} else None
    return (SELECTS["parent"].replace("parent", field), of_type) if of_type else (SELECTS[field], (value,))


def _states(term: Term, held: tuple[Term, ...]) -> Path:
    """Jobs in these states, for which what their indexes hold is so: of all the type, and of queued ones the queue."""
    selects = []
    for label in dict.fromkeys(map(str, term.values)):
        where, values = joined(" AND ", [(LABELS[label], ()), *(check(each, 0) for each in held)])
        selects.append((f"SELECT j.seq FROM mainstay.job j INDEXED BY {INDEXES[label]} WHERE {where}", values))  # noqa: S608
    overlap = any(labels <= {*term.values} for labels in OVERLAPS)
    return Path(*joined(" UNION " if overlap else " UNION ALL ", selects, "{}"), (term, *held))


def _finished(term: Term) -> Path:
    where, values = joined(" AND ", [("j.finished_at IS NOT NULL", ()), check(term, 0)])
    return Path(f"SELECT j.seq FROM mainstay.job j INDEXED BY mainstay.job_finished WHERE {where}", values, (term,))  # noqa: S608


# Checks ---------------------------------------------------------------------------------------------------------------

# `= ANY (ARRAY[j.seq])` reads the rows of one candidate by index. For `= j.seq` PostgreSQL may read and hash the whole table.
OF_ATTEMPT = "EXISTS (SELECT 1 FROM mainstay.attempt a WHERE a.job = ANY (ARRAY[j.seq]) AND {})"
# A backslash would depend on standard_conforming_strings. Whatever the database's locale is, it folds the case of ASCII only.
LIKE = "{} COLLATE \"C\" ILIKE ?::text ESCAPE '!'"
ERROR = f"{LIKE.format('j.reason')} OR {OF_ATTEMPT.format(LIKE.format('a.error'))}"


def check(term: Term, now: int) -> Sql:
    """Return the condition that a term puts on job `j` and body `b`: one of its values holds."""
    sql, values = joined(" OR ", [_holds(term, value, now) for value in _alternatives(term)])
    return (f"NOT coalesce({sql}, false)" if term.negated else sql), values


def _alternatives(term: Term) -> Iterable[Any]:
    """The values of a term; those of an instant with "=" are pairs: from (included), until (excluded)."""
    if term.field in {"created", "finished"} and term.op == "=":
        return zip(term.values[::2], term.values[1::2], strict=True)
    return term.values


def joined(word: str, parts: Sequence[Sql], form: str = "({})") -> Sql:
    """Return the parts with a word between them, and their values."""
    return word.join(form.format(sql) for sql, _ in parts), tuple(value for _, values in parts for value in values)


def _range(value: object) -> tuple[str, str]:
    """Return from and until of every id that begins so: each character of an id sorts below the tilde."""
    return str(value), f"{value}~"


def _like(text: str) -> str:
    return "%" + text.replace("!", "!!").replace("%", "!%").replace("_", "!_") + "%"


def _holds(term: Term, value: Any, now: int) -> Sql:
    """Return the condition that one value puts on a job."""
    if term.field == "state":
        return LABELS[value], ()
    if term.field == "args":
        return _args(term, value)
    star = {"type": "*", "queue": "*", "ref": "/*", "tenant": "/*"}.get(term.field)
    wide = type(value) is tuple or (star is not None and value.endswith(star))
    sql, values = WIDE[term.field] if wide else CHECKS[term.field]
    column = COLUMNS.get(term.field, term.field)
    return sql.format(f"{{{column}}}", term.op), values(value, now)


def _args(term: Term, value: str) -> Sql:
    """The value at a path in the payload, as text and, if it spells one, as a number, true, false or null.

    Only numbers are less or more than a number. A payload that the engine cannot parse never matches.
    """
    numeric, path = is_number(value), term.path
    kinds: list[Sql] = []
    if term.op == "=" or not numeric:
        kinds.append((f"{{json_type}} IN ('text', 'string') AND {{json_value}} {term.op} ?::text", (path, path, value)))
    if numeric:
        exact = len(value) > DIGITS
        found = f"{{difference}} {term.op} 0" if exact else f"{{json_value}}::numeric {term.op} ?::numeric"
        number = f"CASE WHEN {{json_type}} IN ('integer', 'real', 'number') THEN {found} END"
        kinds.append((number, (path, path, value)))
    if term.op == "=" and value in {"true", "false", "null"}:
        kinds.append(("{json_literal} = ?::text", (path, value)))
    sql, values = joined(" OR ", kinds)
    return f"CASE WHEN {{json_valid}} THEN {sql} END", values


# The condition by field, over the field's column {0} and the operator {1}, and what is bound, made of a value and the present.
Checks = dict[str, tuple[str, "Callable[[Any, int], tuple[Any, ...]]"]]
CHECKS: Checks = {
    **dict.fromkeys(
        ("key", "ref", "tenant", "schedule", "type", "queue"), ("{0} = ?::text", lambda value, _: (value,))
    ),
    **dict.fromkeys(("id", "parent"), ("{0} >= ?::text AND {0} < ?::text", lambda value, _: _range(value))),
    "fingerprint": (  # of a dead job: one that was retried keeps that of its last death
        "j.state = 'dead' AND {0} >= ?::text AND {0} < ?::text",
        lambda value, _: _range(value),
    ),
    **dict.fromkeys(("created", "finished"), ("{0} {1} ?::bigint", lambda value, _: (value,))),
    # Numeric, so that the value may be any number.
    **dict.fromkeys(("priority", "attempt"), ("{0}::numeric {1} ?::numeric", lambda value, _: (value,))),
    "tag": (
        "EXISTS (SELECT 1 FROM mainstay.tag t WHERE t.tag = ?::text AND t.job = ANY (ARRAY[j.seq]))",
        lambda value, _: (value,),
    ),
    # Claimed by a worker whose name begins so, now or in a recorded attempt.
    "worker": (
        f"starts_with(j.worker, ?::text) OR {OF_ATTEMPT.format('starts_with(a.worker, ?::text)')}",
        lambda value, _: (value, value),
    ),
    # The duration of the last attempt; a running one counts until now.
    "took": (
        "CASE j.state WHEN 'running' THEN ?::bigint ELSE j.finished_at END - j.started_at {1} ?::numeric",
        lambda value, now: (now, value),
    ),
    # Contained in the error of an attempt, or in the reason for the job's state.
    "error": (ERROR, lambda value, _: (_like(value),) * 2),
    "code": (OF_ATTEMPT.format("a.code = ?::text"), lambda value, _: (value,)),
    # The beginning of the id, or contained in the type or an error.
    "text": (
        f"{{{{id}}}} >= ?::text AND {{{{id}}}} < ?::text OR {LIKE.format('j.type')} OR {ERROR}",
        lambda value, _: (*_range(ids.normal(value)), *(_like(value),) * 3),
    ),
}
# The same for names that end with a star, which stands for every name that begins so, and for pairs of instants.
WIDE: Checks = {
    **dict.fromkeys(("type", "queue"), ("starts_with({0}, ?::text)", lambda value, _: (value[:-1],))),
    **dict.fromkeys(("created", "finished"), ("{0} >= ?::bigint AND {0} < ?::bigint", lambda value, _: value)),
    **dict.fromkeys(
        ("ref", "tenant"), ("{0} >= ?::text AND {0} < ?::text", lambda value, _: reference_range(value) or ())
    ),
}
