"""Jobs that look like duplicates of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.duplicates import LIMIT, LONGEST, Duplicate, Duplicates
from .store import rows

if TYPE_CHECKING:
    from .store import SqlStore


def duplicates(store: SqlStore, since: int, cap: int) -> Duplicates:
    """Return jobs of the same type with the same key or arguments, among the newest."""
    found = store.read(rows(store, "duplicates", since=since, cap=cap, longest=LONGEST, limit=LIMIT))
    beyond = store.read(rows(store, "duplicates_beyond", cap=cap))
    return Duplicates([Duplicate(*row) for row in found], cap if beyond and beyond[0][0] >= since else None)
