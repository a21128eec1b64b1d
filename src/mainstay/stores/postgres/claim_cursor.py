"""Where the last claim ended in each queue, so that the next need not walk through what was taken before.

PostgreSQL keeps the index entries of rows that have changed until a vacuum removes them, and while any transaction of the
server is old enough to see them none can: a claim from the front would walk over all of them. What is queued afterwards
belongs behind the trail's end, or near it: clocks of producers differ, so `SLACK` ms before the present are always walked.
The rest, such as a job that another worker handed back to its old place, is found by a walk from the front, which there
is at least every `WHOLE` seconds.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

SLACK = 250
WHOLE = 1.0
NOWHERE = (2**31 - 1, 0, 0)  # every priority is below this one, so all of them are walked whole


class End(NamedTuple):
    """The last place of a queue that was taken from: its priority, order and number."""

    priority: int
    ord: int
    seq: int


class ClaimCursors:
    """The ends of one process. Racing threads may lose one: that costs a walk."""

    def __init__(self) -> None:
        self._ends: dict[tuple[str, tuple[str, ...]], End] = {}
        self._whole_at = float("-inf")

    def forget(self) -> None:
        """Walk from the front next time: something went back to an old place."""
        self._ends = {}

    def starts(self, queues: Sequence[str], types: Sequence[str], now: int) -> list[tuple[int, int, int]]:
        """From where to walk each queue: whole above and below a priority, and that one from this order and number on."""
        clock = time.monotonic()
        if clock - self._whole_at > WHOLE:
            self._ends, self._whole_at = {}, clock
        ends, kinds = self._ends, tuple(types)
        return [self._start(ends.get((queue, kinds)), now) for queue in queues]

    @staticmethod
    def _start(end: End | None, now: int) -> tuple[int, int, int]:
        if end is None:
            return NOWHERE
        return end if end.ord < now - SLACK else (end.priority, now - SLACK, 0)

    def note(
        self, queues: Sequence[str], types: Sequence[str], rows: Sequence[tuple[Any, ...]], full: bool, now: int
    ) -> None:
        """Keep where a claim ended; `rows` are in order. A queue in which it found nothing, though it looked, is empty."""
        kinds, ends = tuple(types), dict(self._ends)
        last = {row[3]: row for row in rows}
        for queue in queues:
            row = last.get(queue)
            if row is not None:
                ends[queue, kinds] = End(-row[15], row[16], row[0])
            elif not full:
                ends[queue, kinds] = ends.get((queue, kinds)) or End(0, now, 0)
        self._ends = ends
