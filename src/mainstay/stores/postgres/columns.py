"""The columns that hot statements get as arrays, one array a column, and the fragments of SQL made from them.

The fields of `core.export.JobRecord` that a draft has are its columns: a new one needs no edit here. It is on the job's row unless
`BODY` names it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.decide import Transition
from ...core.draft import Draft
from ...core.export import JobRecord
from ...core.job import Claimed, field_getter
from ...core.updates import Checkpoint, Log, Progress
from ..sql.dialect import column_types

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ...core.tally import Counts

BODY = (
    "id", "payload", "backoff", "created_at", "timeout", "keep", "max_attempts", "lock", "key", "tenant", "ref", "tags", "parent", "version",
    "schedule", "tick", "trace",
)  # fmt: skip
DRAFT = tuple(name for name in JobRecord._fields if name in Draft.__slots__)
PLAIN = ("id", "type", "queue", "priority", "max_attempts", "timeout", "keep", "backoff", "created_at", "payload")
RARE = tuple(name for name in DRAFT if name not in PLAIN)  # most jobs have the default
KEPT = ("id", "type", "created_at", "parent", "key", "lock")  # of a job that a newer draft with the same key replaces
FINISH = tuple(name for name in Transition._fields if name not in ("id", "children", "rules", "review", "waited"))
_NOT_OF_JOB = {*BODY, "cancelling", "rank"}
CLAIMED = (
    *(name for name in Claimed._fields if name not in _NOT_OF_JOB),
    "cancel_at",
    "priority",
    "lock_until",
)  # of the job's row
COMPLETED = ("seq", "token", "finished_at", "expires_at", "result")
UPDATES: dict[Any, str] = {Log: "log", Progress: "progress", Checkpoint: "checkpoint"}  # and their tables


def of(record: Any, names: tuple[str, ...]) -> Callable[[Sequence[Any]], dict[str, list[Any]]]:
    """Return a function that turns records of a kind into a list a column, by name."""
    if hasattr(record, "_fields"):  # to read a tuple by position takes half as long as by name
        getters = [(name, field_getter(record, name)) for name in names]
        return lambda records: {name: list(map(get, records)) for name, get in getters}
    columns = ", ".join(f"{name!r}: [each.{name} for each in records]" for name in names)
    made: Callable[[Sequence[Any]], dict[str, list[Any]]] = eval(f"lambda records: {{{columns}}}")  # noqa: S307
    return made  # of our own names; `attrgetter` takes twice as long


def counts(counts: Counts) -> dict[str, list[Any]]:
    """Return what is to be counted (`core.tally`) as a list a column."""
    rows = [(*group, name, n) for group, names in counts.items() for name, n in names.items()]
    return dict(zip(("minutes", "types", "names", "ns"), map(list, zip(*rows, strict=True)), strict=True))


def _unnest(columns: Mapping[str, str]) -> str:
    """Return the arrays of some columns as a table `u`."""
    arrays = ", ".join(f":{name}::{kind}[]" for name, kind in columns.items())
    return f"unnest({arrays}) AS u({', '.join(columns)})"


def _assign(names: Iterable[str]) -> str:
    types = column_types(JobRecord)
    return ", ".join(f"{name} = :{name}::{types[name]}" for name in names if name not in KEPT)


def _newest(kind: Any) -> str:
    """Return what to do with the row that a job has already: replace it, unless a newer attempt wrote it."""
    return f"(job) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in kind._fields[1:])} WHERE t.token <= excluded.token"


def _split(names: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Return the columns of these that stand on the job's row, and those in its body."""
    return [name for name in names if name not in BODY], [name for name in names if name in BODY]


_JOB, _BODY = _split(DRAFT)
_PLAIN_JOB, _PLAIN_BODY = _split(PLAIN)
FRAGMENTS = {
    "drafts": _unnest(column_types(JobRecord, *DRAFT)), "draft_job": ", ".join(name for name in _JOB if name != "waits"),
    "draft_body": ", ".join(_BODY),
    "free_": "", "free_keyed": "WHERE given.lock IS NULL OR NOT EXISTS (SELECT 1 FROM mainstay.key k "
    "WHERE k.key = ANY (ARRAY[given.key]) AND k.type = ANY (ARRAY[given.type]) AND k.type || ':' || k.key = given.lock)",
    "plain_drafts": _unnest(column_types(JobRecord, *PLAIN)),
    "plain_job": ", ".join(_PLAIN_JOB), "plain_body": ", ".join(_PLAIN_BODY),
    "replaced_job": _assign(name for name in _JOB if name != "waits"), "replaced_body": _assign(_BODY),
    "transitions": _unnest(column_types(Transition, *FINISH) | {"counted": "text"}),
    "claimed_job": ", ".join(f"j.{name}" for name in CLAIMED),
    "completions": _unnest(column_types(Transition, *COMPLETED)),
    **{f"update_{table}": _unnest(column_types(kind)) for kind, table in UPDATES.items()},
    **{f"columns_{table}": ", ".join(kind._fields[1:]) for kind, table in UPDATES.items()},
    **{f"conflict_{table}": "DO NOTHING" if kind is Log else _newest(kind) for kind, table in UPDATES.items()},
}  # fmt: skip
