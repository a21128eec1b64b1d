"""What `mainstay doctor` prints about a SQLite store."""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING

from . import errors, schema

if TYPE_CHECKING:
    from .connect import Database
    from .store import SqliteStore


def diagnostics(store: SqliteStore) -> dict[str, str]:
    """Return engine, versions, durability level and size."""
    db = store.db
    (mode,) = db.read(lambda connection: connection.execute("PRAGMA journal_mode").fetchone())
    version, readable_from = db.read(schema.versions)
    return {
        "engine": f"SQLite {sqlite3.sqlite_version}",
        "file": db.path,
        "schema": str(version),
        "readable from": str(readable_from),
        "journal": mode,
        "synchronous": db.synchronous,
        "durability": _durability(db),
        "file system": "memory" if db.memory else errors.file_system(os.path.dirname(db.path)),
        "size": "0" if db.memory else str(size(db.path)),
        "wal-reset bug": "yes" if errors.wal_reset_bug(sqlite3.sqlite_version_info) else "no",
    }


def _durability(db: Database) -> str:
    if db.memory:
        return "none: the jobs live as long as this process"
    if db.synchronous == "normal":
        return "process crash: a power cut can lose the last jobs that were accepted"
    return "power cut: an accepted job is on the disk when enqueue returns"


def size(path: str) -> int:
    """Return the bytes of a file and of its write-ahead log."""
    return sum(os.path.getsize(path + end) for end in ("", "-wal") if os.path.exists(path + end))
