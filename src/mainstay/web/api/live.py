"""The stream of live answers, for pages that stay open."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from ..call import Call
from ..operations import Query, operation
from ..streams import EVENTS, EventStream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from ..live import Listener

BEAT = 5.0  # seconds after which a stream without news sends a comment, and its caller is checked again
LONGEST = 300.0  # seconds of one stream; the browser opens another, so that a server which stops waits no longer
RETRY = 1_000  # milliseconds after which a browser opens a stream again


class Paths(Query, frozen=True):
    """Paths of this API that GET reads as JSON, with their parameters."""

    path: list[str] = msgspec.field(default_factory=list)


@operation("GET", "/api/live", tenants=True, media=EVENTS)
async def listen(call: Call, query: Paths) -> EventStream:
    """Send the answers to paths of this API: at once, and again whenever one has changed.

    Each is an event `answer` whose data is `{"path": …, "status": 200, "body": …}`. `bye` says that the server stops.
    """
    live = call.site.live
    listener = live.listen(call.request, call.who, query.path)
    return EventStream(_events(call, listener), lambda: live.leave(listener))


async def _events(call: Call, listener: Listener) -> AsyncIterator[bytes]:
    live, end = call.site.live, asyncio.get_running_loop().time() + LONGEST
    yield b"retry: %d\n\n" % RETRY
    while not live.stopping and listener.loop.time() < end and await call.is_permitted():
        try:
            await asyncio.wait_for(listener.news.wait(), BEAT)
        except TimeoutError:
            yield b": beat\n\n"
        for data in listener.take():
            yield b"event: answer\ndata: %b\n\n" % data
    if live.stopping:
        yield b"event: bye\ndata: {}\n\n"
