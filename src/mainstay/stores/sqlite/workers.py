"""The workers of one database file, known by the lock files that they hold beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import worker_locks
from ..contract import StartedJobs
from .connect import MEMORY

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..contract import Orphan
    from .store import SqliteStore


class DatabaseWorkers:
    """Lock files of a database's workers. A database in memory has none: its workers end with the process."""

    def __init__(self, store: SqliteStore) -> None:
        self._store, self._path = store, store.db.path

    def hold(self, worker: str) -> None:
        """Hold a worker's lock until `release` or the end of the process."""
        worker_locks.hold(self._path, worker)

    def release(self, worker: str) -> None:
        """Release the lock of a worker of this process."""
        worker_locks.release(self._path, worker)

    def started_jobs(self, worker: str) -> StartedJobs:
        """Return where a worker records the jobs that it runs."""
        if self._path == MEMORY or not worker_locks.LOCKS:
            return StartedJobs()
        from ..started_jobs import StartedJobsFile

        return StartedJobsFile(self._path, worker)

    def orphans(self, deregister: Callable[[str], None], find: Callable[[], list[Orphan]], limit: int) -> list[Orphan]:
        """Deregister workers that died; return the orphans, each with whether it had started."""
        dead = worker_locks.dead(self._path, [worker.id for worker in self._store.workers()])
        for worker in dead:
            deregister(worker)
        found = find()
        if found and self._path != MEMORY:
            from ..started_jobs import with_started

            found = with_started(self._path, found)
            dead += worker_locks.dead(self._path, {orphan.worker for orphan in found if orphan.gone}.difference(dead))
        if len(found) < limit:  # else the next sweep reads the files again
            for worker in dead:
                worker_locks.remove_files(self._path, worker)
        return found

    def tidy(self, registered: list[str], now: int) -> None:
        """Remove the files of workers that are neither registered nor alive."""
        if worker_locks.LOCKS and self._path != MEMORY:
            worker_locks.tidy(self._path, registered, now)
