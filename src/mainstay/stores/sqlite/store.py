"""The SQLite store: connections, and a table of the modules that hold its verbs."""

from __future__ import annotations

from ..verbs import Verbs, table
from .connect import Database
from .sql import run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from ...core.clock import Clock
    from ..local_workers import DatabaseWorkers, Watched
    from ..operations import Operations
    from ..outbox.caller_connection import Outbox
    from .dialect import SqliteDialect
    from .notifier import MemoryNotifier

    T = TypeVar("T")


class SqliteStore(Verbs):
    """A store in one SQLite file, or in memory for tests."""

    VERBS = table("sql", {
        "sqlite.enqueue": "enqueue accepting",
        "sqlite.claim": "claim finish",
        "local_workers": "lease_now spared",
        "sqlite.diagnostics": "diagnostics compact change_mark",
        "sqlite.notifier": "notifier notify",
    })  # fmt: skip
    lease = 10_000  # a paused worker is given up after this; a dead one is detected at once by its lock
    sweep_interval = 500
    remote = False
    walked, rated, lowered = "0", ("", 0), ("", "")  # see `sql.store`
    examined_at = 0  # see `turns`
    looked_at = 0  # the slot with which `lines.urgent` goes on

    def __init__(self, url: str, clock: Clock | None = None) -> None:  # the caller's instants decide in any case
        self.url = url
        self.db = Database(url)
        self.watched: dict[str, Watched] = {}  # by sweeps of this process, see `local_workers`
        self.notifiers: set[MemoryNotifier] = set()

    # what the shared verbs use, see `sql.store` -------------------------------------------------------------------
    @property
    def dialect(self) -> SqliteDialect:
        """The statements in SQLite's form."""
        from .dialect import DIALECT

        return DIALECT

    @property
    def local_workers(self) -> DatabaseWorkers:
        """The lock files of the workers."""
        from ..local_workers import DatabaseWorkers

        return DatabaseWorkers(self)

    @property
    def clock_ends_leases(self) -> bool:
        from .. import worker_locks

        return not worker_locks.used(self.db.path)

    def stalled(self) -> int:
        return self.db.stall.ms()

    def engine_now(self, now: int) -> int:
        return now  # SQLite has no clock but the caller's

    def takes_lines(self, now: int) -> bool:
        return False

    def read(self, operations: Operations[T], by_worker: bool = False) -> T:
        return self.db.read(lambda connection: run(connection, operations))

    def single(self, operations: Operations[T], by_worker: bool = False) -> T:
        return self.db.write(lambda connection: run(connection, operations))

    def write(self, operations: Callable[[], Operations[T]], by_worker: bool = False) -> T:
        return self.single(operations())

    def browse(self, operations: Callable[[], Operations[T]]) -> T:
        return self.read(operations())

    def outbox(self) -> Outbox:
        from .outbox import SqliteOutbox

        return SqliteOutbox(self.db)

    def close(self) -> None:
        """Close every connection; the next use opens them again."""
        self.db.close()
