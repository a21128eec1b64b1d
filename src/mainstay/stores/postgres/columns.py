"""The columns that hot statements get as arrays, one array a column, and the fragments of SQL made from them.

The fields of `core.export.JobRecord` that a draft has are its columns: a new one needs no edit here. It is on the job's row unless
`BODY` names it.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from ...core.decide import Transition
from ...core.draft import Draft
from ...core.export import JobRecord
from ...core.job import field_getter
from ...core.updates import Checkpoint, Log, Progress
from ..sql.dialect import column_types

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

BODY = (
    "id", "payload", "backoff", "created_at", "timeout", "keep", "max_attempts", "lock", "key", "tenant", "ref", "tags", "parent", "version",
)  # fmt: skip
DRAFT = tuple(name for name in JobRecord._fields if name in Draft.__slots__)
PLAIN = ("id", "type", "queue", "priority", "max_attempts", "timeout", "keep", "backoff", "created_at", "payload")
RARE = tuple(name for name in DRAFT if name not in PLAIN)  # most jobs have the default
KEPT = ("id", "type", "created_at", "parent", "key", "lock")  # of a job that a newer draft with the same key replaces
FINISH = tuple(name for name in Transition._fields if name not in ("id", "children"))
COMPLETED = ("seq", "token", "finished_at", "expires_at", "result")
UPDATES: dict[Any, str] = {Log: "update_log", Progress: "update_progress", Checkpoint: "update_checkpoint"}


def of(record: Any, names: tuple[str, ...]) -> Callable[[Sequence[Any]], dict[str, list[Any]]]:
    """Return a function that turns records of a kind into a list a column, by name."""
    if hasattr(record, "_fields"):  # to read a tuple by position takes half as long as by name
        return _columns([(name, field_getter(record, name)) for name in names])
    return _columns([(name, attrgetter(name)) for name in names])


def _columns(getters: list[tuple[str, Callable[[Any], Any]]]) -> Callable[[Sequence[Any]], dict[str, list[Any]]]:
    return lambda records: {name: list(map(getter, records)) for name, getter in getters}


def _unnest(columns: Mapping[str, str], last: str = "") -> str:
    """Return the arrays of some columns as a table `u`; `last` numbers its rows."""
    arrays = ", ".join(f":{name}::{kind}[]" for name, kind in columns.items())
    return f"unnest({arrays}){' WITH ORDINALITY' * bool(last)} AS u({', '.join([*columns, *[last] * bool(last)])})"


def _assign(names: Iterable[str]) -> str:
    types = column_types(JobRecord)
    return ", ".join(f"{name} = :{name}::{types[name]}" for name in names if name not in KEPT)


def _split(names: tuple[str, ...]) -> tuple[str, str]:
    """Return the columns of these that stand on the job's row, and those in its body."""
    return ", ".join(name for name in names if name not in BODY), ", ".join(name for name in names if name in BODY)


_JOB, _BODY = _split(DRAFT)
_PLAIN_JOB, _PLAIN_BODY = _split(PLAIN)
FRAGMENTS = {
    "drafts": _unnest(column_types(JobRecord, *DRAFT)), "draft_job": _JOB, "draft_body": _BODY,
    "plain_drafts": _unnest(column_types(JobRecord, *PLAIN)), "plain_job": _PLAIN_JOB, "plain_body": _PLAIN_BODY,
    "replaced_job": _assign(name for name in DRAFT if name not in BODY),
    "replaced_body": _assign(name for name in DRAFT if name in BODY),
    "transitions": _unnest(column_types(Transition, *FINISH)),
    "completions": _unnest(column_types(Transition, *COMPLETED)),
    **{statement: _unnest(column_types(kind), "place") for kind, statement in UPDATES.items()},
}  # fmt: skip
