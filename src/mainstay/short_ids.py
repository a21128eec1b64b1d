"""Ids as people see and type them: the beginning of one, or its two ends, as in `01JQ93ZK5M…000A`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .core.errors import NotFound, UsageError
from .core.ids import LENGTH, normal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .stores.contract import Store

START, END = 10, 4  # characters of a shortened id: its millisecond, and the end of its count
SAME_START = 100_000  # jobs with the same start among which an end is looked for: one call may enqueue as many
SHOWN = 5  # candidates


def full_id(store: Store, given: str) -> str:
    """Return the id that a person means; raise `NotFound`, or `UsageError` with the candidates."""
    start, _, end = normal(given).replace("..", "…").partition("…")
    if len(start) == LENGTH and not end:
        return start
    found = store.find(start, SAME_START if end else SHOWN + 1) if start else []
    found = [each for each in found if each.endswith(end)]
    if not found:
        raise NotFound(f"there is no job {given!r}")
    if len(found) > 1:
        more = " …" if len(found) > SHOWN else ""
        raise UsageError(f"{given!r} stands for several jobs: {', '.join(found[:SHOWN])}{more}")
    return found[0]


def shortened(ids: Sequence[str]) -> list[str]:
    """Return each id without its middle. Jobs of the same moment differ at the end only, which is as long as it must be."""
    for length in range(END, LENGTH - START):
        short = [f"{id[:START]}…{id[-length:]}" for id in ids]
        if len(set(short)) == len(set(ids)):
            return short
    return list(ids)
