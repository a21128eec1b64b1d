"""Jobs whose rows another open transaction has locked: a user's `complete_in` or cancel that does not end.

A worker's batch that meets such a row waits for it, and with it all other outcomes and the next claim. That happens once: after
the wait, which lock_timeout ends, the jobs of that batch are looked up before they are written, and the locked ones are left
out until they are free.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import psycopg

from ...core.errors import StoreBusy
from ...core.verdict import BUSY
from .connect import WORKER_TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...core.decide import Transition
    from .connect import Database
    from .dialect import PostgresDialect

T = TypeVar("T")


class LockedRows:
    """The jobs that one process knows to be locked. Racing threads may forget one: that costs a wait."""

    def __init__(self, db: Database, dialect: PostgresDialect) -> None:
        self._db, self._dialect = db, dialect
        self._seqs: set[int | str] = set()

    def write_others(
        self, transitions: Sequence[Transition], write: Callable[[Sequence[Transition]], T]
    ) -> tuple[T, set[int | str]]:
        """Write the transitions whose jobs are not locked; return what `write` returned, and the jobs that are."""
        if not self._seqs or not any(t.seq in self._seqs for t in transitions):
            try:
                return write(transitions), set()
            except StoreBusy as error:
                if not transitions or not isinstance(error.__cause__, psycopg.errors.LockNotAvailable):
                    raise
        locked = self._locked([t.seq for t in transitions])
        return write([t for t in transitions if t.seq not in locked]), locked

    def _locked(self, seqs: list[int | str]) -> set[int | str]:
        """Return which of these are locked at this moment."""
        looks = [self._dialect.statement(name, seqs=seqs) for name in ("finish_free", "finish_refused")]
        free, existing = self._db.batch(looks, WORKER_TIMEOUT)
        locked = {row[0] for row in existing.rows} - {row[0] for row in free.rows}
        self._seqs = self._seqs.difference(seqs) | locked
        return locked


def with_busy(transitions: Sequence[Transition], verdicts: list[str], busy: set[int | str]) -> list[str]:
    """Return the verdicts on all transitions, where those of `busy` jobs were left out."""
    found = iter(verdicts)
    return [BUSY if t.seq in busy else next(found) for t in transitions] if busy else verdicts
