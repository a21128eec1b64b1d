"""The lanes (queue × type) that a worker may claim from, as the statements get them, and where the last claim ended in each.

PostgreSQL keeps the index entries of changed rows until a vacuum removes them, and it cannot remove them while any transaction of
the server is old enough to see them: a claim from the front would read all of them. Jobs that are queued later belong behind
the cursor or near it: clocks of producers differ, so the last `SLACK` ms are always read. The rest, such as a job that another
worker released to its old place, is found by a claim from the front, which there is at least every `WHOLE` seconds.
"""

from __future__ import annotations

import time
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from .arrays import Packed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from operator import itemgetter

    from ...core.job import Claimed

    Wants = Mapping[str, Sequence[str]]
    Lane = tuple[str, str]  # queue, type

FEW = 64  # lanes that a claim reads all, from its cursors; of more, the server first finds those in which jobs wait
SLACK = 250
WHOLE = 1.0


def few(wants: Wants) -> dict[Lane, int] | None:
    """Return the lanes with the places of their queues in the order of claims, or None if there are many."""
    if sum(map(len, wants.values())) > FEW:
        return None
    return {(queue, type): place for place, (queue, types) in enumerate(wants.items()) for type in types}


class ManyLanes:
    """What is bound for workers with many lanes. Kept for the last mapping: to make it of 90,000 lanes takes a millisecond."""

    def __init__(self) -> None:
        self._last: tuple[Wants, dict[str, Packed]] | None = None

    def columns(self, wants: Wants) -> dict[str, Packed]:
        """Return the queues, all their types, and which slice of those each queue wants. `wants` must not change any more."""
        last = self._last
        if last is None or last[0] is not wants:
            last = self._last = wants, {name: Packed(column) for name, column in _sliced(wants).items()}
        return last[1]


def _sliced(wants: Wants) -> dict[str, list[Any]]:
    slices: dict[tuple[str, ...], tuple[int, int]] = {}
    types: list[str] = []
    for wanted in map(tuple, wants.values()):
        if wanted not in slices:
            slices[wanted] = len(types) + 1, len(types) + len(wanted)
            types += wanted
    # None: all, as most workers want the same types of every queue.
    bounds = [slices[tuple(wanted)] if len(slices) > 1 else (None, None) for wanted in wants.values()]
    firsts, lasts = map(list, zip(*bounds, strict=True))
    return {"queues": list(wants), "types": types, "firsts": firsts, "lasts": lasts}


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

    def note(self, lanes: Collection[Lane], jobs: Sequence[Claimed], full: bool, now: int) -> None:
        """Keep where a claim ended; `jobs` are in order. If the claim was not `full`, a lane without a job is empty."""
        places = dict(self._places)
        if len(lanes) > 1:
            last = dict(zip(map(_lane(), jobs), jobs, strict=True))
        else:
            last = dict.fromkeys(lanes, jobs[-1]) if jobs else {}
        for lane in lanes:
            job = last.get(lane)
            if job is not None:
                places[lane] = Place(-job.rank, job.ord, int(job.seq))
            elif not full:
                places.setdefault(lane, Place(0, now, 0))
        self._places = places


@cache
def _lane() -> itemgetter[Any]:
    from ...core.job import Claimed, field_getter  # a producer claims nothing

    return field_getter(Claimed, "queue", "type")


def _start(place: Place | None, now: int) -> Place:
    if place is None:
        return FRONT
    return place if place.ord < now - SLACK else Place(place.priority, now - SLACK, 0)
