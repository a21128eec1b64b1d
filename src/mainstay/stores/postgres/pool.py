"""The connections of a process for one purpose: opened when needed, shared by its threads, closed when idle for a while.

A signal may raise an exception at any line. So the pool counts the blocks that use a connection by weak references: one that
was interrupted counts no longer than it exists. And it holds its plain lock around few lines only: to enter a lock's own `with`
cannot be interrupted halfway, to enter a `Condition` can.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING
from weakref import WeakSet

from ...core.errors import StoreBusy
from . import errors

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from .connect import Database
    from .wire import Wire

IDLE = 60.0  # seconds after which an idle connection is closed
WAIT = 10.0  # seconds a caller waits for a connection
LOOK = 1.0  # seconds after which a waiting caller looks for the place of a block that was interrupted


class Pool:
    """At most `limit` connections."""

    def __init__(self, limit: float, connect: Callable[[], Wire]) -> None:
        self._limit, self._connect = limit, connect
        self._lock = threading.Lock()
        self._used: WeakSet[Checkout] = WeakSet()
        self._idle: list[tuple[float, Wire]] = []  # the last used comes last
        self._waiting: list[threading.Lock] = []  # one a waiting thread, released when a connection comes back

    def acquire(self, checkout: Checkout) -> Wire:
        """Return an idle connection that works, or a new one; wait while all are in use."""
        self._enter(checkout)
        while self._idle:
            with self._lock:
                wire = self._idle.pop()[1] if self._idle else None
            if wire is not None and wire.alive():
                return wire
        return self._connect()

    def _enter(self, checkout: Checkout) -> None:
        until = time.monotonic() + WAIT
        while True:
            freed = threading.Lock()
            with self._lock:
                if len(self._used) < self._limit:
                    self._used.add(checkout)
                    return
                freed.acquire()
                self._waiting.append(freed)
            left = until - time.monotonic()
            if left <= 0:
                raise StoreBusy(
                    f"all {self._limit} connections are in use; add &connections={2 * self._limit} to the URL"
                )
            freed.acquire(timeout=min(left, LOOK))

    def release(self, checkout: Checkout, wire: Wire | None) -> None:
        """End the use of a connection, which others may use from now on; None: it cannot be used again."""
        now = time.monotonic()
        with self._lock:
            self._used.discard(checkout)
            if wire is not None:
                self._idle.append((now, wire))
            waiting, self._waiting = self._waiting, []
        for freed in waiting:
            freed.release()
        if self._idle and now - self._idle[0][0] > IDLE:
            self.close_idle(IDLE)

    def close_idle(self, age: float = 0.0) -> None:
        """Close the connections that have been idle for so many seconds."""
        limit = time.monotonic() - age
        with self._lock:
            old = [wire for at, wire in self._idle if at <= limit]
            self._idle = [(at, wire) for at, wire in self._idle if at > limit]
        for wire in old:
            wire.close()


class Checkout:
    """One connection for the length of a block, errors mapped."""

    __slots__ = ("__weakref__", "_db", "_pool", "_wire")

    def __init__(self, db: Database, pool: Pool) -> None:
        self._db, self._pool = db, pool

    def __enter__(self) -> Wire:
        try:
            self._wire = self._pool.acquire(self)
        except BaseException as error:
            self._pool.release(self, None)
            errors.translate(error, self._db.place)
            raise
        return self._wire

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        wire, broken = self._wire, errors.broken(error)
        if broken:  # what broke this one broke the others too
            self._db.close()
        usable = wire.rest() and not broken
        if not usable:
            wire.close()
        self._pool.release(self, wire if usable else None)
        if error is not None:
            errors.translate(error, self._db.place)
