"""Where the last claim ended in each lane (queue × type), so that the next does not read what was claimed before.

PostgreSQL keeps the index entries of changed rows until a vacuum removes them, and it cannot remove them while any transaction of
the server is old enough to see them: a claim from the front would read all of them. Jobs that are queued later belong behind
the cursor or near it: clocks of producers differ, so the last `SLACK` ms are always read. The rest, such as a job that another
worker released to its old place, is found by a claim from the front, which there is at least every `WHOLE` seconds.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from ...core.job import Claimed, field_getter

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Lane = tuple[str, str]  # queue, type

SLACK = 250
WHOLE = 1.0
_LANE = field_getter(Claimed, "queue", "type")


class Place(NamedTuple):
    """A place in a lane: a priority, and an order and number within it."""

    priority: int
    ord: int
    seq: int


FRONT = Place(2**31 - 1, 0, 0)  # every priority is below this one, so all jobs are read


class ClaimCursors:
    """The cursors of one process. Racing threads may lose one: that costs one claim from the front."""

    def __init__(self) -> None:
        self._places: dict[Lane, Place] = {}
        self._whole_at = float("-inf")

    def forget(self) -> None:
        """Claim from the front next time: a job went back to an old place."""
        self._places = {}

    def starts(self, lanes: Iterable[Lane], now: int) -> list[Place]:
        """Return where to read each lane: all priorities above and below, and that priority from the order and number on."""
        clock = time.monotonic()
        if clock - self._whole_at > WHOLE:
            self._places, self._whole_at = {}, clock
        places = self._places
        return [_start(places.get(lane), now) for lane in lanes]

    def note(self, lanes: Iterable[Lane], jobs: Sequence[Claimed], full: bool, now: int) -> None:
        """Keep where a claim ended; `jobs` are in order. If the claim was not `full`, a lane without a job is empty."""
        places = dict(self._places)
        last = dict(zip(map(_LANE, jobs), jobs, strict=True))
        for lane in lanes:
            job = last.get(lane)
            if job is not None:
                places[lane] = Place(-job.rank, job.ord, int(job.seq))
            elif not full:
                places.setdefault(lane, Place(0, now, 0))
        self._places = places


def _start(place: Place | None, now: int) -> Place:
    if place is None:
        return FRONT
    return place if place.ord < now - SLACK else Place(place.priority, now - SLACK, 0)
