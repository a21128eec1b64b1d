"""Bulk actions: what an operator does to many jobs is one line of the audit trail.

The line counts the jobs. Each job keeps the id of the line, for as long as the job exists. The line of an operation that goes on
over many calls has the search, the arguments and the place that it has reached too: it can be resumed from there.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import Conflict
from .ids import encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence, Sized

NOTE = "note"
SAME = (NOTE, "declared")  # the same for all jobs; other details are counted by their values
# Details that differ from job to job: a line about many jobs lacks them.
SINGLE = ("run_at", "payload", "before", "after")
PLAN = "plan"  # in the line of an operation that is not finished: what else is needed to resume it
PLACE = "place"  # and the last job that it has looked at
REFUSED = "refused"  # in the line of an operation: how many jobs it did not change, by reason
BUSY = "busy"  # in place of a result: the line has another place than the one from which the caller goes on


class Bulk(NamedTuple):
    """The bulk action to which a call belongs.

    An operation also has the name of its action and what its line tells beside the counts (None removes a value), written in the
    transaction of the call. `was` is the place that the line must have. `refused`: why the caller has left other jobs alone.
    """

    id: str
    action: str = ""
    told: Mapping[str, Any] = {}
    was: str | None = None
    refused: Sequence[str] = ()


def new_bulk() -> Bulk:
    """Return a new bulk action, with a short id: each job that it changes has a copy."""
    return Bulk(encode(int.from_bytes(os.urandom(7), "big") & (1 << 50) - 1, 10))


def bulk_for(ids: Sized, given: Bulk | None) -> Bulk | None:
    """Return the bulk action to which an action on these jobs belongs; None: it concerns a single job."""
    return given or (new_bulk() if len(ids) > 1 else None)


def tally(
    total: dict[str, Any], details: Iterable[Mapping[str, Any]], refused: Iterable[str] = (), told: Mapping[str, Any] | None = None
) -> dict[str, Any]:  # fmt: skip
    """Return the detail of a bulk action with those of more jobs: `{"jobs": 3, "from": {"dead": 2, "review": 1}}`."""
    total = {"jobs": 0} | total
    for detail in details:
        total["jobs"] += 1
        for name, value in detail.items():
            if name in SAME:
                total[name] = value
            elif name not in SINGLE:
                _count(total, name, value)
    if told:
        total = {name: value for name, value in {**total, **told}.items() if value is not None}
        for result in refused:
            _count(total, REFUSED, result.split(" ")[0])
    return total


def _count(total: dict[str, Any], name: str, value: str) -> None:
    counts = total.setdefault(name, {})
    counts[value] = counts.get(value, 0) + 1


def check_place(bulk: Bulk, line: Mapping[str, Any]) -> None:
    """Raise `Conflict` if an operation is no longer at the place from which the caller goes on."""
    if bulk.was is not None and line.get(PLACE) != bulk.was:
        raise busy(bulk.id)


def busy(operation: str) -> Conflict:
    """Return the error for an operation on which another process works, or which it has finished."""
    return Conflict(
        f"another process works on the operation {operation}, or has finished it: mainstay bulk", "mainstay bulk"
    )
