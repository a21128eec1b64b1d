"""Gives the free pages of a SQLite file back to the disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..contract import Compacted
from .diagnostics import size
from .migrate import connected

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from .store import SqliteStore

INCREMENTAL = 2  # PRAGMA auto_vacuum: free pages can be released a few at a time
PAGES = 500  # released in one transaction, so that others can write in between


def compact(store: SqliteStore, report: Callable[[int, int], None]) -> Compacted:
    """Release the free pages in small transactions, or rewrite a file that was made without incremental vacuum."""
    if store.db.memory:
        return Compacted(advice="A database in memory has no file.")
    store.db.ready()
    before = size(store.db.path)
    with connected(store.db) as connection:
        free, page = _number(connection, "freelist_count"), _number(connection, "page_size")
        report(0, free * page)
        if _number(connection, "auto_vacuum") == INCREMENTAL:
            left = free
            while left:
                # Not `execute`: it stops after the first page, because the pragma returns rows without columns.
                connection.executescript(f"PRAGMA incremental_vacuum({PAGES})")
                left, was = _number(connection, "freelist_count"), left
                report(max(free - left, 0) * page, free * page)
                if left >= was:
                    break  # others free pages as fast
        else:
            connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return Compacted(before, size(store.db.path))


def _number(connection: sqlite3.Connection, name: str) -> int:
    found: int = connection.execute(f"PRAGMA {name}").fetchone()[0]
    return found
