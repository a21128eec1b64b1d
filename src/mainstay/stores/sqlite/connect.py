"""Connections to one SQLite file: one for writing, behind a lock, and one per thread for reading.

Every write is `BEGIN IMMEDIATE`: a deferred transaction that reads first fails with BUSY_SNAPSHOT immediately, whatever the
busy timeout is. Nothing else may open the file in this process: closing it elsewhere drops SQLite's POSIX locks.
"""

from __future__ import annotations

import os
import sqlite3
import threading

from ...core.errors import ConfigError, StoreUnavailable
from ..fork import ForkGuard
from . import errors, schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

MEMORY = ":memory:"
BUSY_MS = 10_000
SYNCHRONOUS = ("full", "normal", "extra")


class Database(ForkGuard):
    """One database file (or one in memory), opened when first used, and again after a fork."""

    def __init__(self, url: str) -> None:
        self.path, options = parse_url(url)
        self.memory = self.path == MEMORY
        self.synchronous = options.pop("synchronous", "full")
        self.create = options.pop("mode", "create") == "create"
        if options or self.synchronous not in SYNCHRONOUS:
            raise ConfigError(f"{shown(url)}: options are synchronous=full|normal|extra and mode=create|existing")
        super().__init__()

    def _start(self) -> None:
        self._lock = threading.RLock()
        self._gate = threading.Lock()  # for the list of readers
        self._writer: sqlite3.Connection | None = None
        self._local = threading.local()
        self._readers: list[tuple[threading.Thread, sqlite3.Connection]] = []
        self._file: tuple[int, int] | None = None  # the file that the connections have open

    def writing(self) -> Writing:
        """Return a write transaction, `with db.writing() as connection:`; committed at the end, rolled back on error."""
        self._same_process()
        return Writing(self)

    def reading(self) -> Reading:
        """Return a block of reads on this thread's own connection, errors mapped."""
        self._same_process()
        return Reading(self)

    def ready(self) -> None:
        """Create the file and its schema if they are missing. Otherwise waits for no lock: the caller may hold SQLite's own."""
        self._same_process()
        if self._writer is not None:
            return
        with self._lock:
            try:
                self.writer()
            except BaseException as error:
                errors.translate(error, self.path)
                raise

    def writer(self) -> sqlite3.Connection:
        """Return the write connection; call with the lock held."""
        self._check_unmoved()
        if self._writer is None:
            self._writer = self._open(create=True)
        return self._writer

    def reader(self) -> sqlite3.Connection:
        """Return this thread's read connection; a database in memory has only one connection."""
        if self.memory:
            return self.writer()
        self._check_unmoved()
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None or self._local.file != self._file:
            connection = self._local.connection = self._open(create=self.create and not os.path.exists(self.path))
            self._local.file = self._file
            self._register(connection)
        return connection

    def _register(self, connection: sqlite3.Connection) -> None:
        """Add a new reader, and close those that are no longer used: of ended threads, and this thread's last one."""
        me = threading.current_thread()
        with self._gate:
            before, self._readers = self._readers, [(me, connection)]
            for thread, other in before:
                if thread.is_alive() and thread is not me:
                    self._readers.append((thread, other))
                else:
                    other.close()

    def _check_unmoved(self) -> None:
        """Raise if the file at the path is not the one that is open: writes to the open one would be lost."""
        if self._file is None or errors.identity(self.path) == self._file:
            return
        with self._lock:
            if self._writer is not None:
                self._writer.close()
            self._writer = self._file = None
        raise StoreUnavailable(
            f"{self.path} was removed or replaced while it was open, and its jobs with it. "
            "The next call opens the path again; stop every program before you move a database."
        )

    def _open(self, create: bool) -> sqlite3.Connection:
        connection = self.connect()
        try:
            schema.ensure(connection, self.path, create)
        except BaseException:
            connection.close()
            raise
        if not self.memory:
            self._file = errors.identity(self.path)
        return connection

    def connect(self) -> sqlite3.Connection:
        """Return a new connection, whatever schema the file has."""
        if not self.memory:
            errors.check_path(self.path, self.create)
        connection = sqlite3.connect(
            self.path, timeout=BUSY_MS / 1000, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        try:
            prepare(connection, self.synchronous, self.memory)
        except BaseException:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        """Close every connection of this process."""
        self._same_process()
        with self._lock:
            for connection in (self._writer, *(reader for _, reader in self._readers)):
                if connection is not None:
                    connection.close()
            self._start()


def prepare(connection: sqlite3.Connection, synchronous: str, memory: bool) -> None:
    """Apply the settings that our promises depend on to a new connection."""
    if not memory and connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        connection.execute("PRAGMA journal_mode = wal")
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    connection.execute("PRAGMA cache_size = -16000")
    connection.execute("PRAGMA journal_size_limit = 67108864")


def shown(url: str) -> str:
    """Return the URL for an error, without a password."""
    from ...core.settings import masked

    return repr(masked(url))


def parse_url(url: str) -> tuple[str, dict[str, str]]:
    """Return the file and the options of `sqlite:///relative.db?…`, `sqlite:////absolute.db`, `sqlite:///:memory:`."""
    scheme, _, rest = url.partition("://")
    path, _, query = rest.removeprefix("/").partition("?")
    if scheme != "sqlite" or not rest.startswith("/") or not path:
        raise ConfigError(
            f'{shown(url)}: write "sqlite:///jobs.db", "sqlite:////absolute/jobs.db" or "sqlite:///:memory:"'
        )
    options = dict(part.partition("=")[::2] for part in query.split("&") if part)
    if path == MEMORY:
        return path, options
    if "%" in path:
        from urllib.parse import unquote

        path = unquote(path)
    if "\0" in path or any("\ud800" <= character <= "\udc7f" for character in path):
        raise ConfigError(f"{shown(url)}: the path has characters that no file name can have")
    return os.path.abspath(os.path.expanduser(path)), options


class Writing:
    """One write transaction on the process's write connection."""

    __slots__ = ("_connection", "_db")

    def __init__(self, db: Database) -> None:
        self._db = db

    def __enter__(self) -> sqlite3.Connection:
        self._db._lock.acquire()
        try:
            self._connection = self._db.writer()
            self._connection.execute("BEGIN IMMEDIATE")
        except BaseException as error:
            self._db._lock.release()
            errors.translate(error, self._db.path)
            raise
        return self._connection

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._connection.execute("COMMIT")
                return
        except sqlite3.Error as failure:
            error = failure
        finally:
            if self._connection.in_transaction:
                self._rollback()
            self._db._lock.release()
        errors.translate(error, self._db.path)

    def _rollback(self) -> None:
        try:
            self._connection.execute("ROLLBACK")
        except sqlite3.Error:  # the disk is gone or full: a new connection recovers from the log
            self._connection.close()
            self._db._writer = None


class Reading:
    """Reads on a connection; no transaction is held between statements."""

    __slots__ = ("_db",)

    def __init__(self, db: Database) -> None:
        self._db = db

    def __enter__(self) -> sqlite3.Connection:
        if self._db.memory:
            self._db._lock.acquire()
        try:
            return self._db.reader()
        except BaseException as error:
            if self._db.memory:
                self._db._lock.release()
            errors.translate(error, self._db.path)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._db.memory:
            self._db._lock.release()
        if error is not None:
            errors.translate(error, self._db.path)
