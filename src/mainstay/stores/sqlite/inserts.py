"""The statements that insert jobs, made from the list of their columns.

A job is two rows: `mainstay_job` is narrow and changes, `mainstay_body` holds what was asked. A new column of a draft is on the
job's row unless `BODY` names it. On the path of every cold producer: nothing is imported that a bare interpreter lacks.
"""

from __future__ import annotations

from _operator import attrgetter  # `operator` alone costs a cold producer a file

from ...core.draft import Draft
from ..operations import admission

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

NOT_STORED = ("on_conflict", "undeclared", "accepted")
BODY = ("payload", "key", "tenant", "ref", "tags", "parent")
RARE = ("run_at", "backoff", "lock", "lock_until", "version", *BODY[1:])  # most jobs have the default
KEPT = ("id", "type", "created_at", "parent", "key", "lock")  # of a job that a newer draft with the same key replaces
JOB = tuple(name for name in Draft.__slots__ if name not in (*BODY, *NOT_STORED))
PLAIN_JOB = tuple(name for name in JOB if name not in RARE)
PLAIN_BODY = BODY[:1]

job_values, _body = attrgetter(*JOB), attrgetter(*BODY)
_TAGS = BODY.index("tags")
_USUAL = attrgetter(*RARE)(Draft("", ""))
_functions: dict[tuple[str, tuple[str, ...]], Any] = {}
_texts: dict[tuple[tuple[str, ...], int], str] = {}


def all_plain(drafts: Sequence[Draft]) -> bool:
    """Return whether every draft has the default in the columns in which most do."""
    rare = _compiled("({})", RARE)
    return all(rare(draft, 0) == _USUAL for draft in drafts)


def _compiled(form: str, names: tuple[str, ...]) -> Any:
    """Return a function of a draft and its number that returns these columns. `attrgetter` takes twice as long in a loop."""
    known = _functions.get((form, names))
    if known is None:
        columns = ", ".join(f"draft.{name}" for name in names)
        known = _functions[form, names] = eval(f"lambda draft, seq: {form.format(columns)}")  # noqa: S307  (our names)
    return known


def job_rows(drafts: Sequence[Draft], first: int, plain: bool) -> list[Any]:
    """Return the values of job rows that are numbered from `first` on."""
    values: list[Any] = []
    row = _compiled("(seq, {})", PLAIN_JOB if plain else JOB)
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
        values = ", ".join(_job_row(columns, 2 + n * (len(columns) + 1)) for n in range(rows))
        head = f"INSERT INTO mainstay_job (seq, {', '.join(columns)}, state, ord) VALUES "  # noqa: S608  (our names)
        text = _texts[columns, rows] = head + values + " ON CONFLICT DO NOTHING"
    return text


def _job_row(columns: tuple[str, ...], first: int) -> str:
    binds = [f"?{first + n}" for n in range(len(columns) + 1)]
    run_at = binds[columns.index("run_at") + 1] if "run_at" in columns else "NULL"
    return f"({', '.join(binds)}, {admission('state', run_at, '?1')}, {admission('ord', run_at, '?1', '?1')})"


def _insert_body(columns: tuple[str, ...], number: str) -> str:
    binds = ", ".join("?" * len(columns))
    return f"INSERT INTO mainstay_body (job, {', '.join(columns)}) VALUES ({number}, {binds})"  # noqa: S608  (our names)


BODY_OF = {columns: _insert_body(columns, "?") for columns in (PLAIN_BODY, BODY)}  # the job's number is bound first
INSERT_BODY = _insert_body(BODY, "last_insert_rowid()")  # of the job that this connection has just inserted
# Does not change that number: the table has none.
INSERT_TAG = "INSERT OR IGNORE INTO mainstay_tag (tag, job) VALUES (?, last_insert_rowid())"


def replacement(draft: Draft) -> tuple[str, str, dict[str, Any]]:
    """Return the assignments that make a job what a draft asks for, on its row and in its body, and their values."""
    job, body = (", ".join(f"{name} = :{name}" for name in names if name not in KEPT) for names in (JOB, BODY))
    return job, body, dict(zip((*JOB, *BODY), (*job_values(draft), *body_values(draft)), strict=True))
