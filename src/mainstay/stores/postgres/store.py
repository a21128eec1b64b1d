"""The PostgreSQL store: connections, and a table of the modules that hold its verbs."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from ..operations import drive
from ..verbs import Verbs, table
from .connect import Database
from .lanes import ClaimCursors, ManyLanes
from .notifier import Debouncer

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...core.clock import Clock
    from ..operations import Operations
    from ..outbox.caller_connection import Outbox

T = TypeVar("T")


class PostgresStore(Verbs):
    """A store in one schema of a PostgreSQL database. Without a `clock` the server's own decides what is due or expired."""

    VERBS = table("sql", {
        "postgres.enqueue": "enqueue accepting",
        "postgres.claim": "claim finish",
        "postgres.diagnostics": "diagnostics compact change_mark",
        "postgres.notifier": "notifier notify",
    })  # fmt: skip
    lease = 15_000
    sweep_interval = 1_000
    remote = True
    walked, rated, lowered = "0", ("", 0), ("", "")  # see `sql.store`

    def __init__(self, url: str, clock: Clock | None = None) -> None:
        self.url = url
        self.db = Database(url)
        self.dialect = self.db.dialect
        self.identity = self.db.identity
        self._callers_clock = clock is not None
        self.debouncer = Debouncer(self.db)
        self.cursors, self.many_lanes = ClaimCursors(), ManyLanes()
        self.locked: set[int | str] = set()  # jobs that another open transaction has locked, as far as is known
        self.ruled = False  # whether the next claim has to look at rules, as far as is known
        self.placed = False  # whether jobs are or may soon be queued at old places, as far as is known
        self.full, self.examined_at = False, 0  # see `turns`
        self.kept = False  # whether slots are kept whose lines are to be looked at
        self.contended = False  # whether another process had the lock of admission at the last turn
        self.filled = False  # whether the last claim got all it asked for, from lanes and lines
        self._outbox: Outbox | None = None

    # what the shared verbs use, see `sql.store` -------------------------------------------------------------------
    def lease_now(self, now: int) -> int:
        return now  # not used: the server's clock decides

    def spared(self, late: list[tuple[str, int, int]], now: int) -> list[str]:
        return []

    def engine_now(self, now: int) -> int | None:
        return now if self._callers_clock else None

    def takes_lines(self, now: int) -> bool:
        return self.filled and abs(now - self.examined_at) < self.sweep_interval

    def read(self, operations: Operations[T], by_worker: bool = False) -> T:
        """Drive operations of which each statement or list is a transaction of its own: at most one of them writes."""
        return drive(operations, lambda statements: self.db.send(statements, by_worker))

    single = read

    def write(self, operations: Callable[[], Operations[T]], by_worker: bool = False) -> T:
        return self.db.run(operations, by_worker)

    browse = write

    # other verbs --------------------------------------------------------------------------------------------------
    def outbox(self) -> Outbox:
        if self._outbox is None:
            from .outbox import PostgresOutbox

            self._outbox = PostgresOutbox(self.db)
        return self._outbox

    def behind(self) -> int | None:
        from .diagnostics import behind

        return behind(self)

    def close(self) -> None:
        """Send what waits to be sent and close every connection; the next use opens them again."""
        self.debouncer.flush()
        self.db.close()
