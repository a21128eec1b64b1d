"""Search: the only SQL here that is put together at run time, from the fixed pieces below; every value is bound.

One term with an index drives: it names the candidates, newest first. What the index does not answer is checked job by
job, and only in a window of the newest candidates, so that no search reads the whole history. A page that ends at the
window's edge says so, and its `after` goes on from there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from ...core import ids, states
from ...core.errors import UsageError
from ...core.search_terms import Page

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence

    from ...core.search_terms import Term
    from .connect import Database

    Sql = tuple[str, tuple[Any, ...]]

WINDOW = 100_000
PROBE = 2_000  # enough to tell a narrow path from a wide one
PASTED = 10  # from this length on, a word that begins an id is taken to be one

# How each label is found. A state without an index of its own is checked job by job.
LABELS = {state: f"j.state = '{state}'" for state in states.STATES} | {
    "retrying": "j.state = 'scheduled' AND j.attempt > 0",
    "cancelling": "j.state = 'running' AND j.cancel_at IS NOT NULL",
}
INDEXES = {
    "queued": "mainstay_job_lane", "scheduled": "mainstay_job_due", "retrying": "mainstay_job_due",
    "running": "mainstay_job_running", "cancelling": "mainstay_job_running", "review": "mainstay_job_review",
    "dead": "mainstay_job_dead",
}  # fmt: skip
COLUMNS = {
    "priority": "j.priority", "attempt": "j.attempt", "created": "j.created_at", "finished": "j.finished_at",
    "key": "b.key", "ref": "b.ref", "tenant": "b.tenant", "type": "j.type", "queue": "j.queue", "id": "j.id",
    "parent": "b.parent",
}  # fmt: skip
OPS = {"=": "=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_NUMBER = re.compile(r"-?\d{1,300}(\.\d{1,300})?", re.ASCII)


class Path(NamedTuple):
    """A way to the candidates: selects that answer `seq`, and the terms that need no further check."""

    sql: str
    values: tuple[Any, ...]
    covers: tuple[Term, ...]


NEWEST = Path("SELECT j.seq FROM mainstay_job j", (), ())


def search(db: Database, terms: Sequence[Term], limit: int, after: str | None, now: int) -> Page:
    """Ids of the jobs for which every term holds, newest first."""
    if limit < 1:
        raise UsageError(f"limit={limit}: a page holds at least one job")
    with db.reading() as connection:
        terms = [_pasted(connection, term) for term in terms]
        path = _choose(connection, [*_paths(terms)])
        checks = [_check(term, now) for term in terms if term not in path.covers]
        below = _below(connection, after)
        floor = _floor(connection, path, below) if checks else None
        sql, values = _statement(path, checks, below, floor, limit + 1)
        found = [row[0] for row in connection.execute(sql, values)]
        return _page(connection, found, limit, floor)


def _page(connection: sqlite3.Connection, found: list[str], limit: int, floor: int | None) -> Page:
    after = found[limit - 1] if len(found) > limit else None
    if after is None and floor is not None:
        after = connection.execute("SELECT id FROM mainstay_job WHERE seq = ?", (floor,)).fetchone()[0]
    return Page(tuple(found[:limit]), after, None if floor is None else WINDOW)


def _statement(path: Path, checks: list[Sql], below: int | None, floor: int | None, limit: int) -> Sql:
    """The one statement: candidates by the path, the checks, the newest `limit` of them, and only then their ids."""
    checks = [*checks, *_bounds(below, floor)]
    joins = " CROSS JOIN mainstay_job j ON j.seq = c.seq" if any("j." in sql for sql, _ in checks) else ""
    joins += " CROSS JOIN mainstay_body b ON b.job = c.seq" if any("b." in sql for sql, _ in checks) else ""
    where = " AND ".join(f"({sql})" for sql, _ in checks) or "1"
    values = [value for _, bound in checks for value in bound]
    chosen = f"SELECT c.seq FROM ({path.sql}) c{joins} WHERE {where} ORDER BY c.seq DESC LIMIT ?"  # noqa: S608
    sql = f"SELECT id FROM mainstay_job WHERE seq IN ({chosen}) ORDER BY seq DESC"  # noqa: S608
    return sql, (*path.values, *values, limit)


def _bounds(below: int | None, floor: int | None) -> list[Sql]:
    bounds: list[Sql] = [] if below is None else [("c.seq < ?", (below,))]
    return bounds if floor is None else [*bounds, ("c.seq >= ?", (floor,))]


def _floor(connection: sqlite3.Connection, path: Path, below: int | None) -> int | None:
    """The last candidate inside the window; None when all of them are."""
    where, values = next(iter(_bounds(below, None)), ("1", ()))
    sql = f"SELECT c.seq FROM ({path.sql}) c WHERE {where} ORDER BY c.seq DESC LIMIT 2 OFFSET ?"  # noqa: S608
    edge = connection.execute(sql, (*path.values, *values, WINDOW - 1)).fetchall()
    return edge[0][0] if len(edge) == 2 else None


def _below(connection: sqlite3.Connection, after: str | None) -> int | None:
    """Where the last page ended; when that job is gone meanwhile, where the next older one stands."""
    if after is None:
        return None
    row = connection.execute(
        "SELECT seq, id FROM mainstay_job WHERE id <= ? ORDER BY id DESC LIMIT 1", (after,)
    ).fetchone()
    if row is None:
        return 0
    seq: int = row[0]
    return seq if row[1] == after else seq + 1


# Paths ----------------------------------------------------------------------------------------------------------------


def _choose(connection: sqlite3.Connection, paths: list[Path]) -> Path:
    """The path with the fewest candidates, as far as a short look at each can tell."""
    if len(paths) < 2:
        return paths[0] if paths else NEWEST
    sizes = [_size(connection, path) for path in paths]
    return paths[sizes.index(min(sizes))]


def _size(connection: sqlite3.Connection, path: Path) -> int:
    sql = f"SELECT count(*) FROM (SELECT 1 FROM ({path.sql}) LIMIT {PROBE})"  # noqa: S608
    count: int = connection.execute(sql, path.values).fetchone()[0]
    return count


def _paths(terms: Sequence[Term]) -> list[Path]:
    """Every path that a term offers, the usually narrow ones first."""
    asked = [term for term in terms if not term.negated]
    paths = [_values(term) for name in SELECTS for term in asked if term.field == name]
    types = tuple(term for term in asked if term.field == "type")
    paths += [_states(term, types) for term in asked if term.field == "state" and INDEXES.keys() >= {*term.values}]
    return paths + [_finished(term) for term in asked if term.field == "finished"]


SELECTS = {
    "id": "SELECT seq FROM mainstay_job INDEXED BY sqlite_autoindex_mainstay_job_1 WHERE id >= ? AND id < ?",
    "key": "SELECT job AS seq FROM mainstay_body WHERE key = ?",
    "ref": "SELECT job AS seq FROM mainstay_body WHERE ref = ?",
    "parent": "SELECT job AS seq FROM mainstay_body WHERE parent >= ? AND parent < ?",
    "tag": "SELECT job AS seq FROM mainstay_tag WHERE tag = ?",
    "tenant": "SELECT job AS seq FROM mainstay_body WHERE tenant = ?",
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
    return f"SELECT j.seq FROM mainstay_job j INDEXED BY {INDEXES[label]} WHERE {LABELS[label]}"  # noqa: S608


def _finished(term: Term) -> Path:
    sql, values = _instants(term, 0)
    start = "SELECT j.seq FROM mainstay_job j INDEXED BY mainstay_job_finished WHERE j.finished_at IS NOT NULL"
    return Path(f"{start} AND ({sql})", values, (term,))


def _union(selects: list[Sql], covers: tuple[Term, ...], word: str) -> Path:
    return Path(word.join(sql for sql, _ in selects), tuple(v for _, values in selects for v in values), covers)


def _pasted(connection: sqlite3.Connection, term: Term) -> Term:
    """A word that begins the id of a job means that job, however old it is."""
    if term.field != "text" or len(term.values) != 1:
        return term
    word = ids.normal(str(term.values[0]))
    if not PASTED <= len(word) <= ids.LENGTH or not set(word) <= set(ids.ALPHABET):
        return term
    there = connection.execute(f"{SELECTS['id']} LIMIT 1", _range(word)).fetchone()
    return term._replace(field="id", op="=", values=(word,)) if there else term


# Checks ---------------------------------------------------------------------------------------------------------------


def _check(term: Term, now: int) -> Sql:
    """What must hold of a candidate, as a condition on job `j` and body `b`."""
    if term.field not in CHECKS or not term.values:
        raise UsageError(f"a store cannot search by {term.field!r}; it can by {', '.join(CHECKS)}")
    if term.op not in OPS and term.op != "~":
        raise UsageError(f"a store cannot compare with {term.op!r}; it can with {', '.join(OPS)} and ~")
    sql, values = CHECKS[term.field](term, now)
    return (f"NOT coalesce({sql}, 0)", values) if term.negated else (sql, values)


def _any(checks: list[Sql]) -> Sql:
    return "(" + " OR ".join(f"({sql})" for sql, _ in checks) + ")", tuple(v for _, values in checks for v in values)


def _range(value: object) -> tuple[str, str]:
    """From and until of everything that starts so: each character of an id sorts below the tilde."""
    return str(value), f"{value}~"


def _begins(term: Term, now: int) -> Sql:
    column = COLUMNS[term.field]
    return _any([(f"{column} >= ? AND {column} < ?", _range(value)) for value in term.values])


def _names(term: Term, now: int) -> Sql:
    """A name, or with a star at its end every name that starts so."""
    column = COLUMNS[term.field]
    return _any([_name(column, str(value)) for value in term.values])


def _name(column: str, value: str) -> Sql:
    if value.endswith("*"):
        return f"substr({column}, 1, ?) = ?", (len(value) - 1, value[:-1])
    return f"{column} = ?", (value,)


def _compares(term: Term, now: int) -> Sql:
    return _any([(f"{COLUMNS[term.field]} {OPS[term.op]} ?", (value,)) for value in term.values])


def _instants(term: Term, now: int) -> Sql:
    """Equal to a span is within it: the values are pairs."""
    if term.op != "=":
        return _compares(term, now)
    column = COLUMNS[term.field]
    pairs = zip(term.values[::2], term.values[1::2], strict=True)
    return _any([(f"{column} >= ? AND {column} < ?", pair) for pair in pairs])


def _labels(term: Term, now: int) -> Sql:
    return _any([(LABELS[str(label)], ()) for label in term.values])


def _tags(term: Term, now: int) -> Sql:
    sql = "EXISTS (SELECT 1 FROM mainstay_tag t WHERE t.tag = ? AND t.job = j.seq)"
    return _any([(sql, (value,)) for value in term.values])


def _workers(term: Term, now: int) -> Sql:
    """Held by a worker whose name starts so, now or in an attempt that is on record."""
    of_attempt = "EXISTS (SELECT 1 FROM mainstay_attempt a WHERE a.job = j.seq AND a.worker >= ? AND a.worker < ?)"
    sql = f"(j.worker >= ? AND j.worker < ?) OR {of_attempt}"
    return _any([(sql, _range(value) * 2) for value in term.values])


def _took(term: Term, now: int) -> Sql:
    """The time of the last attempt; a running one counts until now."""
    spent = "CASE j.state WHEN 'running' THEN ? ELSE j.finished_at END - j.started_at"
    return _any([(f"{spent} {OPS[term.op]} ?", (now, value)) for value in term.values])


def _errors(term: Term, now: int) -> Sql:
    """In the error of any attempt, or in the reason for which the job stands where it does."""
    return _any([_error(str(value)) for value in term.values])


def _error(text: str) -> Sql:
    like = _like(text)
    of_attempt = "EXISTS (SELECT 1 FROM mainstay_attempt a WHERE a.job = j.seq AND a.error LIKE ? ESCAPE '\\')"
    return f"j.reason LIKE ? ESCAPE '\\' OR {of_attempt}", (like, like)


def _words(term: Term, now: int) -> Sql:
    """The beginning of the id, or anywhere in the type or an error."""
    return _any([_word(str(value)) for value in term.values])


def _word(text: str) -> Sql:
    sql, values = _error(text)
    start, end = _range(ids.normal(text))
    return f"(j.id >= ? AND j.id < ?) OR j.type LIKE ? ESCAPE '\\' OR {sql}", (start, end, _like(text), *values)


def _like(text: str) -> str:
    return "%" + text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"


def _args(term: Term, now: int) -> Sql:
    """At this place in the payload; a payload that SQLite cannot read never matches."""
    if not term.path or any('"' in part or "\0" in part for part in term.path):
        raise UsageError(f"args.{'.'.join(term.path)}: a search cannot reach names with a quote in them")
    where = "$" + "".join(f'."{part}"' for part in term.path)
    sql, values = _any([_arg(where, OPS[term.op], str(value)) for value in term.values])
    return f"CASE WHEN json_valid(b.payload) THEN {sql} END", values


def _arg(where: str, op: str, text: str) -> Sql:
    """As text and, where it reads as one, as a number, true, false or null; more or less than a number is a number."""
    kind, found = "json_type(b.payload, ?)", "json_extract(b.payload, ?)"
    numeric = _NUMBER.fullmatch(text) is not None
    checks: list[Sql] = []
    if op == "=" or not numeric:
        checks.append((f"{kind} = 'text' AND {found} {op} ?", (where, where, text)))
    if numeric:
        number = int(text) if len(text) < 19 and "." not in text else float(text)
        checks.append((f"{kind} IN ('integer', 'real') AND {found} {op} ?", (where, where, number)))
    if op == "=" and text in {"true", "false", "null"}:
        checks.append((f"{kind} = ?", (where, text)))
    return _any(checks)


CHECKS: dict[str, Callable[[Term, int], Sql]] = {
    "id": _begins, "type": _names, "queue": _names, "state": _labels, "priority": _compares, "attempt": _compares,
    "worker": _workers, "key": _compares, "ref": _compares, "tenant": _compares, "tag": _tags, "parent": _begins,
    "error": _errors, "text": _words, "args": _args, "took": _took, "created": _instants, "finished": _instants,
}  # fmt: skip
