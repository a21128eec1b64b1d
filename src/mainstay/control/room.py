"""Room in queues: which are full; and waiting for room, with growing pauses until the time that the queue allows is over."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from ..core.depth import depth_meter
from ..core.errors import QueueFull
from ..core.limits import effective

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..core.draft import Draft
    from ..core.job import Count
    from ..flow import Flow
    from ..handle import Handle
    from ..stores.contract import Store

WAITING = ("queued", "scheduled", "retrying", "blocked")
FIRST, LONGEST = 0.01, 0.5  # seconds between two tries


def wait_for_room(
    send: Callable[[], list[Handle[Any]]], drafts: Sequence[Draft], error: QueueFull, app: Flow
) -> list[Handle[Any]]:
    """Send drafts again until they are taken; raise `QueueFull` when the time is over, at once if there is none."""
    for pause in _pauses(drafts, error, app):
        time.sleep(pause)
        try:
            return send()
        except QueueFull as again:
            error = again
    raise error


async def await_room(
    send: Callable[[], list[Handle[Any]]], drafts: Sequence[Draft], error: QueueFull, app: Flow
) -> list[Handle[Any]]:
    """As `wait_for_room`, awaited: no thread waits."""
    import asyncio

    for pause in _pauses(drafts, error, app):
        await asyncio.sleep(pause)
        try:
            return await asyncio.to_thread(send)
        except QueueFull as again:
            error = again
    raise error


def _pauses(drafts: Sequence[Draft], error: QueueFull, app: Flow) -> Iterator[float]:
    """Yield the pauses before each further try, in seconds."""
    if app.kit is not None or len(drafts) > error.max_depth:  # in a test nobody works meanwhile; so many never fit
        return
    pause, end = FIRST, time.monotonic() + error.wait / 1000
    while (left := end - time.monotonic()) > 0:
        yield min(pause, left)
        pause = min(pause * 2, LONGEST)


def full(store: Store, counts: Sequence[Count]) -> dict[str, tuple[int, int]]:
    """Return the queues that are full, by name: how many jobs wait, and how many may. Counted where there is no meter yet."""
    most = {rule.name: effective(rule.value).get("max_depth") for rule in store.rules(["queue"])}
    bounded = {name: depth for name, depth in most.items() if depth}
    meters = store.meters([depth_meter(name) for name in bounded]) if bounded else {}
    waiting = {name: meters.get(depth_meter(name), _waiting(name, counts)) for name in bounded}
    return {name: (waiting[name], depth) for name, depth in bounded.items() if waiting[name] >= depth}


def _waiting(queue: str, counts: Sequence[Count]) -> int:
    return sum(count.jobs for count in counts if count.queue == queue and count.label in WAITING)
