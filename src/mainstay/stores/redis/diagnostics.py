"""What `mainstay doctor` prints about a Redis store, and what `mainstay compact` does there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.errors import StoreError
from ..results import Compacted
from ..schema import SEALED
from . import schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from .store import RedisStore

SURVIVES = {  # what an accepted job survives, by appendfsync
    "always": "power cut: an accepted job is on the server's disk when enqueue returns; a failover may lose the last ones",
    "everysec": "process crash: a power cut can lose up to a second of accepted jobs; for less set appendfsync always",
    "no": "process crash: a power cut loses what the system had not written; set appendfsync always or everysec",
}


def diagnostics(store: RedisStore) -> dict[str, str]:
    """Return what `doctor` prints about this store."""
    server = store.server
    *found, info = server.commands([*schema.reading(server.prefix), ("INFO",)])
    version, readable_from, _ = schema.versions(found)
    info = schema.parsed(info)
    settings, maxmemory, valkey = _settings(store), info.get("maxmemory_human", "unknown"), info.get("valkey_version")
    return {
        "engine": f"Valkey {valkey}" if valkey else f"Redis {info.get('redis_version', '')}",
        "server": server.shown,
        "prefix": server.prefix,
        "schema": str(version),
        "readable from": str(readable_from % SEALED),
        "appendonly": settings.get("appendonly", "unknown"),
        "appendfsync": settings.get("appendfsync", "unknown"),
        "durability": _durability(settings, info),
        "maxmemory": "no limit" if maxmemory == "0B" else maxmemory,
        "maxmemory-policy": info.get("maxmemory_policy", "unknown"),
        "role": info.get("role", "unknown"),
        "size": info.get("used_memory", "0"),
        "worker locks": store.local_workers.problem(),
    }


def change_mark(store: RedisStore) -> str:
    """Return how many changes the server has counted since it last saved, and when that was."""
    info = schema.parsed(store.server.command("INFO", "persistence"))
    return f"{info.get('rdb_last_save_time')} {info.get('rdb_changes_since_last_save')}"


def _settings(store: RedisStore) -> dict[str, str]:
    """Return the settings of the server's append-only file; nothing where it refuses to tell."""
    try:
        found = store.server.command("CONFIG", "GET", "append*")
    except StoreError:  # managed servers refuse CONFIG
        return {}
    return dict(zip(found[::2], found[1::2], strict=True))


def _durability(settings: dict[str, str], info: dict[str, str]) -> str:
    """Return what an accepted job survives, by the settings, or by INFO where the server refuses to tell them."""
    on = settings.get("appendonly") or {"1": "yes", "0": "no"}.get(info.get("aof_enabled", ""), "")
    if on == "no":
        return "none: without an append-only file a restart loses what came after the last snapshot; set appendonly yes"
    if on != "yes" or not settings:
        return "unknown: the server does not tell its settings (CONFIG is refused); ask who runs it for appendfsync"
    return SURVIVES.get(settings.get("appendfsync", ""), SURVIVES["no"])


def compact(store: RedisStore, report: Callable[[int, int], None]) -> Compacted:
    """Say what to run: only the server rewrites its file."""
    return Compacted(
        advice="Redis frees the memory of deleted jobs by itself. To shorten its append-only file, run: redis-cli BGREWRITEAOF"
    )
