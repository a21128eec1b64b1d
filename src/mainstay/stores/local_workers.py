"""The workers of one installation that run on this machine: their deaths are detected immediately, by their lock files.

Other workers are given up when their lease expires, and nobody can tell then which of their jobs had started.
"""

from __future__ import annotations

import os
import stat
import tempfile
import time
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from ..core.errors import StoreError
from . import worker_locks
from .results import Orphan, StartedJobs

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..core.job import Claimed, WorkerInfo
    from .sqlite.store import SqliteStore

WITHOUT_FILES = "Until then, a worker that dies on this machine is detected only when its lease ends"
TRUST = "remove it, or set XDG_RUNTIME_DIR to a folder that only you can write to"
YOUNG = 1.0  # seconds during which an unlocked file may be one that its worker is about to lock
WATCH = 2  # the part of a lease, from its end, for which a sweep watches: a half; a live worker renews twice in it
LOOK = 500  # ms that one look counts for at most, however long ago the last was: this process may have been kept from looking


def distrust(folder: str) -> str:
    """Return why somebody else may put files into a folder; empty if nobody can."""
    try:
        found = os.lstat(folder)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if not stat.S_ISDIR(found.st_mode):
        return "is a link or a file, not a folder"
    if found.st_uid != worker_locks.user():
        return f"belongs to another user ({found.st_uid})"
    return "can be written by other users" if found.st_mode & 0o022 else ""


class LocalWorkers:
    """Workers of the server's installation that these words name; every process of this machine gives the same words.

    The files are a hint: where none can be written, as in some containers, the leases alone decide.
    """

    required = False  # whether a worker without a lock file may not run
    unknown: bool | None = None  # whether a job had started whose worker left no file here; None: nobody can tell

    _warned = False

    def __init__(self, *words: str) -> None:
        base = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
        self._runtime = os.path.join(base, f"mainstay-{worker_locks.user()}")  # for files until the machine ends
        self._path = os.path.join(self._runtime, blake2b("\0".join(words).encode(), digest_size=8).hexdigest())

    def hold(self, worker: str) -> None:
        """Hold the lock of a worker of this process until `release` or the end of the process."""
        try:
            self._prepare()
            worker_locks.hold(self._path, worker)
        except (OSError, StoreError) as error:
            if self.required:
                raise
            self._warn(error)

    def _warn(self, error: Exception) -> None:
        """Log once that this process's workers have no lock file."""
        import logging

        warned, self._warned = self._warned, True
        if not warned:
            logging.getLogger("mainstay").warning("%s. %s. To mend it: %s", error, WITHOUT_FILES, TRUST)

    def problem(self) -> str:
        """Return why workers of this user cannot have lock files here; empty if they can."""
        try:
            self._prepare()
        except OSError as error:
            return str(error)
        return ""

    def _prepare(self) -> None:
        os.makedirs(self._runtime, mode=0o700, exist_ok=True)
        why = self._distrust()
        if why:
            raise PermissionError(f"{self._runtime} {why}")

    def _distrust(self) -> str:
        """Return why somebody else may put files there: what they say decides over the lives of workers. Empty: nobody can."""
        return distrust(self._runtime)

    def release(self, worker: str, keep: bool = False) -> None:
        """Release the lock of a worker of this process; `keep` what its file says for the sweep that frees its jobs."""
        worker_locks.release(self._path, worker, keep)

    def started_jobs(self, worker: str) -> StartedJobs:
        """Return where a worker records the jobs that it runs."""
        if not worker_locks.held(self._path, worker):
            return StartedJobs()
        try:
            return worker_locks.StartedJobsFile(self._path, worker)
        except StoreError:
            if self.required:
                raise
            return StartedJobs()

    def orphans(self, deregister: Callable[[str], None], find: Callable[[], list[Orphan]], limit: int) -> list[Orphan]:
        """Deregister workers that died here; return the orphans, each with whether it had started.

        A dead worker's file is removed by the first sweep that finds no job of it: until then, what the file says about its
        jobs is not stored yet, and another sweep may need it.
        """
        trusted = not self._distrust()
        dead = self._dead() if trusted else []
        for worker in dead:
            deregister(worker)
        found = find()
        if trusted:
            alive = {worker for worker in {orphan.worker for orphan in found} if self.locked(worker)}
            found = worker_locks.with_started(self._path, found, self.unknown)
            found = [orphan._replace(alive=orphan.worker in alive) for orphan in found]
        else:
            found = [orphan._replace(begun=self.unknown) for orphan in found]
        if len(found) < limit:  # else there are more to find
            for worker in set(dead).difference(orphan.worker for orphan in found):
                worker_locks.remove_files(self._path, worker)
        return found

    def unstarted(self, worker: str, claimed_by: Callable[[str], list[Claimed]]) -> set[str]:
        """Return the ids of those of a worker's jobs whose handler has not started, if it runs on this machine."""
        if self._distrust() or not self.locked(worker):
            return set()
        claimed = [Orphan(job, worker, gone=False) for job in claimed_by(worker)]
        found = worker_locks.with_started(self._path, claimed, None)
        return {each.job.id for each in found if each.begun is False}

    def locked(self, worker: str) -> bool:
        """Return whether a worker's process exists on this machine."""
        return worker_locks.free(worker_locks.lock_file(self._path, worker)) is False

    def with_deaths(self, workers: list[WorkerInfo]) -> list[WorkerInfo]:
        """Return the workers as the store has them; the lease of one that died on this machine ended with its last beat."""
        if self._distrust():
            return workers
        files = {worker.id: worker_locks.lock_file(self._path, worker.id) for worker in workers}
        return [
            worker._replace(expires_at=min(worker.beat_at, worker.expires_at))
            if worker_locks.free(files[worker.id])
            else worker
            for worker in workers
        ]

    def _dead(self) -> list[str]:
        files = worker_locks.files(self._path)
        settled = self._registered(bool(files)).__contains__
        return [
            worker
            for worker, file in files.items()
            if (settled(worker) or _age(file) > YOUNG) and worker_locks.free(file)
        ]

    def _registered(self, asked: bool) -> set[str]:
        """Return workers that are known to have locked their file already."""
        return set()


class DatabaseWorkers(LocalWorkers):
    """Workers of one SQLite file, with their lock files beside it. A database in memory has none."""

    required, unknown = True, True

    def __init__(self, store: SqliteStore) -> None:
        self._store, self._path = store, store.db.path

    def _prepare(self) -> None:
        pass

    def _distrust(self) -> str:
        """Return nothing: who can write beside the database can write the database too."""
        return ""

    def _registered(self, asked: bool) -> set[str]:
        from .sql.reads import registered

        return {worker.id for worker in registered(self._store)} if asked else set()


def _age(file: str) -> float:
    try:
        return time.time() - os.stat(file).st_ctime
    except OSError:  # another sweep has removed it
        return 0.0


# When a lease on a SQLite file ends. All workers run on this machine, and the lock of each tells that its process exists. So
# no clock ends a lease alone: it may be set, a write of others may keep a worker from renewing, and the machine may have been
# suspended. A sweep ends the lease of a worker that holds its lock once it has watched for a while, and found that others could
# write and this worker did not renew.
class Watched(NamedTuple):
    """A worker whose lease is over and whose lock is held, as the last look found it."""

    expires_at: int
    at: int
    for_ms: int


def lease_now(store: SqliteStore, now: int) -> int:
    """Return 0 where workers have locks: the lease of a registered worker runs."""
    return now - store.stalled() if store.clock_ends_leases else 0


def spared(store: SqliteStore, late: list[tuple[str, int, int]], now: int) -> list[str]:
    """Return the workers to watch for longer. Called in a write transaction, because each look must prove that one can write."""
    before, store.watched, young = store.watched, {}, []
    for worker, beat_at, expires_at in late:
        if store.local_workers.locked(worker):
            lease = expires_at - beat_at
            seen = before.get(worker)
            if seen is None or seen.expires_at != expires_at:
                seen = Watched(expires_at, now, 0)
            for_ms = seen.for_ms + min(max(now - seen.at, 0), LOOK, lease // 4)
            store.watched[worker] = Watched(expires_at, now, for_ms)
            if for_ms < lease // WATCH:
                young.append(worker)
    return young
