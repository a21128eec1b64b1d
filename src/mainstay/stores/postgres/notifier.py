"""Wake-up: one NOTIFY after a commit, never inside of it, and at most one in `GAP` s a process; a listener that proves it
hears, by notifying itself; and a poll for as long as it does not.

A commit with a NOTIFY in it waits for every other such commit of the server, so jobs are committed without. A listener
behind a pooler in transaction mode hears nothing, and one whose connection died without a word neither: both are found
out by a missing echo, and then the poll has to do until a connection hears again. A ring is a hint; what counts is what
the claim finds.
"""

from __future__ import annotations

import atexit
import os
import select
import threading
import time
import weakref
from collections import deque
from typing import TYPE_CHECKING

import psycopg

from ...core.errors import StoreError
from ..fork import ForkGuard
from .connect import parse_url

if TYPE_CHECKING:
    from .connect import Connection, Database

GAP = 0.010  # seconds between two rings of a process
LISTEN = 0.5  # seconds of listening before the next thought of whether we hear
POLL = 0.25  # seconds between two looks at the queue of one that does not hear; who hears leaves that to the claimer
ECHO = 3.0  # seconds within which a listener must hear itself
PROVE = 20.0  # seconds after which a silent listener proves itself again
AGAIN = 1.0  # seconds after which a lost connection is tried again: the worker is to know soon that the server is back
DEAF = 30.0  # … and one that heard nothing, for which there is a reason that stays
NAME = "mainstay listener"


class Debouncer(ForkGuard):
    """Rings for one store. The first ring goes out at once, those that follow within the gap as one at its end."""

    def __init__(self, db: Database) -> None:
        self._db = db
        super().__init__()
        atexit.register(_flush, weakref.ref(self))

    def _start(self) -> None:
        self._change, self._sending = threading.Condition(), threading.Lock()
        self._waiting: set[str] = set()
        self._last = float("-inf")
        self._thread: threading.Thread | None = None

    def notify(self, what: str) -> None:
        """Ring now, or soon."""
        self._same_process()
        with self._change:
            now = time.monotonic()
            if self._waiting or now - self._last < GAP:
                self._later(what)
                return
            self._last = now
        self._send(what)

    def _later(self, what: str) -> None:
        self._waiting.add(what)
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._send_waiting, name="mainstay ringer", daemon=True)
            self._thread.start()
        self._change.notify()

    def _send_waiting(self) -> None:
        """Send what waits when the gap is over; ends when nothing came for a while."""
        while True:
            with self._change:
                if not self._change.wait_for(lambda: self._waiting, timeout=5):
                    self._thread = None
                    return
                left = self._last + GAP - time.monotonic()
            if left > 0:
                time.sleep(left)
            self.flush()

    def flush(self) -> None:
        """Send what waits, now."""
        if not self._same_process():
            return
        with self._sending:  # who flushes before closing the store waits for the thread's last word
            with self._change:
                waiting, self._waiting, self._last = self._waiting, set(), time.monotonic()
            for what in sorted(waiting):
                self._send(what)

    def _send(self, what: str) -> None:
        try:
            self._db.execute("notify", self._db.load.schema, what)
        except StoreError:  # the job is accepted all the same, and every worker polls
            pass


def _flush(ringer: weakref.ref[Debouncer]) -> None:
    """A program that enqueues and ends takes no ring with it."""
    found = ringer()
    if found is not None:
        found.flush()


class Listener:
    """The bell of one worker: a connection of its own that listens, and the poll behind it."""

    def __init__(self, db: Database, worker: str) -> None:
        self._db, self._worker = db, worker
        self._connection: Connection | None = None
        self._retry_at = self._poll_at = 0.0
        self._heard_at, self._echo_by, self._echo = 0.0, 0.0, ""
        self._poll = select.poll()
        self._rings: deque[str] = deque()
        self._first: int | None = None
        self._stopping = 0
        self._closed = threading.Event()
        self._listen()

    @property
    def hears(self) -> bool:
        """Whether it listens, as far as anyone knows."""
        return self._connection is not None

    def wait(self, timeout: int) -> str:
        """Block until it rings, the queue has a new first job, or the time is over."""
        until = time.monotonic() + timeout / 1000
        while True:
            now = time.monotonic()
            if not self.hears and now >= self._retry_at and self._listen():
                return "jobs"  # whatever came meanwhile
            rang = self._rung(max(0.0, min(until - now, LISTEN))) if self.hears else self._paused(until)
            if rang or self._closed.is_set():
                return rang
            if timeout and not self.hears and time.monotonic() >= self._poll_at and (seen := self._seen()):
                return seen
            if time.monotonic() >= until:
                return ""

    def close(self) -> None:
        """Stop listening."""
        self._closed.set()
        self._hang_up()

    # listening ----------------------------------------------------------------------------------------------------
    def _listen(self) -> bool:
        """Connect and listen; the echo has to follow."""
        self._retry_at = time.monotonic() + AGAIN
        if self._db.listen == "no" or (self._db.pooled and not self._db.listen):
            return False
        try:
            self._connection = self._dial()
            self._connection.execute(f'LISTEN "{self._db.load.schema}"', prepare=False)
            self._poll = select.poll()
            self._poll.register(self._connection.pgconn.socket, select.POLLIN)
        except (psycopg.Error, OSError):  # the poll's errors reach the worker
            self._hang_up()
            return False
        self._ask()
        return True

    def _dial(self) -> Connection:
        if not self._db.listen:
            return self._db.connect(application_name=NAME)
        params, _ = parse_url(self._db.listen)
        return psycopg.connect(**params | {"application_name": NAME}, autocommit=True, cursor_factory=psycopg.RawCursor)

    def _hang_up(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _rung(self, seconds: float) -> str:
        """What came within that time, one ring a call; "" also when the connection turned out to be gone, or deaf.

        Straight through libpq: psycopg's generator took two thirds of the processor time of a worker at rest.
        """
        connection = self._connection
        if connection is None:
            return ""
        try:
            if not self._rings and self._poll.poll(seconds * 1000):
                connection.pgconn.consume_input()
                while notify := connection.pgconn.notifies():
                    self._understand(notify.extra.decode(errors="replace"))
        except (psycopg.Error, OSError):
            self._hang_up()
            return ""
        self._prove(time.monotonic())
        return self._rings.popleft() if self._rings else ""

    def _understand(self, payload: str) -> None:
        self._heard_at = time.monotonic()
        if payload == self._echo:
            self._echo = ""
        if not payload.startswith("echo ") and payload not in self._rings:  # a second word would say nothing new
            self._rings.append(payload)

    def _prove(self, now: float) -> None:
        if self._echo and now > self._echo_by:
            self._hang_up()
            self._retry_at = now + DEAF
        elif not self._echo and now > self._heard_at + PROVE:
            self._ask()

    def _ask(self) -> None:
        """Notify ourselves, by way of another connection."""
        now = time.monotonic()
        self._heard_at, self._echo_by, self._echo = now, now + ECHO, "echo " + os.urandom(6).hex()
        try:
            self._db.execute("notify", self._db.load.schema, self._echo)
        except StoreError:  # then nobody rings either; the next proof finds it working again, or the connection gone
            self._echo = ""

    # polling ------------------------------------------------------------------------------------------------------
    def _paused(self, until: float) -> str:
        self._closed.wait(max(0.0, min(until, self._poll_at, self._retry_at) - time.monotonic()))
        return ""

    def _seen(self) -> str:
        """What a look tells: another job than at the last look is the first in its queue, or more jobs are to stop."""
        self._poll_at = time.monotonic() + POLL
        first, self._first = self._first, None  # should the server be away: whatever is there then is new
        stopping = self._stopping
        self._first, self._stopping = self._db.execute("listen_poll", self._worker).rows[0]
        if self._stopping > stopping:
            return "cancel"
        return "jobs" if self._first is not None and self._first != first else ""
