"""The columns that claims, outcomes and updates get as arrays, one array a column, and the fragments of SQL made from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.decide import Transition
from ...core.job import Claimed, field_getter
from ...core.updates import Checkpoint, Log, Progress
from ..sql.dialect import column_types
from .columns import BODY, unnest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...core.tally import Counts

FINISH = tuple(name for name in Transition._fields if name not in ("id", "children", "rules", "review", "waited"))
_NOT_OF_JOB = {*BODY, "cancelling", "rank"}
# Of the job's row.
CLAIMED = (*(name for name in Claimed._fields if name not in _NOT_OF_JOB), "cancel_at", "priority", "lock_until")
COMPLETED = ("seq", "token", "finished_at", "expires_at", "result")
UPDATES: dict[Any, str] = {Log: "log", Progress: "progress", Checkpoint: "checkpoint"}  # and their tables


def of(record: Any, names: tuple[str, ...]) -> Callable[[Sequence[Any]], dict[str, list[Any]]]:
    """Return a function that turns records of a kind into a list a column, by name.

    To read a tuple by position takes half as long as by name.
    """
    getters = [(name, field_getter(record, name)) for name in names]
    return lambda records: {name: list(map(get, records)) for name, get in getters}


def counts(counts: Counts) -> dict[str, list[Any]]:
    """Return what is to be counted (`core.tally`) as a list a column."""
    rows = [(*group, name, n) for group, names in counts.items() for name, n in names.items()]
    return dict(zip(("minutes", "types", "names", "ns"), map(list, zip(*rows, strict=True)), strict=True))


def _newest(kind: Any) -> str:
    """Return what to do with the row that a job has already: replace it, unless a newer attempt wrote it."""
    return f"(job) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in kind._fields[1:])} WHERE t.token <= excluded.token"


FRAGMENTS = {
    "transitions": unnest(column_types(Transition, *FINISH) | {"counted": "text"}),
    "claimed_job": ", ".join(f"j.{name}" for name in CLAIMED),
    "completions": unnest(column_types(Transition, *COMPLETED)),
    **{f"update_{table}": unnest(column_types(kind)) for kind, table in UPDATES.items()},
    **{f"columns_{table}": ", ".join(kind._fields[1:]) for kind, table in UPDATES.items()},
    **{f"conflict_{table}": "DO NOTHING" if kind is Log else _newest(kind) for kind, table in UPDATES.items()},
}
