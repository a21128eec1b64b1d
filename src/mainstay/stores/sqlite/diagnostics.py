"""What `mainstay doctor` prints about a SQLite store, and how it gives free pages back to the disk."""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING

from ..results import Compacted
from ..schema import SEALED
from . import errors, schema
from .migrate import connected

if TYPE_CHECKING:
    from collections.abc import Callable

    from .connect import Database
    from .store import SqliteStore

INCREMENTAL = 2  # PRAGMA auto_vacuum: free pages can be released a few at a time
PAGES = 500  # released in one transaction, so that others can write in between


def diagnostics(store: SqliteStore) -> dict[str, str]:
    """Return engine, versions, durability level and size."""
    db = store.db
    (mode,) = db.read(lambda connection: connection.execute("PRAGMA journal_mode").fetchone())
    version, readable_from = db.read(schema.versions)
    return {
        "engine": f"SQLite {sqlite3.sqlite_version}",
        "file": db.path,
        "schema": str(version),
        "readable from": str(readable_from % SEALED),
        "journal": mode,
        "synchronous": db.synchronous,
        "durability": _durability(db),
        "file system": "memory" if db.memory else errors.file_system(os.path.dirname(db.path)),
        "size": "0" if db.memory else str(_size(db.path)),
        "wal-reset bug": "yes" if errors.wal_reset_bug(sqlite3.sqlite_version_info) else "no",
    }


def change_mark(store: SqliteStore) -> str:
    """Return SQLite's own number of commits by others, as this thread's connection sees it; in memory, of changed rows."""

    def mark(connection: sqlite3.Connection) -> str:
        changed = connection.total_changes if store.db.memory else _number(connection, "data_version")
        return f"{id(connection)} {changed}"

    return store.db.read(mark)


def _durability(db: Database) -> str:
    if db.memory:
        return "none: the jobs live as long as this process"
    if db.synchronous == "normal":
        return "process crash: a power cut can lose the last jobs that were accepted"
    return "power cut: an accepted job is on the disk when enqueue returns"


def _size(path: str) -> int:
    """Return the bytes of a file and of its write-ahead log."""
    return sum(os.path.getsize(path + end) for end in ("", "-wal") if os.path.exists(path + end))


def compact(store: SqliteStore, report: Callable[[int, int], None]) -> Compacted:
    """Release the free pages in small transactions, or rewrite a file that was made without incremental vacuum."""
    if store.db.memory:
        return Compacted(advice="A database in memory has no file.")
    store.db.ready()
    before = _size(store.db.path)
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
        return Compacted(before, _size(store.db.path))


def _number(connection: sqlite3.Connection, name: str) -> int:
    found: int = connection.execute(f"PRAGMA {name}").fetchone()[0]
    return found
