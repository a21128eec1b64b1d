"""A real file that two stores share: the neighbour writes between the read and the write of any transaction that lets it."""

from __future__ import annotations

from contextlib import suppress
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from mainstay.core.errors import StoreError
from mainstay.core.job import TypeInfo
from mainstay.stores import worker_locks
from mainstay.stores.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Sequence

NOBODY = TypeInfo("neighbour", "nowhere", "neighbour()", {}, 0)


class ConcurrentWriter:
    """`store` is the one under test. A transaction that took the write lock first is not disturbed."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="mainstay-simulation-")
        url = f"sqlite:///{self._folder.name}/jobs.db?synchronous=normal"
        self.store, self._neighbour = SqliteStore(url), SqliteStore(url)
        self._has_read = False
        self._visits = 0
        self.away = False
        self._connection = self.store.db.writer()
        self._connection.set_trace_callback(self._watch)
        self._neighbour.db.busy = 0.0

    def _watch(self, statement: str) -> None:
        """Called before each statement: come in between a read and the first write after it."""
        word = statement.lstrip()[:6].upper()
        if word in ("SELECT", "BEGIN ", "COMMIT", "ROLLBA"):
            self._has_read = word == "SELECT" and self._connection.in_transaction
        elif self._has_read and not self.away:
            self._has_read = False
            self._visit()

    def _visit(self) -> None:
        self._visits += 1
        with suppress(StoreError):  # the lock is taken: as it should be
            self._neighbour.register_types([NOBODY._replace(seen_at=self._visits)])

    def close(self, workers: Sequence[str]) -> None:
        """Leave nothing behind."""
        self._connection.set_trace_callback(None)
        for worker in workers:
            worker_locks.release(self.store.db.path, worker)
        self._neighbour.close()
        self.store.close()
        self._folder.cleanup()
