"""Keys that are taken for ever: the hash `key` has the job of each, the set `keys` their order. They outlive their jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import msgpack

from ...core.errors import refuse_nul
from ...core.export import Batch, KeyRecord
from ...core.job import KeyInfo
from ...core.keys import FORGET

if TYPE_CHECKING:
    from .store import RedisStore


def keys(store: RedisStore, prefix: str, limit: int, after: str | None = None) -> list[KeyInfo]:
    """Return keys that start with a prefix, in order."""
    refuse_nul(prefix=prefix)
    found = store.server.run("keys", [prefix, (after or "").replace("\n", "\0"), limit])
    return [_info(*found[n : n + 3]) for n in range(0, len(found), 3)]


def _info(member: str, value: str, there: int) -> KeyInfo:
    (key, type), (job, since) = member.split("\0"), value.split(" ")
    return KeyInfo(key, type, job, int(since), bool(there))


def forget_key(store: RedisStore, type: str, key: str, now: int, actor: str, dry_run: bool = False) -> str | None:
    """Free a key that was taken for ever; return the job that had it, or None."""
    refuse_nul(type=type, key=key, actor=actor)
    if dry_run:
        found = store.server.read("HGET", "key", f"{type}:{key}")
        return found.split(" ")[0] if found else None
    had: str = store.server.run("forget_key", ["", now, actor, "", FORGET, type, key])
    return had or None


def export_keys(store: RedisStore, after: str | None, limit: int) -> Batch:
    """Return the next keys as `mainstay move` copies them."""
    found = keys(store, "", limit, after)
    last = found[-1] if len(found) == limit else None
    return Batch([KeyRecord(*each[:-1]) for each in found], f"{last.key}\n{last.type}" if last else None)


def packed_key(*row: Any) -> tuple[str, bytes]:
    """Return a key as an import takes it."""
    key, type, job, since = row
    return "", msgpack.encode(
        [("HSET", "key", f"{type}:{key}", f"{job} {since}"), ("ZADD", "keys", 0, f"{key}\0{type}")]
    )
