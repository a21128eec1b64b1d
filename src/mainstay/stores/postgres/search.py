"""Search: the only SQL here that is put together at run time, from the fixed pieces below; every value is bound.

One term with an index drives: it names the candidates, newest first. What the index does not answer is checked job by
job, and only in a window of the newest candidates, so that no search reads the whole history. A page that ends at the
window's edge says so, and its `after` goes on from there. Values are bound as text, and cast where they are used.
"""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from ...core import ids, states
from ...core.errors import UsageError
from ...core.search_terms import Page
from ..operations import Statement

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...core.search_terms import Term
    from ..operations import Operations
    from .connect import Database
    from .sql import Statements

    Sql = tuple[str, tuple[Any, ...]]

WINDOW = 100_000
PROBE = 2_000  # enough to tell a narrow path from a wide one
PASTED = 10  # from this length on, a word that begins an id is taken to be one

# How each label is found. A state without an index of its own is checked job by job.
LABELS = {state: f"j.state = '{state}'" for state in states.STATES} | {
    "retrying": "j.state = 'scheduled' AND j.attempt > 0",
    "cancelling": "j.state = 'running' AND j.cancel_at IS NOT NULL",
}
INDEXED = {"queued", "scheduled", "retrying", "running", "cancelling", "review", "dead"}
COLUMNS = {
    "priority": "j.priority", "attempt": "j.attempt", "created": "b.created_at", "finished": "j.finished_at",
    "key": "b.key", "ref": "b.ref", "tenant": "b.tenant", "type": "j.type", "queue": "j.queue", "id": "b.id",
    "parent": "b.parent",
}  # fmt: skip
# How the values of a field are read; the others are texts.
NUMBERS = {"priority": "bigint", "attempt": "bigint", "created": "bigint", "finished": "bigint"}
# Searches differ too much for one plan to serve them all, so here the planner may look at values and statistics; but no
# search reads a table from end to end.
PLANNED = ("enable_bitmapscan", "enable_hashjoin", "enable_mergejoin", "enable_sort")
OPS = {"=": "=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_NUMBER = re.compile(r"-?\d{1,300}(\.\d{1,300})?", re.ASCII)


class Path(NamedTuple):
    """A way to the candidates: selects that answer `seq`, and the terms that need no further check."""

    sql: str
    values: tuple[Any, ...]
    covers: tuple[Term, ...]


NEWEST = Path("SELECT j.seq FROM mainstay.job j", (), ())


def search(db: Database, terms: Sequence[Term], limit: int, after: str | None, now: int) -> Page:
    """Ids of the jobs for which every term holds, newest first."""
    if limit < 1:
        raise UsageError(f"limit={limit}: a page holds at least one job")
    return db.run(lambda: _search(db.load, terms, limit, after, now))


def _search(load: Statements, terms: Sequence[Term], limit: int, after: str | None, now: int) -> Operations[Page]:
    if terms:
        yield Statement(
            "SELECT set_config(u.name, 'on', true), set_config('plan_cache_mode', 'force_custom_plan', true) "
            "FROM unnest($1::text[]) AS u(name)", (list(PLANNED),)
        )  # fmt: skip
    pasted = []
    for term in terms:
        meant = yield from _pasted(load, term)
        pasted.append(meant)
    path = yield from _choose(load, _paths(pasted))
    checks = [_check(term, now) for term in pasted if term not in path.covers]
    below = yield from _below(load, after)
    floor = (yield from _floor(load, path, below)) if checks else None
    found = yield _step(load, _statement(path, checks, below, floor, limit + 1))
    return (yield from _page(load, [row[0] for row in found.rows], limit, floor))


def _step(load: Statements, sql: Sql) -> Statement:
    """The pieces as one statement, its values numbered."""
    numbers = count(1)
    text = re.sub(r"\?", lambda _: f"${next(numbers)}", load.with_schema(sql[0]))
    return Statement(text, tuple(str(value) for value in sql[1]))


def _page(load: Statements, found: list[str], limit: int, floor: int | None) -> Operations[Page]:
    after = found[limit - 1] if len(found) > limit else None
    if after is None and floor is not None:
        edge = yield _step(load, ("SELECT id FROM mainstay.body WHERE job = ?::bigint", (floor,)))
        after = edge.rows[0][0] if edge.rows else None
    return Page(tuple(found[:limit]), after, None if floor is None else WINDOW)


def _statement(path: Path, checks: list[Sql], below: int | None, floor: int | None, limit: int) -> Sql:
    """The one statement: candidates by the path, the checks, the newest `limit` of them, and only then their ids."""
    checks = [*checks, *_bounds(below, floor)]
    joins = " JOIN mainstay.job j ON j.seq = c.seq" if any("j." in sql for sql, _ in checks) else ""
    joins += " JOIN mainstay.body b ON b.job = c.seq" if any("b." in sql for sql, _ in checks) else ""
    where = " AND ".join(f"({sql})" for sql, _ in checks) or "true"
    values = [value for _, bound in checks for value in bound]
    chosen = f"SELECT c.seq FROM ({path.sql}) c{joins} WHERE {where} ORDER BY c.seq DESC LIMIT ?::bigint"  # noqa: S608
    sql = f"SELECT b.id FROM ({chosen}) s JOIN mainstay.body b ON b.job = ANY (ARRAY[s.seq]) ORDER BY s.seq DESC"  # noqa: S608
    return sql, (*path.values, *values, limit)


def _bounds(below: int | None, floor: int | None) -> list[Sql]:
    bounds: list[Sql] = [] if below is None else [("c.seq < ?::bigint", (below,))]
    return bounds if floor is None else [*bounds, ("c.seq >= ?::bigint", (floor,))]


def _floor(load: Statements, path: Path, below: int | None) -> Operations[int | None]:
    """The last candidate inside the window; None when all of them are."""
    where, values = next(iter(_bounds(below, None)), ("true", ()))
    sql = f"SELECT c.seq FROM ({path.sql}) c WHERE {where} ORDER BY c.seq DESC LIMIT 2 OFFSET ?::bigint"  # noqa: S608
    edge = yield _step(load, (sql, (*path.values, *values, WINDOW - 1)))
    return edge.rows[0][0] if len(edge.rows) == 2 else None


def _below(load: Statements, after: str | None) -> Operations[int | None]:
    """Where the last page ended; when that job is gone meanwhile, where the next older one stands."""
    if after is None:
        return None
    sql = "SELECT job, id FROM mainstay.body WHERE id <= ?::text ORDER BY id DESC LIMIT 1"
    found = yield _step(load, (sql, (after,)))
    if not found.rows:
        return 0
    seq: int = found.rows[0][0]
    return seq if found.rows[0][1] == after else seq + 1


# Paths ----------------------------------------------------------------------------------------------------------------


def _choose(load: Statements, paths: list[Path]) -> Operations[Path]:
    """The path with the fewest candidates, as far as a short look at each can tell."""
    if len(paths) < 2:
        return paths[0] if paths else NEWEST
    sizes = []
    for path in paths:
        sql = f"SELECT count(*) FROM (SELECT 1 FROM ({path.sql}) c LIMIT {PROBE}) seen"  # noqa: S608
        found = yield _step(load, (sql, path.values))
        sizes.append(found.rows[0][0])
    return paths[sizes.index(min(sizes))]


def _paths(terms: Sequence[Term]) -> list[Path]:
    """Every path that a term offers, the usually narrow ones first."""
    asked = [term for term in terms if not term.negated]
    paths = [_values(term) for name in SELECTS for term in asked if term.field == name]
    types = tuple(term for term in asked if term.field == "type")
    paths += [_states(term, types) for term in asked if term.field == "state" and {*term.values} <= INDEXED]
    return paths + [_finished(term) for term in asked if term.field == "finished"]


SELECTS = {
    "id": "SELECT job AS seq FROM mainstay.body WHERE id >= ?::text AND id < ?::text",
    "key": "SELECT job AS seq FROM mainstay.body WHERE key = ?::text",
    "ref": "SELECT job AS seq FROM mainstay.body WHERE ref = ?::text",
    "parent": "SELECT job AS seq FROM mainstay.body WHERE parent >= ?::text AND parent < ?::text",
    "tag": "SELECT job AS seq FROM mainstay.tag WHERE tag = ?::text",
    "tenant": "SELECT job AS seq FROM mainstay.body WHERE tenant = ?::text",
}


def _values(term: Term) -> Path:
    """One select for each value; a job can be in two of them by its tags, or by prefixes that overlap."""
    values = dict.fromkeys(term.values)
    bound = [_range(value) if term.field in {"id", "parent"} else (value,) for value in values]
    word = " UNION " if term.field in {"id", "parent", "tag"} else " UNION ALL "
    return _union([(SELECTS[term.field], values) for values in bound], (term,), word)


def _states(term: Term, types: tuple[Term, ...]) -> Path:
    """Jobs in these states; their indexes hold the type too."""
    checks = [_check(kind, 0) for kind in types]
    narrow = "".join(f" AND ({sql})" for sql, _ in checks)
    values = tuple(value for _, bound in checks for value in bound)
    labels = dict.fromkeys(str(value) for value in term.values)
    selects = [(f"{_of_label(label)}{narrow}", values) for label in labels]
    overlap = {"scheduled", "retrying"} <= {*term.values} or {"running", "cancelling"} <= {*term.values}
    return _union(selects, (term, *types), " UNION " if overlap else " UNION ALL ")


def _of_label(label: str) -> str:
    return f"SELECT j.seq FROM mainstay.job j WHERE {LABELS[label]}"  # noqa: S608


def _finished(term: Term) -> Path:
    sql, values = _instants(term, 0)
    return Path(f"SELECT j.seq FROM mainstay.job j WHERE j.finished_at IS NOT NULL AND ({sql})", values, (term,))  # noqa: S608


def _union(selects: list[Sql], covers: tuple[Term, ...], word: str) -> Path:
    return Path(word.join(sql for sql, _ in selects), tuple(v for _, values in selects for v in values), covers)


def _pasted(load: Statements, term: Term) -> Operations[Term]:
    """A word that begins the id of a job means that job, however old it is."""
    if term.field != "text" or len(term.values) != 1:
        return term
    word = ids.normal(str(term.values[0]))
    if not PASTED <= len(word) <= ids.LENGTH or not set(word) <= set(ids.ALPHABET):
        return term
    there = yield _step(load, (f"{SELECTS['id']} LIMIT 1", _range(word)))
    return term._replace(field="id", op="=", values=(word,)) if there.rows else term


# Checks ---------------------------------------------------------------------------------------------------------------


def _check(term: Term, now: int) -> Sql:
    """What must hold of a candidate, as a condition on job `j` and body `b`."""
    if term.field not in CHECKS or not term.values:
        raise UsageError(f"a store cannot search by {term.field!r}; it can by {', '.join(CHECKS)}")
    if term.op not in OPS and term.op != "~":
        raise UsageError(f"a store cannot compare with {term.op!r}; it can with {', '.join(OPS)} and ~")
    sql, values = CHECKS[term.field](term, now)
    return (f"NOT coalesce({sql}, false)", values) if term.negated else (sql, values)


def _any(checks: list[Sql]) -> Sql:
    return "(" + " OR ".join(f"({sql})" for sql, _ in checks) + ")", tuple(v for _, values in checks for v in values)


def _range(value: object) -> tuple[str, str]:
    """From and until of everything that starts so: each character of an id sorts below the tilde."""
    return str(value), f"{value}~"


def _begins(term: Term, now: int) -> Sql:
    column = COLUMNS[term.field]
    return _any([(f"{column} >= ?::text AND {column} < ?::text", _range(value)) for value in term.values])


def _names(term: Term, now: int) -> Sql:
    """A name, or with a star at its end every name that starts so."""
    column = COLUMNS[term.field]
    return _any([_name(column, str(value)) for value in term.values])


def _name(column: str, value: str) -> Sql:
    if value.endswith("*"):
        return f"starts_with({column}, ?::text)", (value[:-1],)
    return f"{column} = ?::text", (value,)


def _compares(term: Term, now: int) -> Sql:
    column, cast = COLUMNS[term.field], NUMBERS.get(term.field, "text")
    if cast != "text":  # whatever number is asked for
        column, cast = f"{column}::numeric", "numeric"
    return _any([(f"{column} {OPS[term.op]} ?::{cast}", (value,)) for value in term.values])


def _instants(term: Term, now: int) -> Sql:
    """Equal to a span is within it: the values are pairs."""
    column = COLUMNS[term.field]
    if term.op != "=":
        return _any([(f"{column} {OPS[term.op]} ?::bigint", (value,)) for value in term.values])
    pairs = zip(term.values[::2], term.values[1::2], strict=True)
    return _any([(f"{column} >= ?::bigint AND {column} < ?::bigint", pair) for pair in pairs])


def _labels(term: Term, now: int) -> Sql:
    return _any([(LABELS[str(label)], ()) for label in term.values])


def _tags(term: Term, now: int) -> Sql:
    sql = "EXISTS (SELECT 1 FROM mainstay.tag t WHERE t.tag = ?::text AND t.job = j.seq)"
    return _any([(sql, (value,)) for value in term.values])


def _workers(term: Term, now: int) -> Sql:
    """Held by a worker whose name starts so, now or in an attempt that is on record."""
    of_attempt = "EXISTS (SELECT 1 FROM mainstay.attempt a WHERE a.job = j.seq AND starts_with(a.worker, ?::text))"
    sql = f"coalesce(starts_with(j.worker, ?::text), false) OR {of_attempt}"
    return _any([(sql, (value, value)) for value in term.values])


def _took(term: Term, now: int) -> Sql:
    """The time of the last attempt; a running one counts until now."""
    spent = "CASE j.state WHEN 'running' THEN ?::bigint ELSE j.finished_at END - j.started_at"
    return _any([(f"{spent} {OPS[term.op]} ?::numeric", (now, value)) for value in term.values])


def _errors(term: Term, now: int) -> Sql:
    """In the error of any attempt, or in the reason for which the job stands where it does."""
    return _any([_error(str(value)) for value in term.values])


def _error(text: str) -> Sql:
    like = _like(text)
    of_attempt = "EXISTS (SELECT 1 FROM mainstay.attempt a WHERE a.job = j.seq AND a.error ILIKE ?::text)"
    return f"coalesce(j.reason ILIKE ?::text, false) OR {of_attempt}", (like, like)


def _words(term: Term, now: int) -> Sql:
    """The beginning of the id, or anywhere in the type or an error."""
    return _any([_word(str(value)) for value in term.values])


def _word(text: str) -> Sql:
    sql, values = _error(text)
    start, end = _range(ids.normal(text))
    return f"(b.id >= ?::text AND b.id < ?::text) OR j.type ILIKE ?::text OR {sql}", (start, end, _like(text), *values)


def _like(text: str) -> str:
    return "%" + text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"


def _args(term: Term, now: int) -> Sql:
    """At this place in the payload; a payload that PostgreSQL cannot read never matches."""
    if not term.path or any('"' in part or "\0" in part for part in term.path):
        raise UsageError(f"args.{'.'.join(term.path)}: a search cannot reach names with a quote in them")
    where = "{" + ",".join('"' + part.replace("\\", "\\\\") + '"' for part in term.path) + "}"
    sql, values = _any([_arg(where, OPS[term.op], str(value)) for value in term.values])
    return f"CASE WHEN b.payload IS JSON AND strpos(b.payload, '\\u0000') = 0 THEN {sql} END", values


def _arg(where: str, op: str, text: str) -> Sql:
    """As text and, where it reads as one, as a number, true, false or null; more or less than a number is a number."""
    kind, found = "json_typeof(b.payload::json #> ?::text[])", "(b.payload::json #>> ?::text[])"
    numeric = _NUMBER.fullmatch(text) is not None
    checks: list[Sql] = []
    if op == "=" or not numeric:
        checks.append((f"{kind} = 'string' AND {found} COLLATE \"C\" {op} ?::text", (where, where, text)))
    if numeric:
        as_number = f"CASE WHEN {kind} = 'number' THEN {found}::numeric {op} ?::numeric END"
        checks.append((as_number, (where, where, text)))
    if op == "=" and text in {"true", "false"}:
        checks.append((f"{kind} = 'boolean' AND {found} = ?::text", (where, where, text)))
    if op == "=" and text == "null":
        checks.append((f"{kind} = 'null'", (where,)))
    return _any(checks)


CHECKS: dict[str, Callable[[Term, int], Sql]] = {
    "id": _begins, "type": _names, "queue": _names, "state": _labels, "priority": _compares, "attempt": _compares,
    "worker": _workers, "key": _compares, "ref": _compares, "tenant": _compares, "tag": _tags, "parent": _begins,
    "error": _errors, "text": _words, "args": _args, "took": _took, "created": _instants, "finished": _instants,
}  # fmt: skip
