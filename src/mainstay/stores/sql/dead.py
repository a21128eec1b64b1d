"""Dead jobs by fingerprint: counts, and fingerprints for those that have none yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.dead import DeadCount
from ...core.states import DEAD
from ..operations import together
from .store import rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..operations import Operations
    from .dialect import Dialect
    from .store import SqlStore


def dead_counts(store: SqlStore, since: int, cap: int) -> list[DeadCount]:
    """Return how many dead jobs there are by fingerprint, type and hour."""
    return [DeadCount._make(row) for row in store.read(rows(store, "dead_counts", since=since, cap=cap))]


def unprinted(store: SqlStore, since: int, limit: int) -> list[str]:
    """Return the ids of dead jobs without a fingerprint."""
    return [job for (job,) in store.read(rows(store, "unprinted", since=since, limit=limit))]


def set_fingerprints(store: SqlStore, prints: Mapping[str, str]) -> int:
    """Give dead jobs their fingerprints."""
    return store.write(lambda: _set(store.dialect, prints)) if prints else 0


def _set(dialect: Dialect, prints: Mapping[str, str]) -> Operations[int]:
    from .actions import PRINT, Locked  # to count takes none of it

    found = map(Locked._make, (yield dialect.statement("lock_jobs", ids=list(prints))).rows)
    dead = {job.seq: prints[job.id] for job in found if job.state == DEAD}
    without = [seq for (seq,) in (yield dialect.statement("without_print", seqs=list(dead))).rows]
    yield from together(*dialect.update("job", "seq", PRINT, [(seq, dead[seq]) for seq in without]))
    return len(without)
