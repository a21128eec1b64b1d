"""Server-sent events: the response that sends them, and how many log streams may be open at once."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING

from starlette.responses import StreamingResponse

from .problems import Refused

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.types import Receive, Scope, Send

EVENTS = "text/event-stream"
MOST, OF_ONE = 200, 20  # streams of a site; of one caller
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # no proxy keeps events back


class EventStream(StreamingResponse):
    """A stream of events. `closed` is called when it has ended, also if its client is gone before the first event."""

    def __init__(self, events: AsyncIterator[bytes], closed: Callable[[], object]) -> None:
        super().__init__(events, media_type=EVENTS, headers=HEADERS)
        self._closed = closed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._closed()


class Streams:
    """The streams of a site that are open, by caller."""

    def __init__(self) -> None:
        self._lock, self._open = threading.Lock(), Counter[str]()

    def enter(self, caller: str) -> None:
        """Count a stream; raise `Refused` if too many are open."""
        with self._lock:
            if self._open[caller] >= OF_ONE:
                raise _refused(f"you have {OF_ONE} logs open already: close one, then open this")
            if self._open.total() >= MOST:
                raise _refused(f"{MOST} logs are open already: wait until one is closed, or read this page by page")
            self._open[caller] += 1

    def leave(self, caller: str) -> None:
        """Forget a stream that has ended."""
        with self._lock:
            self._open[caller] -= 1
            self._open += Counter()  # without those that have none open


def _refused(detail: str) -> Refused:
    return Refused(429, "too_many", detail, {"Retry-After": "5"})
