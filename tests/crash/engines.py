"""What the campaign needs to know about an engine: where it is, a connection of the user's own, and how to audit it.

The next engine is one more class here: everything else in this folder speaks to the store's verbs only.
"""

from __future__ import annotations

import sqlite3
import threading
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from pathlib import Path

TABLES = """
CREATE TABLE IF NOT EXISTS crash_order  (item TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS crash_ledger (item TEXT NOT NULL, job TEXT NOT NULL, token INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS crash_move   (n INTEGER PRIMARY KEY AUTOINCREMENT, job TEXT NOT NULL, before TEXT NOT NULL,
                                         after TEXT NOT NULL, token INTEGER NOT NULL, attempt INTEGER NOT NULL,
                                         at INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000 AS INTEGER)));
CREATE TRIGGER IF NOT EXISTS crash_born AFTER INSERT ON mainstay_job BEGIN
    INSERT INTO crash_move (job, before, after, token, attempt) VALUES (new.id, '', new.state, new.token, new.attempt);
END;
CREATE TRIGGER IF NOT EXISTS crash_moved AFTER UPDATE OF state ON mainstay_job BEGIN
    INSERT INTO crash_move (job, before, after, token, attempt) VALUES (new.id, old.state, new.state, new.token, new.attempt);
END;
"""


class Move(NamedTuple):
    """A change of a job's state as the engine itself committed it."""

    job: str
    before: str
    after: str
    token: int
    attempt: int


class Engine(Protocol):
    """One engine under test."""

    name: str
    url: str
    transactions: bool  # whether the user's own connection can enqueue and complete

    def prepare(self) -> None:
        """Add the user's tables, and the engine's own record of every move, to a store that has its schema."""
        ...

    def connection(self) -> sqlite3.Connection:
        """This thread's connection of the user's own."""
        ...

    def moves(self) -> list[Move]:
        """Every change of state, in the order of their commits; empty where the engine cannot tell."""
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


class Sqlite:
    """One SQLite file."""

    name = "sqlite"
    transactions = True

    def __init__(self, folder: Path, options: str = "") -> None:
        self.path = folder / "jobs.db"
        self.url = f"sqlite:///{self.path}{options}"
        self._local = threading.local()

    def prepare(self) -> None:
        with sqlite3.connect(self.path) as connection:
            connection.executescript(TABLES.replace("unixepoch('subsec') * 1000", "(julianday('now') - 2440587.5) * 86400000"))
        connection.close()

    def connection(self) -> sqlite3.Connection:
        found: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if found is None:
            found = self._local.connection = sqlite3.connect(self.path, timeout=30, isolation_level=None)
            found.execute("PRAGMA synchronous = full")
        return found

    def moves(self) -> list[Move]:
        return [Move(*row) for row in self._rows("SELECT job, before, after, token, attempt FROM crash_move ORDER BY n")]

    def orders(self) -> list[str]:
        return [row[0] for row in self._rows("SELECT item FROM crash_order")]

    def ledger(self) -> list[tuple[str, str, int]]:
        return self._rows("SELECT item, job, token FROM crash_ledger")

    def damage(self) -> list[str]:
        found = [row[0] for row in self._rows("PRAGMA integrity_check") if row[0] != "ok"]
        folder = self.path.with_name(self.path.name + "-mainstay")
        return found + [f"left behind: {path.name}" for path in sorted(folder.glob("*"))]

    def _rows(self, statement: str) -> list[tuple]:
        return self.connection().execute(statement).fetchall()


ENGINES = {Sqlite.name: Sqlite}
