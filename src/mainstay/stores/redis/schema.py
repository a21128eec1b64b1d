"""The schema: a version beside the keys, refused when it is newer than this code; and a server that must not evict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redis import exceptions as theirs

from ...core.errors import ConfigError, SchemaMismatch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Exchange = Callable[[Sequence[tuple[Any, ...]]], list[Any]]

VERSION = 1
OLDEST = (6, 2)
KEEPS = "noeviction"


def ensure(exchange: Exchange, prefix: str, shown: str) -> None:
    """Raise unless this code may use the keys under this prefix on this server. A fresh prefix gets its version."""
    found, memory, server = exchange([("GET", prefix + "schema"), ("INFO", "memory"), ("INFO", "server")])
    _check_server(parsed(server), shown)
    _check_policy(parsed(memory).get("maxmemory_policy", ""), shown)
    if found is None:
        found = _begin(exchange, prefix)
    if int(found) > VERSION:
        raise SchemaMismatch(
            f"{shown} has schema {found} under {prefix}, this mainstay knows {VERSION}: it was written by a newer version. "
            "Upgrade mainstay here (pip install -U mainstay), or use another prefix=."
        )


def _begin(exchange: Exchange, prefix: str) -> str:
    """The version of a fresh prefix, whoever was first to write it. A replica cannot; the verb that follows will say so."""
    try:
        exchange([("SET", prefix + "schema", VERSION, "NX")])
    except theirs.ResponseError:
        return str(VERSION)
    return str(exchange([("GET", prefix + "schema")])[0])


def parsed(text: str) -> dict[str, str]:
    """A section of INFO."""
    return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)


def _check_server(info: dict[str, str], shown: str) -> None:
    version = info.get("redis_version", "0.0")
    if tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) < OLDEST:
        raise ConfigError(
            f"{shown} is Redis {version}; mainstay needs {'.'.join(map(str, OLDEST))} or newer, or Valkey."
        )


def _check_policy(policy: str, shown: str) -> None:
    if policy not in (KEEPS, ""):
        raise ConfigError(
            f"{shown} has maxmemory-policy {policy}: it would throw jobs away when memory runs short. "
            f"Set `maxmemory-policy {KEEPS}` in redis.conf, or at once by `CONFIG SET maxmemory-policy {KEEPS}`."
        )
