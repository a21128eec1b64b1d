"""Long waits of a process for SQLite's write lock: while one transaction keeps out all others, nobody can renew a lease."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

STALL = 0.5  # seconds that a write waits for others before the file counts as not writable …
RENEWED = 5.0  # … and for which that counts after its end: every worker has renewed its lease by then
UNKNOWN = 86_400.0  # seconds that others may have waited already when this process comes: longer than a lease


class Stall:
    """The last long wait of one process. Waits in a row are one."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._waiting = 0.0  # since when a thread waits to write, 0: none does
        self._last = (0.0, 0.0)  # beginning and end
        self._before = UNKNOWN  # how long before the wait the stall may have begun: 0 once this process could write

    def wait_begins(self) -> None:
        """A thread is about to wait for the write lock."""
        self._waiting = self._now()

    def wait_ends(self) -> None:
        """It has the lock, or has given up."""
        self._last, self._waiting, self._before = self._extent(), 0.0, 0.0

    def _extent(self) -> tuple[float, float]:
        """Return beginning and end of the last long wait; one that goes on ends now."""
        since, now = self._waiting, self._now()
        if not since or now - since < STALL:
            return self._last
        begin, end = self._last
        return (begin if end and since - end < 2 * STALL else since - self._before), now

    def ms(self) -> int:
        """Return for how many ms nobody could renew a lease, up to now or a moment ago; 0: the file is and was writable."""
        begin, end = self._extent()
        now = self._now()
        return round((now - begin) * 1000) if end and now - end < RENEWED else 0
