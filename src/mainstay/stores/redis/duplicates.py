"""Jobs that look like duplicates of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.duplicates import LIMIT, LONGEST, Duplicate, Duplicates

if TYPE_CHECKING:
    from .store import RedisStore

PIECE = 1_000  # jobs that one call looks at
MOST = 5_000  # each takes the server some 10 us


def duplicates(store: RedisStore, since: int, cap: int) -> Duplicates:
    """Return jobs of the same type with the same key or arguments, among the newest."""
    groups: dict[tuple[Any, ...], list[tuple[str, int]]] = {}
    cap, read, more = min(cap, MOST), 0, 1
    while more and read < cap:
        more, *rows = store.server.run("duplicates", [since, read, min(PIECE, cap - read), LONGEST])
        read += PIECE
        for job, type, key, args, alive in rows:
            groups.setdefault((type, key, args), []).append((job, alive))
    found = [_duplicate(name[0], name[1], jobs) for name, jobs in groups.items() if len(jobs) > 1]
    found.sort(key=lambda each: (each.jobs, each.newest), reverse=True)
    return Duplicates(found[:LIMIT], cap if more else None)


def _duplicate(type: str, key: str | None, jobs: list[tuple[str, int]]) -> Duplicate:
    """Return a group of jobs, which come newest first."""
    return Duplicate(type, key, len(jobs), sum(alive for _, alive in jobs), jobs[-1][0], jobs[0][0])
