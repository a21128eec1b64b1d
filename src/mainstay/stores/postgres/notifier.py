"""Wake-up: one NOTIFY after a commit, never inside it, at most one per `GAP` seconds and process; a listener that checks its
connection by notifying itself; and a poll while it receives nothing.

A commit with a NOTIFY in it waits for every other such commit of the server, so jobs are committed without one. A listener
behind a pooler in transaction mode receives nothing, nor does one whose connection died silently. A missing echo reveals
both; the listener polls until a connection works again. A notification is a hint; the claim decides what there is to do.
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
from .connect import dial, parse_url

if TYPE_CHECKING:
    from .connect import Connection, Database
    from .store import PostgresStore

GAP = 0.010  # seconds between two notifications of a process
LISTEN = 0.5  # seconds of listening before the connection is checked
POLL = 0.25  # seconds between two polls of a listener without a connection; with one, only the claimer polls
ECHO = 3.0  # seconds within which a listener must receive its own notification
CHECK = 20.0  # seconds of silence after which a listener checks its connection again
AGAIN = 1.0  # seconds until a lost connection is opened again: the worker must soon know that the server is back
NO_ECHO = 30.0  # … and one that received no echo: the reason (a pooler) will probably stay
NAME = "mainstay listener"


class Debouncer(ForkGuard):
    """Sends the notifications of one store: the first immediately, those within the gap after it as one at its end."""

    def __init__(self, db: Database) -> None:
        self._db = db
        super().__init__()
        atexit.register(_flush, weakref.ref(self))

    def _start(self) -> None:
        # A signal may raise inside of `Condition.__enter__`, after the lock is taken; `with` on the lock itself is safe.
        self._lock, self._sending = threading.Lock(), threading.Lock()
        self._change = threading.Condition(self._lock)
        self._waiting: set[str] = set()
        self._last = float("-inf")
        self._thread: threading.Thread | None = None

    def notify(self, what: str) -> None:
        """Notify all listeners, now or at the end of the gap."""
        self.restarted()
        with self._lock:
            now = time.monotonic()
            if self._waiting or now - self._last < GAP:
                self._later(what)
                return
            self._last = now
        self._send(what)

    def _later(self, what: str) -> None:
        self._waiting.add(what)
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._send_waiting, name="mainstay notifications", daemon=True)
            try:
                self._thread.start()
            except RuntimeError:  # no thread is left: the job is accepted anyway, and every worker polls
                return
        self._change.notify()

    def _send_waiting(self) -> None:
        """Send what waits at the end of each gap; end when nothing came for 5 s."""
        while True:
            with self._lock:
                if not self._change.wait_for(lambda: self._waiting, timeout=5):
                    self._thread = None
                    return
                left = self._last + GAP - time.monotonic()
            if left > 0:
                time.sleep(left)
            self.flush()

    def flush(self) -> None:
        """Send what waits, now."""
        if self.restarted():
            return
        with self._sending:  # a flush before closing the store waits for the thread
            with self._lock:
                waiting, self._waiting, self._last = self._waiting, set(), time.monotonic()
            for what in sorted(waiting):
                self._send(what)

    def _send(self, what: str) -> None:
        try:
            self._db.execute("notify", channel=self._db.dialect.schema, what=what)
        except StoreError:  # the job is accepted anyway, and every worker polls
            pass


def _flush(debouncer: weakref.ref[Debouncer]) -> None:
    """Send what waits before the program ends."""
    found = debouncer()
    if found is not None:
        found.flush()


def notifier(store: PostgresStore, worker: str) -> Listener:
    """Return a notifier for a worker."""
    return Listener(store.db, worker)


def notify(store: PostgresStore, what: str = "jobs") -> None:
    """Wake every worker."""
    store.debouncer.notify(what)


class Listener:
    """The notifier of one worker: a connection of its own that listens, and a poll as the fallback."""

    def __init__(self, db: Database, worker: str) -> None:
        self._db, self._worker = db, worker
        self._connection: Connection | None = None
        self._retry_at = self._poll_at = 0.0
        self._heard_at, self._echo_by, self._echo = 0.0, 0.0, ""
        self._poll = select.poll()
        self._reasons: deque[str] = deque()
        self._first: int | None = None
        self._stopping = 0
        self._closed = threading.Event()
        self._listen()

    @property
    def listening(self) -> bool:
        """Whether a connection listens, as far as is known."""
        return self._connection is not None

    def wait(self, timeout: int) -> str:
        """Block until a notification comes, the queue has a new first job, or the time is over."""
        until = time.monotonic() + timeout / 1000
        while True:
            now = time.monotonic()
            if not self.listening and now >= self._retry_at and self._listen():
                return "jobs"  # for what came meanwhile
            if self.listening:
                reason = self._received(max(0.0, min(until - now, LISTEN)))
            else:
                reason = ""
                self._closed.wait(max(0.0, min(until, self._poll_at, self._retry_at) - time.monotonic()))
            if reason or self._closed.is_set():
                return reason
            if timeout and not self.listening and time.monotonic() >= self._poll_at and (seen := self._polled()):
                return seen
            if time.monotonic() >= until:
                return ""

    def close(self) -> None:
        """Stop listening."""
        self._closed.set()
        self._disconnect()

    # listening ----------------------------------------------------------------------------------------------------
    def _listen(self) -> bool:
        """Connect and listen; the echo must follow."""
        self._retry_at = time.monotonic() + AGAIN
        if self._db.listen == "no" or (self._db.pooled and not self._db.listen):
            return False
        try:
            params = {"application_name": NAME}
            own = self._db.listen
            self._connection = dial(parse_url(own)[0] | params) if own else self._db.connect(**params)
            self._connection.execute(f'LISTEN "{self._db.dialect.schema}"', prepare=False)
            self._poll = select.poll()
            self._poll.register(self._connection.pgconn.socket, select.POLLIN)
        except (psycopg.Error, OSError):  # the poll raises the error to the worker
            self._disconnect()
            return False
        self._send_echo()
        return True

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _received(self, seconds: float) -> str:
        """Return what came within that time, one notification per call; "" also if the connection turned out to be lost.

        Reads through libpq: psycopg's generator took two thirds of the processor time of an idle worker.
        """
        connection = self._connection
        if connection is None:
            return ""
        try:
            if not self._reasons and self._poll.poll(seconds * 1000):
                connection.pgconn.consume_input()
                while notify := connection.pgconn.notifies():
                    self._read(notify.extra.decode(errors="replace"))
        except (psycopg.Error, OSError):
            self._disconnect()
            return ""
        self._check(time.monotonic())
        return self._reasons.popleft() if self._reasons else ""

    def _read(self, payload: str) -> None:
        self._heard_at = time.monotonic()
        if payload == self._echo:
            self._echo = ""
        if not payload.startswith("echo ") and payload not in self._reasons:  # a second one would say nothing new
            self._reasons.append(payload)

    def _check(self, now: float) -> None:
        if self._echo and now > self._echo_by:
            self._disconnect()
            self._retry_at = now + NO_ECHO
        elif not self._echo and now > self._heard_at + CHECK:
            self._send_echo()

    def _send_echo(self) -> None:
        """Notify ourselves over another connection."""
        now = time.monotonic()
        self._heard_at, self._echo_by, self._echo = now, now + ECHO, "echo " + os.urandom(6).hex()
        try:
            self._db.execute("notify", True, channel=self._db.dialect.schema, what=self._echo)
        except StoreError:  # then no producer can notify either; the next check tells whether the connection is lost
            self._echo = ""

    # polling ------------------------------------------------------------------------------------------------------
    def _polled(self) -> str:
        """Poll: return "jobs" if another job is the first in its queue, "cancel" if more jobs are to stop."""
        self._poll_at = time.monotonic() + POLL
        first, self._first = self._first, None  # if the poll fails, the next one reports whatever is there
        stopping = self._stopping
        self._first, self._stopping = self._db.execute("listen_poll", True, worker=self._worker).rows[0]
        if self._stopping > stopping:
            return "cancel"
        return "jobs" if self._first is not None and self._first != first else ""
