"""The statements that insert jobs, made from the list of their columns.

A job is two rows: `mainstay_job` is narrow and changes, `mainstay_body` holds what was asked. A new column of a draft is on the
job's row unless `BODY` names it. On the path of every cold producer: nothing is imported that a bare interpreter lacks.
"""

from __future__ import annotations

from _operator import attrgetter  # `operator` alone costs a cold producer a file

from ...core.draft import Draft
from ...core.keys import FOREVER
from ..operations import admission

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

NOT_STORED = ("on_conflict", "undeclared", "accepted", "after")
BODY = ("payload", "key", "tenant", "ref", "tags", "parent", "schedule", "tick", "trace")
RARE = (
    "run_at",
    "backoff",
    "lock",
    "lock_until",
    "version",
    "rules",
    "waits",
    "start_by",
    "keep_cancelled",
    "keep_dead",
    "keep_last",
    *BODY[1:],
)  # most jobs have the default
KEPT = ("id", "type", "created_at", "parent", "key", "lock")  # of a job that a newer draft with the same key replaces
TWICE = ("run_at", "waits")  # columns whose values the admission step needs too
JOB = tuple(name for name in Draft.__slots__ if name not in (*BODY, *NOT_STORED))
PLAIN_JOB = tuple(name for name in JOB if name not in RARE)
PLAIN_BODY = BODY[:1]

job_values, _body = attrgetter(*JOB), attrgetter(*BODY)
_UNTIL = JOB.index("lock_until")
_TAGS = BODY.index("tags")
_rare, _plain_values = attrgetter(*RARE), attrgetter(*PLAIN_JOB)
_USUAL = _rare(Draft("", ""))
_functions: dict[tuple[str, tuple[str, ...]], Any] = {}
_texts: dict[tuple[tuple[str, ...], int], str] = {}


def all_plain(drafts: Sequence[Draft]) -> bool:
    """Return whether every draft has the default in the columns in which most do."""
    rare: list[Any] = _compiled("lambda drafts: [({}) for draft in drafts]", RARE)(drafts)
    return rare.count(_USUAL) == len(drafts)


def one(draft: Draft, now: int) -> tuple[tuple[str, Any], tuple[str, Any]]:
    """Return the statements for one job without a key and for its body, each with its values."""
    if _rare(draft) == _USUAL:
        return (insert_jobs(PLAIN_JOB, 1), (now, None, *_plain_values(draft))), (_INSERT_PLAIN_BODY, (draft.payload,))
    return (insert_jobs(JOB, 1), (now, None, *job_values(draft))), (INSERT_BODY, body_values(draft))


def _compiled(form: str, names: tuple[str, ...]) -> Any:
    """Return the function of this form with these columns of `draft` in it. `attrgetter` takes twice as long in a loop."""
    known = _functions.get((form, names))
    if known is None:
        columns = ", ".join(f"draft.{name}" for name in names)
        known = _functions[form, names] = eval(form.format(columns))  # noqa: S307  (our names)
    return known


def job_rows(drafts: Sequence[Draft], first: int, plain: bool) -> list[Any]:
    """Return the values of job rows that are numbered from `first` on."""
    values: list[Any] = []
    row = _compiled("lambda draft, seq: (seq, {})", PLAIN_JOB if plain else JOB)
    for seq, draft in enumerate(drafts, first):
        values += row(draft, seq)
    return values


def body_rows(drafts: Sequence[Draft], first: int, plain: bool) -> list[Any]:
    """Return the values of body rows for jobs that are numbered from `first` on."""
    if plain:
        return [value for seq, draft in enumerate(drafts, first) for value in (seq, draft.payload)]
    return [value for seq, draft in enumerate(drafts, first) for value in (seq, *body_values(draft))]


def body_values(draft: Draft) -> tuple[Any, ...]:
    """Return the values of a body row, without the number of its job."""
    values: tuple[Any, ...] = _body(draft)
    if not draft.tags:
        return (*values[:_TAGS], None, *values[_TAGS + 1 :])
    import json

    return (*values[:_TAGS], json.dumps(draft.tags), *values[_TAGS + 1 :])


def insert_jobs(columns: tuple[str, ...], rows: int) -> str:
    """Return the statement for some job rows: bound are the instant, then per row its number and these columns.

    Nothing happens to a row whose id or lock is there already. Served by the unique indexes.
    """
    text = _texts.get((columns, rows))
    if text is None:
        values = ", ".join(_numbered(_job_row(columns), columns, rows))
        head = f"INSERT INTO mainstay_job (seq, {', '.join(columns)}, state, ord) VALUES "  # noqa: S608  (our names)
        text = _texts[columns, rows] = head + values + " ON CONFLICT DO NOTHING"
    return text


def insert_keyed(draft: Draft, now: int) -> tuple[str, tuple[Any, ...]]:
    """Return the statement for one job with a key, and its values. Nothing happens either where the key is taken for ever."""
    plain, values = insert_jobs(JOB, 1), (now, None, *_held(draft, job_values(draft)))
    if (draft.lock_until or 0) > 0:  # of a period, which has keys of its own
        return plain, values
    head, _, row = plain.partition(" VALUES (")
    count = len(values)
    free = f"NOT EXISTS (SELECT 1 FROM mainstay_key WHERE key = ?{count + 1} AND type = ?{count + 2})"  # noqa: S608
    return f"{head} SELECT {row.replace(') ON', f' WHERE {free} ON')}", (*values, draft.key, draft.type)


def _held(draft: Draft, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the values of a job row: what takes its key for ever holds it like others while it is alive."""
    return values if draft.lock_until != FOREVER else (*values[:_UNTIL], None, *values[_UNTIL + 1 :])


def _job_row(columns: tuple[str, ...]) -> str:
    """Return the expressions of a row, with `{RUN_AT}` for the number of that parameter: it is used more than once."""
    named = {name: f"?{{{name.upper()}}}" if name in TWICE else "?" for name in ("seq", *columns)}
    run_at, waits = (named.get(name, "NULL") for name in TWICE)
    if "waits" in named:
        named["waits"] = admission("waits", run_at, "?1", waits, waits)
    return f"({', '.join(named.values())}, {admission('state', run_at, '?1', waits)}, {admission('ord', run_at, '?1', '?1')})"


def _numbered(row: str, columns: tuple[str, ...], rows: int) -> Iterator[str]:
    """Number few parameters: SQLite searches the numbers when it prepares a statement, Python 3.12 at every value that it binds.

    A `?` has the number after the highest before it, so the first one says that 1 is the instant.
    """
    width, places = len(columns) + 1, {name: 3 + columns.index(name) for name in TWICE if name in columns}
    first = row.replace("?", "?2", 1)
    for place in range(rows):
        text = first if place == 0 else row
        for name, number in places.items():
            text = text.replace(f"{{{name.upper()}}}", str(number + place * width))
        yield text


def _insert_body(columns: tuple[str, ...], number: str) -> str:
    binds = ", ".join("?" * len(columns))
    return f"INSERT INTO mainstay_body (job, {', '.join(columns)}) VALUES ({number}, {binds})"  # noqa: S608  (our names)


BODY_OF = {columns: _insert_body(columns, "?") for columns in (PLAIN_BODY, BODY)}  # the job's number is bound first
INSERT_BODY = _insert_body(BODY, "last_insert_rowid()")  # of the job that this connection has just inserted
_INSERT_PLAIN_BODY = _insert_body(PLAIN_BODY, "last_insert_rowid()")
# Does not change that number: the table has none.
INSERT_TAG = "INSERT OR IGNORE INTO mainstay_tag (tag, job) VALUES (?, last_insert_rowid())"

INSERT_KEY = "INSERT OR IGNORE INTO mainstay_key (key, type, job, since) VALUES (?, ?, ?, ?)"


def replacement(draft: Draft) -> tuple[str, str, dict[str, Any]]:
    """Return the assignments that make a job what a draft asks for, on its row and in its body, and their values."""
    kept = (*KEPT, "waits")  # the admission step gives it
    job, body = (", ".join(f"{name} = :{name}" for name in names if name not in kept) for names in (JOB, BODY))
    return job, body, dict(zip((*JOB, *BODY), (*_held(draft, job_values(draft)), *body_values(draft)), strict=True))
