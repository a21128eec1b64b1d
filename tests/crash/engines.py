"""What the campaign needs to know about an engine: where it is, a connection of the user's own, and how to audit it.

Everything else in this folder speaks to the store's verbs only.
"""

from __future__ import annotations

import sqlite3
import threading
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from tests.servers.engines import WHEELS
from tests.simulation import commit_log
from tests.simulation.history import Record

from .postgres import Postgres
from .redis import Redis

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

ROUNDED = "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)"  # cut off, it may seem to be early
TABLES = (
    "CREATE TABLE crash_order (item TEXT NOT NULL)",
    "CREATE TABLE crash_ledger (item TEXT NOT NULL, job TEXT NOT NULL, token INTEGER NOT NULL)",
)


class Engine(Protocol):
    """One engine under test."""

    name: str
    url: str
    transactions: bool  # whether the user's own connection can enqueue and complete
    errors: tuple[type[Exception], ...]  # of the user's own connection: nobody knows whether its transaction happened

    def prepare(self) -> None:
        """Add the user's tables and the engine's own account of every move to a store that has its schema."""
        ...

    def transaction(self) -> AbstractContextManager[Any]:
        """A transaction on this thread's connection of the user's own; answers the connection."""
        ...

    def order(self, tx: Any, item: str) -> None:
        """Write a row of the user's own that belongs to an enqueue."""
        ...

    def book(self, tx: Any, item: str, job: str, token: int) -> None:
        """Write a row of the user's own that belongs to a completion."""
        ...

    def account(self) -> list[Record]:
        """Every move, note and lease in the order of their commits, then what belongs to no job."""
        ...

    def orders(self) -> list[str]:
        """The items of the rows that were written together with an enqueue."""
        ...

    def ledger(self) -> list[tuple[str, str, int]]:
        """The rows that were written together with a completion: item, job, token."""
        ...

    def damage(self) -> list[str]:
        """What the engine itself finds wrong with its files, and what was left lying beside them."""
        ...

    def close(self) -> None:
        """Let this thread's connection go."""
        ...


class Sqlite:
    """One SQLite file."""

    name = "sqlite"
    transactions = True
    errors: tuple[type[Exception], ...] = ()

    def __init__(self, folder: Path, options: str = "") -> None:
        self.path = folder / "jobs.db"
        self.url = f"sqlite:///{self.path}{options}"
        self._local = threading.local()

    def prepare(self) -> None:
        connection = self.connection()
        for statement in TABLES:
            connection.execute(statement)
        commit_log.install(connection, ROUNDED)
        self.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        tx = self.connection()
        tx.execute("BEGIN IMMEDIATE")
        try:
            yield tx
        except BaseException:
            tx.execute("ROLLBACK")
            raise
        tx.execute("COMMIT")

    def order(self, tx: sqlite3.Connection, item: str) -> None:
        tx.execute("INSERT INTO crash_order VALUES (?)", (item,))

    def book(self, tx: sqlite3.Connection, item: str, job: str, token: int) -> None:
        tx.execute("INSERT INTO crash_ledger VALUES (?, ?, ?)", (item, job, token))

    def connection(self) -> sqlite3.Connection:
        """This thread's connection of the user's own."""
        found: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if found is None:
            found = self._local.connection = sqlite3.connect(self.path, timeout=30, isolation_level=None)
            found.execute("PRAGMA synchronous = full")
        return found

    def account(self) -> list[Record]:
        lines = [commit_log.record(line) for line in commit_log.read(self.connection())]
        at = lines[-1].at if lines else 0
        return lines + [
            Record(0, at, "engine", "stray", args={"table": table}) for table in commit_log.strays(self.connection())
        ]

    def orders(self) -> list[str]:
        return [row[0] for row in self._rows("SELECT item FROM crash_order")]

    def ledger(self) -> list[tuple[str, str, int]]:
        return self._rows("SELECT item, job, token FROM crash_ledger")

    def damage(self) -> list[str]:
        found = [row[0] for row in self._rows("PRAGMA integrity_check") if row[0] != "ok"]
        return found + [f"left behind: {path.name}" for path in self._left_behind()]

    def _left_behind(self) -> list[Path]:
        """What lies beside the file: the sweeps of the campaign have removed the files of dead workers."""
        return sorted(self.path.with_name(self.path.name + "-mainstay").glob("*"))

    def close(self) -> None:
        self.connection().close()
        del self._local.connection

    def _rows(self, statement: str) -> list[tuple[Any, ...]]:
        return self.connection().execute(statement).fetchall()


SERVERS: dict[str, Any] = {"postgres": Postgres, "redis": Redis}
ENGINES: dict[str, Callable[[Path], Engine]] = {Sqlite.name: Sqlite} | {
    name: partial(SERVERS[kind], name) for name, kind in WHEELS.items()
}
