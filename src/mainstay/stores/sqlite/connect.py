"""Connections to one SQLite file: one for writing, behind a lock, and one per thread for reading.

Every write is `BEGIN IMMEDIATE`: a deferred transaction that reads first fails with BUSY_SNAPSHOT immediately, whatever the
busy timeout is. Nothing else may open the file in this process: closing it elsewhere drops SQLite's POSIX locks.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from _weakrefset import WeakSet

from ...core.errors import ConfigError, StoreBusy, StoreUnavailable
from ..fork import ForkGuard
from . import errors, schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _thread import RLock
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")

MEMORY = ":memory:"
# KB: there is a reader per thread. A search of 100,000 jobs gains nothing from 16 MB.
READER_CACHE = "PRAGMA cache_size = -2000"
# Pages of 4 KB in the log before a commit of a worker copies them into the file. Workers commit all the time, and beyond SQLite's own 1,000
# most of their commits copied what was new. A producer leaves it at that: while its log grows, a commit costs it a third more.
LOGGED = 8_000
BUSY = 10.0  # seconds that a write waits for the lock
LONGEST_PAUSE = 0.005  # seconds between two looks whether the write lock is free
STALL = 0.5  # seconds that a write waits for others before the file counts as not writable …
RENEWED = 5.0  # … and for which that counts after its end: every worker has renewed its lease by then
UNKNOWN = 86_400.0  # seconds that others may have waited already when this process comes: longer than a lease
FORK_WAIT = 10.0  # seconds that a fork waits for what other threads do
CLOSE_WAIT = 5.0  # seconds that a close waits for a thread that reads
SYNCHRONOUS = ("full", "normal", "extra")


class Stall:
    """The last long wait of a process for the write lock, in which nobody could renew a lease. Waits in a row are one."""

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


class Database(ForkGuard):
    """One database file (or one in memory), opened when first used, and again after a fork."""

    busy = BUSY

    def __init__(self, url: str) -> None:
        self.path, options = parse_url(url)
        self.memory = self.path == MEMORY
        self.synchronous = options.pop("synchronous", "full")
        self.create = options.pop("mode", "create") == "create"
        if options or self.synchronous not in SYNCHRONOUS:
            raise _refused(url, "options are synchronous=full|normal|extra and mode=create|existing")
        self._works = False  # whether a worker of this process writes
        self._writes = False  # another thread, at the moment of a fork
        self._inherited = False  # its write lock, in the child
        super().__init__()

    def _start(self) -> None:
        self._lock = threading.RLock()
        self._gate = threading.RLock()  # for the list of readers
        self._writer: sqlite3.Connection | None = None
        self._local = threading.local()
        self._readers: list[tuple[threading.Thread, sqlite3.Connection, RLock]] = []
        self._file: tuple[int, int] | None = None  # the file that the connections have open
        self._reads: WeakSet[RLock] = WeakSet()  # a lock per thread, held while it reads
        self._held = False  # the lock, by a thread that forks
        self._paused: list[RLock] = []  # the other locks that it holds
        self.stall = Stall()

    # Forks: SQLite keeps the locks of all connections of a process in memory, and a child has a copy. A write lock that is
    # held at this moment would be held in the child for ever, and so would the lock of SQLite's memory, which reads take too.
    def before_fork(self) -> None:
        until = time.monotonic() + FORK_WAIT
        self._held = self._lock.acquire(timeout=FORK_WAIT)
        self._pause(self._gate, until)
        for lock in tuple(self._reads):
            self._pause(lock, until)
        writer = self._writer
        self._writes = not self.memory and writer is not None and (not self._held or writer.in_transaction)

    def _pause(self, lock: RLock, until: float) -> None:
        if lock.acquire(timeout=max(0.0, until - time.monotonic())):
            self._paused.append(lock)

    def restarted(self) -> bool:
        forked = super().restarted()
        self._inherited |= forked and self._writes
        self._writes = False
        return forked

    def after_fork(self) -> None:
        self._writes = False
        while self._paused:
            self._paused.pop().release()
        if self._held:
            self._held = False
            self._lock.release()

    def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do the work in one write transaction and return its result. Any error rolls it back.

        All of it is one function, and not the methods of a context manager: Python may raise the exception of a signal at the
        first line of each function, that is before `__exit__` has done anything.
        """
        try:
            with self._lock:
                connection = self.writer()
                self._refuse_nested(connection)
                try:
                    self._begin(connection)
                    result = work(connection)
                    connection.execute("COMMIT")
                except BaseException:
                    try:
                        connection.rollback()  # without effect if the transaction has ended
                    except sqlite3.Error:  # the disk is gone or full: a new connection recovers from the log
                        self._writer = None
                        connection.close()
                    raise
                return result
        except BaseException as error:
            errors.translate(error, self.path)
            raise

    def _begin(self, connection: sqlite3.Connection) -> None:
        self.stall.wait_begins()
        try:
            _take_write_lock(connection, self.busy)
        finally:
            self.stall.wait_ends()

    def _refuse_nested(self, connection: sqlite3.Connection) -> None:
        if connection.in_transaction:  # of the code below, which alone may end it
            raise StoreBusy(f"{self.path}: a signal handler writes, while the code that it interrupted writes too")

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do work that only reads, on this thread's own connection; no transaction is held between statements."""
        try:
            if not self.memory:
                mine = self._local  # a close of another thread gives us a new one: connection and lock belong together
                lock = self._reading(mine)
                with lock:
                    return work(self.reader(mine, lock))
            with self._lock:  # a database in memory has only one connection
                return work(self.writer())
        except BaseException as error:
            errors.translate(error, self.path)
            raise

    def ready(self) -> None:
        """Create the file and its schema if they are missing. Otherwise waits for no lock: the caller may hold SQLite's own."""
        if self._writer is not None:
            return
        try:
            with self._lock:
                self.writer()
        except BaseException as error:
            errors.translate(error, self.path)
            raise

    def writer(self) -> sqlite3.Connection:
        """Return the write connection; call with the lock held."""
        if self._inherited:
            raise StoreUnavailable(
                f"{self.path}: this process was forked while another thread wrote to the file, so SQLite cannot write here. "
                "Fork while no thread writes, or start processes without fork (multiprocessing: spawn)."
            )
        self._check_unmoved()
        if self._writer is None:
            self._writer = self._open(create=True)
            self._writer.execute("PRAGMA busy_timeout = 0")  # `_take_write_lock` waits
            # Before a savepoint or a statement changes a page, SQLite keeps a copy: above 64 KiB in a file, unless all is kept in memory.
            # In a claim for hundreds of jobs these copies were half of all writes. A transaction is bounded, so this memory is.
            self._writer.execute("PRAGMA temp_store = MEMORY")
            self._let_log_grow()
        return self._writer

    def works(self) -> None:
        """Note that a worker of this process writes: its log may grow."""
        if not self._works:
            with self._lock:
                self._works = True
                self._let_log_grow()

    def _let_log_grow(self) -> None:
        if self._works and self._writer is not None:
            self._writer.execute(f"PRAGMA wal_autocheckpoint = {LOGGED}")

    def _reading(self, mine: threading.local) -> RLock:
        """Return the lock that this thread holds while it reads, so that a fork and a close can wait for its end."""
        lock: RLock | None = getattr(mine, "reading", None)
        if lock is None:
            lock = threading.RLock()
            with self._gate:
                self._reads.add(lock)
            mine.reading = lock
        return lock

    def reader(self, mine: threading.local, lock: RLock) -> sqlite3.Connection:
        """Return this thread's read connection."""
        self._check_unmoved()
        connection: sqlite3.Connection | None = getattr(mine, "connection", None)
        if connection is None or mine.file != self._file:
            connection = mine.connection = self._open(create=self.create and not os.path.exists(self.path))
            connection.execute(READER_CACHE)
            mine.file = self._file
            self._register(connection, lock)
        return connection

    def _register(self, connection: sqlite3.Connection, lock: RLock) -> None:
        """Add a new reader, and close those that are no longer used: of ended threads, and this thread's last one."""
        me = threading.current_thread()
        with self._gate:
            before, self._readers = self._readers, [(me, connection, lock)]
            for thread, other, held in before:
                if thread.is_alive() and thread is not me:
                    self._readers.append((thread, other, held))
                else:
                    other.close()

    def _check_unmoved(self) -> None:
        """Raise if the file at the path is not the one that is open: writes to the open one would be lost."""
        known = self._file  # a close of another thread forgets it
        if known is None or errors.identity(self.path) == known:
            return
        with self._lock:
            if self._writer is not None:
                self._writer.close()
            self._writer = self._file = None
        raise StoreUnavailable(
            f"{self.path} was removed, replaced or emptied while it was open, and its jobs with it. "
            "The next call opens the path again; stop every program before you move a database."
        )

    def _open(self, create: bool) -> sqlite3.Connection:
        connection = self.connect(lambda connection: schema.ensure(connection, self.path, create))
        if not self.memory:
            self._file = errors.identity(self.path)
        return connection

    def connect(self, check: Callable[[sqlite3.Connection], None] = lambda _: None) -> sqlite3.Connection:
        """Return a new connection that passes the check; without one, whatever schema the file has."""
        if not self.memory:
            errors.check_path(self.path, self.create)
        connection = sqlite3.connect(
            self.path, timeout=BUSY, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        try:
            self._prepare(connection)
            check(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Apply the settings that our promises depend on to a new connection."""
        if not self.memory:
            _switch_to_wal(connection)
        for setting in (f"synchronous = {self.synchronous}", "cache_size = -16000", "journal_size_limit = 67108864"):
            connection.execute(f"PRAGMA {setting}")
        connection.create_function("mainstay_difference", 3, _difference, deterministic=True)

    def close(self) -> None:
        """Close every connection of this process; each of another thread when that thread has read what it reads.

        SQLite crashes the process if a connection is closed that is in use. One that is in use for longer is left to its thread.
        """
        with self._lock:
            writer, readers = self._writer, self._readers
            self._start()
            if writer is not None:
                writer.close()
        for _, connection, lock in readers:
            if lock.acquire(timeout=CLOSE_WAIT):
                try:
                    connection.close()
                finally:
                    lock.release()


def _difference(*values: str) -> int:
    from .dialect import difference  # a producer needs no search

    return difference(*values)


def _take_write_lock(connection: sqlite3.Connection, busy: float) -> None:
    """Begin a transaction with the write lock, for which it waits so many seconds.

    SQLite waits longer and longer, up to 100 ms, between two looks. Two workers that write all the time then do not take turns: one
    of them writes, and the other has its jobs wait for a second, with all slots that they hold.
    """
    _while_busy(lambda: connection.execute("BEGIN IMMEDIATE"), 0.0002, busy)


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """Bring the file into WAL mode. SQLite itself does not wait here while another process does the same."""

    def switch() -> None:
        if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            connection.execute("PRAGMA auto_vacuum = incremental")  # takes effect in a new file; see `compact`
            connection.execute("PRAGMA journal_mode = wal")

    _while_busy(switch, 0.01, BUSY)


def _while_busy(work: Callable[[], object], pause: float, busy: float) -> None:
    """Do work, again and again while another process has the lock that it needs. The pauses grow to 5 ms."""
    until = time.monotonic() + busy
    while True:
        try:
            work()
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= until:
                raise
        time.sleep(pause)
        pause = max(pause, min(pause * 1.5, LONGEST_PAUSE))


def _refused(url: str, why: str) -> ConfigError:
    from ...core.masking import masked

    return ConfigError(f"{masked(url)!r}: {why}")


def parse_url(url: str) -> tuple[str, dict[str, str]]:
    """Return the file and the options of `sqlite:///relative.db?…`, `sqlite:////absolute.db`, `sqlite:///:memory:`."""
    scheme, _, rest = url.partition("://")
    path, _, query = rest.removeprefix("/").partition("?")
    if scheme != "sqlite" or not rest.startswith("/") or not path:
        raise _refused(url, 'write "sqlite:///jobs.db", "sqlite:////absolute/jobs.db" or "sqlite:///:memory:"')
    options = dict(part.partition("=")[::2] for part in query.split("&") if part)
    if path == MEMORY:
        return path, options
    if "%" in path:
        from urllib.parse import unquote

        path = unquote(path)
    if "\0" in path or any("\ud800" <= character <= "\udc7f" for character in path):
        raise _refused(url, "the path has characters that no file name can have")
    return os.path.realpath(os.path.expanduser(path)), options  # all names of a file have the same locks and sockets
