"""The PostgreSQL store: connections, and a table of the modules that hold its verbs."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from ..local_workers import LocalWorkers
from ..verbs import SQL, Verbs, table
from .claim_cursor import ClaimCursors
from .connect import WORKER_TIMEOUT, Database
from .dialect import PostgresDialect
from .lanes import ManyLanes
from .locked_rows import LockedRows
from .notifier import Debouncer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...core.clock import Clock
    from ...core.search_terms import Page, Term
    from ..contract import Notifier, StartedJobs
    from ..operations import Operations
    from ..outbox.caller_connection import Outbox

T = TypeVar("T")


class PostgresStore(Verbs):
    """A store in one schema of a PostgreSQL database. Without a `clock` the server's own decides what is due or expired."""

    VERBS = table(
        {**SQL, "postgres.diagnostics": "diagnostics", "postgres.enqueue": "enqueue", "postgres.claim": "claim finish"}
    )
    lease = 15_000
    sweep_interval = 1_000
    remote = True

    def __init__(self, url: str, clock: Clock | None = None) -> None:
        self.url = url
        self.db = Database(url)
        self.dialect = PostgresDialect(self.db.load)
        self.local_workers = LocalWorkers(*self.db.identity)
        self._callers_clock = clock is not None
        self._debouncer = Debouncer(self.db)
        self.cursors, self.many_lanes = ClaimCursors(), ManyLanes()
        self.locked_rows = LockedRows(self.db, self.dialect)
        self._outbox: Outbox | None = None

    # what the shared verbs use ------------------------------------------------------------------------------------
    def engine_now(self, now: int) -> int | None:
        """Return the instant that decides what is due or expired; None: the server's clock does."""
        return now if self._callers_clock else None

    def read(self, operations: Operations[T], by_worker: bool = False) -> T:
        """Drive operations whose statements are transactions of their own."""
        return self.db.alone(operations, WORKER_TIMEOUT if by_worker else None)

    single = read

    def write(self, operations: Callable[[], Operations[T]], by_worker: bool = False) -> T:
        """Drive operations in one transaction, from the start again if it met another and was rolled back."""
        return self.db.run(operations, WORKER_TIMEOUT if by_worker else None)

    # other verbs --------------------------------------------------------------------------------------------------
    def outbox(self) -> Outbox:
        if self._outbox is None:
            from .outbox import PostgresOutbox

            self._outbox = PostgresOutbox(self.db, self.dialect)
        return self._outbox

    def search(self, terms: Sequence[Term], limit: int, after: str | None, now: int) -> Page:
        from .search import search

        return search(self.db, terms, limit, after, now)

    # wake-up and life ---------------------------------------------------------------------------------------------
    def started_jobs(self, worker: str) -> StartedJobs:
        return self.local_workers.started_jobs(worker)

    def notifier(self, worker: str) -> Notifier:
        from .notifier import Listener

        return Listener(self.db, worker)

    def notify(self, what: str = "jobs") -> None:
        self._debouncer.notify(what)

    def close(self) -> None:
        self._debouncer.flush()
        self.db.close()
