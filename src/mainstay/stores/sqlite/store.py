"""The SQLite store: connections, and a table of the modules that hold its verbs."""

from __future__ import annotations

from ..verbs import Verbs, cold, table
from .connect import Database
from .sql import run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeVar

    from ...core.decide import Transition
    from ...core.draft import Draft
    from ...core.updates import Update
    from ..contract import Claims
    from ..operations import Operations
    from ..outbox.caller_connection import Outbox
    from .dialect import SqliteDialect
    from .notifier import MemoryNotifier
    from .workers import DatabaseWorkers

    T = TypeVar("T")


class SqliteStore(Verbs):
    """A store in one SQLite file, or in memory for tests."""

    VERBS = table(
        {
            **cold("sql"),
            "sqlite.search": "search",
            "sqlite.diagnostics": "diagnostics",
            "sqlite.notifier": "notifier notify",
        }
    )
    lease = 10_000  # a paused worker is given up after this; a dead one is detected at once by its lock
    sweep_interval = 500
    remote = False

    def __init__(self, url: str) -> None:
        self.url = url
        self.db = Database(url)
        self.notifiers: set[MemoryNotifier] = set()

    # what the shared verbs use ------------------------------------------------------------------------------------
    @property
    def dialect(self) -> SqliteDialect:
        """The statements in SQLite's form."""
        from .dialect import DIALECT

        return DIALECT

    @property
    def local_workers(self) -> DatabaseWorkers:
        """The lock files of the workers."""
        from .workers import DatabaseWorkers

        return DatabaseWorkers(self)

    def engine_now(self, now: int) -> int:
        """Return the instant that decides what is due or expired: SQLite has no clock but the caller's."""
        return now

    def read(self, operations: Operations[T], by_worker: bool = False) -> T:
        """Drive operations that only read."""
        with self.db.reading() as connection:
            return run(connection, operations)

    def single(self, operations: Operations[T], by_worker: bool = False) -> T:
        """Drive operations in one write transaction."""
        with self.db.writing() as connection:
            return run(connection, operations)

    def write(self, operations: Callable[[], Operations[T]], by_worker: bool = False) -> T:
        """Drive operations in one write transaction."""
        return self.single(operations())

    # verbs whose functions take a database ------------------------------------------------------------------------
    def enqueue(self, drafts: Sequence[Draft], now: int) -> list[tuple[str, bool]]:
        from .enqueue import enqueue

        with self.db.writing() as connection:
            accepted = enqueue(connection, drafts, now)
        self.notify()
        return accepted

    def outbox(self) -> Outbox:
        from .outbox import SqliteOutbox

        return SqliteOutbox(self.db)

    def claim(
        self, worker: str, wants: Mapping[str, Sequence[str]], limit: int, now: int,
        finishing: Sequence[Transition] = (), updates: Sequence[Update] = (),
    ) -> Claims:  # fmt: skip
        from .claim import claim

        return claim(self.db, worker, wants, limit, now, finishing, updates)

    def finish(self, transitions: Sequence[Transition], updates: Sequence[Update] = ()) -> list[str]:
        from .claim import finish

        return finish(self.db, transitions, updates)

    def close(self) -> None:
        """Close every connection; the next use opens them again."""
        self.db.close()
