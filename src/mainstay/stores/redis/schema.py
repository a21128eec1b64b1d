"""The schema: a version beside the keys, which this code must be able to use; and a server that must not evict keys.

The key `schema` holds the version, as in schema 1. The hash `migration` holds `readable_from` and, while a migration
runs, its `step` and `cursor`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.errors import ConfigError
from ..schema import outdated, readable, unversioned
from .wire import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Exchange = Callable[[Sequence[tuple[Any, ...]]], list[Any]]

VERSION, READABLE_FROM = 16, 2  # as on the other engines; 3 to 6 changed only those
OLDEST = (6, 2)
KEEPS = "noeviction"
# Records the version of a fresh prefix. Returns 0 when there is data without a version: each use writes one of these keys.
_BEGIN = """
local P, call = KEYS[1], redis.call
if call("EXISTS", P .. "schema") == 1 then
    return 1
end
if call("EXISTS", P .. "seq", P .. "job", P .. "workers", P .. "type", P .. "setting", P .. "actions") > 0 then
    return 0
end
call("HSET", P .. "migration", "readable_from", ARGV[2])
call("SET", P .. "schema", ARGV[1])
return 1
"""


def ensure(exchange: Exchange, prefix: str, shown: str) -> None:
    """Raise unless this code can use the keys under this prefix on this server. A fresh prefix gets its version."""
    *found, memory, server = exchange([*reading(prefix), ("INFO", "memory"), ("INFO", "server")])
    _check_server(parsed(server + memory), shown)
    version, readable_from, _ = versions(found)
    if not usable(exchange, prefix, shown, version, readable_from):
        raise outdated(version, VERSION, named(prefix, shown))


def usable(exchange: Exchange, prefix: str, shown: str, version: int, readable_from: int) -> bool:
    """Return whether this code can use the keys of a version; raise when it is newer. A fresh prefix gets its version."""
    if version:
        return readable(version, readable_from, VERSION, named(prefix, shown), "prefix=")
    try:
        (fresh,) = exchange([("EVAL", _BEGIN, 1, prefix, VERSION, READABLE_FROM)])
    except Refused:  # a replica refuses, and the verb that follows says so
        return True
    if not fresh:
        raise unversioned(named(prefix, shown))
    return True


def named(prefix: str, shown: str) -> str:
    """The name of an installation in errors."""
    return f"{shown}, prefix {prefix},"


def reading(prefix: str) -> list[tuple[str, ...]]:
    """The commands whose results `versions` takes."""
    return [("GET", prefix + "schema"), ("HMGET", prefix + "migration", "readable_from", "step")]


def versions(found: Sequence[Any]) -> tuple[int, int, int]:
    """Return version, readable_from and how many steps of the next migration are done; version 0: there is none."""
    version, (readable_from, step) = found
    return int(version or 0), int(readable_from or version or 0), int(step or 0)


def parsed(text: str) -> dict[str, str]:
    """Return a section of INFO as a dict."""
    return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)


def _check_server(info: dict[str, str], shown: str) -> None:
    version, policy = info.get("redis_version", "0.0"), info.get("maxmemory_policy", "")
    if tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise ConfigError(f"{shown} is Redis {version}; mainstay needs {oldest} or newer, or Valkey.")
    if policy not in (KEEPS, ""):
        raise ConfigError(
            f"{shown} has maxmemory-policy {policy}: it would delete jobs when memory runs short. "
            f"Set `maxmemory-policy {KEEPS}` in redis.conf, or at once by `CONFIG SET maxmemory-policy {KEEPS}`."
        )
