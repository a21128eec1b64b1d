"""The columns that hot statements get as arrays, one array a column, and the fragments of SQL made from them.

The fields of `core.export.JobRecord` that a draft has are its columns: a new one needs no edit here. It is on the job's row unless
`BODY` names it. Those of claims and outcomes are in `outcome_columns`: a producer needs none of these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.draft import Draft
from ...core.export import JobRecord
from ..sql.dialect import column_types

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

BODY = (
    "id", "payload", "backoff", "created_at", "timeout", "keep", "max_attempts", "lock", "key", "tenant", "ref", "tags", "parent", "version",
    "schedule", "tick", "trace",
)  # fmt: skip
DRAFT = tuple(name for name in JobRecord._fields if name in Draft.__slots__)
PLAIN = ("id", "type", "queue", "priority", "max_attempts", "timeout", "keep", "backoff", "created_at", "payload")
RARE = tuple(name for name in DRAFT if name not in PLAIN)  # most jobs have the default
KEPT = ("id", "type", "created_at", "parent", "key", "lock")  # of a job that a newer draft with the same key replaces


def of(names: tuple[str, ...]) -> Callable[[Sequence[Any]], dict[str, list[Any]]]:
    """Return a function that turns drafts into a list a column, by name."""
    columns = ", ".join(f"{name!r}: [each.{name} for each in drafts]" for name in names)
    made: Callable[[Sequence[Any]], dict[str, list[Any]]] = eval(f"lambda drafts: {{{columns}}}")  # noqa: S307
    return made  # of our own names; `attrgetter` takes twice as long


def unnest(columns: Mapping[str, str]) -> str:
    """Return the arrays of some columns as a table `u`."""
    arrays = ", ".join(f":{name}::{kind}[]" for name, kind in columns.items())
    return f"unnest({arrays}) AS u({', '.join(columns)})"


def _assign(names: Iterable[str]) -> str:
    types = column_types(JobRecord)
    return ", ".join(f"{name} = :{name}::{types[name]}" for name in names if name not in KEPT)


def _split(names: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Return the columns of these that stand on the job's row, and those in its body."""
    return [name for name in names if name not in BODY], [name for name in names if name in BODY]


_JOB, _BODY = _split(DRAFT)
_PLAIN_JOB, _PLAIN_BODY = _split(PLAIN)
FRAGMENTS = {
    "drafts": unnest(column_types(JobRecord, *DRAFT)), "draft_job": ", ".join(name for name in _JOB if name != "waits"),
    "draft_body": ", ".join(_BODY),
    "free_": "", "free_keyed": "WHERE given.lock IS NULL OR NOT EXISTS (SELECT 1 FROM mainstay.key k "
    "WHERE k.key = ANY (ARRAY[given.key]) AND k.type = ANY (ARRAY[given.type]) AND k.type || ':' || k.key = given.lock)",
    "plain_drafts": unnest(column_types(JobRecord, *PLAIN)),
    "plain_job": ", ".join(_PLAIN_JOB), "plain_body": ", ".join(_PLAIN_BODY),
    "replaced_job": _assign(name for name in _JOB if name != "waits"), "replaced_body": _assign(_BODY),
}  # fmt: skip
