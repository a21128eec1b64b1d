"""Dead jobs by fingerprint: counts, and fingerprints for those that have none yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.dead import DeadCount

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .store import RedisStore

PIECE = 2_000  # dead jobs that one call reads


def dead_counts(store: RedisStore, since: int, cap: int) -> list[DeadCount]:
    """Return how many dead jobs there are by fingerprint, type and hour, some of them at a time."""
    found: list[DeadCount] = []
    for first in range(0, cap, PIECE):
        read, *counts = store.server.run("dead_counts", [since, first, min(PIECE, cap - first)])
        found += [DeadCount(*count) for count in counts]
        if read < PIECE:
            break
    return found


def unprinted(store: RedisStore, since: int, limit: int) -> list[str]:
    """Return the ids of dead jobs without a fingerprint."""
    found: list[str] = []
    first, read = 0, PIECE
    while read == PIECE and len(found) < limit:
        read, *ids = store.server.run("unprinted", [since, first, PIECE])
        found += ids
        first += read
    return found[:limit]


def set_fingerprints(store: RedisStore, prints: Mapping[str, str]) -> int:
    """Give dead jobs their fingerprints."""
    values = [value for pair in prints.items() for value in pair]
    return int(store.server.run("set_fingerprints", values)) if values else 0
