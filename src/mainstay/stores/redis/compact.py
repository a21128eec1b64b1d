"""What gives the space of deleted jobs back to the disk of a Redis server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..contract import Compacted

if TYPE_CHECKING:
    from collections.abc import Callable

    from .store import RedisStore


def compact(store: RedisStore, report: Callable[[int, int], None]) -> Compacted:
    """Say what to run: only the server rewrites its file."""
    return Compacted(
        advice="Redis frees the memory of deleted jobs by itself. To shorten its append-only file, run: redis-cli BGREWRITEAOF"
    )
