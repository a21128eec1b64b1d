"""Bulk actions: what an operator does to many jobs is one line of the audit trail.

The line counts the jobs. Each job keeps the id of the line, for as long as the job exists.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from .ids import encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Sized

NOTE = "note"
SAME = (NOTE, "declared")  # the same for all jobs; other details are counted by their values


def new_bulk() -> str:
    """Return an id for a bulk action: short, because each job that it changes has a copy."""
    return encode(int.from_bytes(os.urandom(7), "big") & (1 << 50) - 1, 10)


def bulk_for(ids: Sized, given: str | None) -> str | None:
    """Return the bulk action to which an action on these jobs belongs; None: it concerns a single job."""
    return given or (new_bulk() if len(ids) > 1 else None)


def tally(total: dict[str, Any], details: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the detail of a bulk action with those of more jobs: `{"jobs": 3, "from": {"dead": 2, "review": 1}}`."""
    total = {"jobs": 0} | total
    for detail in details:
        total["jobs"] += 1
        for name, value in detail.items():
            if name in SAME:
                total[name] = value
            else:
                counts = total.setdefault(name, {})
                counts[value] = counts.get(value, 0) + 1
    return total
