"""Jobs whose rows an open transaction of somebody else's holds: a user's `complete_in` or cancel whose end does not come.

A worker's batch that meets such a row waits for it, and with it all other outcomes and the next claim. That happens once:
after the wait, which lock_timeout ends, the jobs of that batch are looked at before they are written to, and those that
are held are left out until they are free.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import psycopg

from ...core.errors import StoreBusy
from ...core.verdict import BUSY
from ..operations import Statement
from .connect import WORKER_TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...core.decide import Transition
    from .connect import Database

T = TypeVar("T")
LOOKS = ("finish_free", "finish_standing")


class LockedRows:
    """What one process knows to be held. Racing threads may forget one: that costs a wait."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._seqs: set[int | str] = set()

    def around(
        self, transitions: Sequence[Transition], write: Callable[[Sequence[Transition]], T]
    ) -> tuple[T, set[int | str]]:
        """Write what can be written: `write`'s answer, and the jobs that were left out."""
        if not self._seqs or not any(t.seq in self._seqs for t in transitions):
            try:
                return write(transitions), set()
            except StoreBusy as error:
                if not transitions or not isinstance(error.__cause__, psycopg.errors.LockNotAvailable):
                    raise
        held = self._look([t.seq for t in transitions])
        return write([t for t in transitions if t.seq not in held]), held

    def _look(self, seqs: list[int | str]) -> set[int | str]:
        """Which of these are held at this moment."""
        free, there = self._db.batch([Statement(self._db.load(name), (seqs,)) for name in LOOKS], WORKER_TIMEOUT)
        held = {row[0] for row in there.rows} - {row[0] for row in free.rows}
        self._seqs = self._seqs.difference(seqs) | held
        return held


def filled(transitions: Sequence[Transition], verdicts: list[str], held: set[int | str]) -> list[str]:
    """The verdicts on all, where some were left out."""
    found = iter(verdicts)
    return [BUSY if t.seq in held else next(found) for t in transitions] if held else verdicts
