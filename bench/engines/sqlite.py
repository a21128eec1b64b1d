"""SQLite: a file a place."""

from __future__ import annotations

import shutil
import sqlite3
from typing import TYPE_CHECKING

from . import FLOW, STORY, UPKEEP, Engine, Site

if TYPE_CHECKING:
    from pathlib import Path


class SqliteEngine(Engine):
    """Files; there is no server."""

    name = "sqlite"
    measures = (
        "enqueue",
        "bulk",
        "drain",
        "drain2",
        "waiting",
        "finished",
        "foreign",
        "lanes",
        *FLOW,
        *UPKEEP,
        *STORY,
        "pickup",
        "schedules",
        "looks",
        "cold",
        "imports",
    )

    def about(self) -> str:
        return f"SQLite {sqlite3.sqlite_version}"

    def site(self, stem: Path) -> Site:
        return Site(str(stem.with_suffix(".db")), stem)

    def flush(self, site: Site) -> None:
        """Copy the write-ahead log into the file, so that the file alone can be copied."""
        connection = sqlite3.connect(site.address)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()

    def copy(self, kept: Site, stem: Path) -> Site:
        made = self.site(stem)
        shutil.copyfile(kept.address, made.address)
        return made
