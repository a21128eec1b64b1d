"""The engines: where contenders keep their jobs, how an empty place is made, and the processor time of the server."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from pathlib import Path

ENGINES = ("sqlite", "postgres", "redis")
# Measures of flow control and of operators, and of chores.
FLOW = ("limited", "blocked", "rated", "paused", "pausing", "fair", "bulk_retry")
UPKEEP = ("pruning",)
STORY = ("logs", "lines", "saves", "worker_log")


class Site(NamedTuple):
    """An empty place for one contender: its address (a file, or a URL), and the stem of the files beside it."""

    address: str
    files: Path


class Engine:
    """One engine; its server runs inside `with`. Every contender of an engine uses the same server with the same settings."""

    name = ""
    measures: tuple[str, ...] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End the server."""

    def missing(self) -> str:
        """Why it cannot be measured here; empty if it can."""
        return ""

    def about(self) -> str:
        """Version and the settings that matter."""
        raise NotImplementedError

    def site(self, stem: Path) -> Site:
        """An empty place."""
        raise NotImplementedError

    def flush(self, site: Site) -> None:
        """Write everything to the disk and update the statistics."""

    def copy(self, kept: Site, stem: Path) -> Site:
        """A copy of a place that was filled and flushed, where the engine can make one."""
        raise NotImplementedError

    def discard(self, site: Site) -> None:
        """Remove a place that is no longer needed."""

    def cpu(self, site: Site) -> float | None:
        """Seconds of processor time that the server of a place has used so far; None if there is no server."""
        return None


def engine(name: str, appendfsync: str = "always") -> Engine:
    """The engine of that name."""
    if name == "postgres":
        from .postgres import PostgresEngine

        return PostgresEngine()
    if name == "redis":
        from .redis import RedisEngine

        return RedisEngine(appendfsync)
    from .sqlite import SqliteEngine

    return SqliteEngine()
