"""The workers of one server's installation that run on this machine: their deaths are detected immediately.

Other workers are given up when their lease expires, and nobody can tell then which of their jobs had started. All of this
is a hint: where no file can be written, as in some containers, the leases alone decide.
"""

from __future__ import annotations

import os
import tempfile
import time
from hashlib import blake2b
from typing import TYPE_CHECKING

from ..core.errors import StoreError
from . import folder, worker_locks
from .contract import StartedJobs

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from .contract import Orphan

YOUNG = 1.0  # seconds during which an unlocked file may be one that its worker is about to lock


class LocalWorkers:
    """Lock files of the installation that these words name; every process of this machine gives the same words."""

    def __init__(self, *words: str) -> None:
        self._path = os.path.join(_runtime_folder(), blake2b("\0".join(words).encode(), digest_size=8).hexdigest())

    def hold(self, worker: str) -> None:
        """Hold the lock of a worker of this process."""
        try:
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            worker_locks.hold(self._path, worker)
        except (OSError, StoreError):  # then its lease alone decides
            pass

    def release(self, worker: str) -> None:
        """Release the lock of a worker of this process."""
        worker_locks.release(self._path, worker)

    def started_jobs(self, worker: str) -> StartedJobs:
        """Return where a worker records the jobs that it runs."""
        from .started_jobs import StartedJobsFile

        if not worker_locks.LOCKS or not os.path.exists(worker_locks.lock_file(self._path, worker)):
            return StartedJobs()
        try:
            return StartedJobsFile(self._path, worker)
        except StoreError:
            return StartedJobs()

    def orphans(self, deregister: Callable[[str], None], find: Callable[[], list[Orphan]], limit: int) -> list[Orphan]:
        """Deregister workers that died here; return the orphans, each with whether it had started."""
        from .started_jobs import with_started

        dead = self._dead()
        for worker in dead:
            deregister(worker)
        found = with_started(self._path, find(), unknown=None)
        if len(found) < limit:  # else there are more to find. A found orphan is not stored yet: its worker's file stays
            for worker in set(dead).difference(orphan.worker for orphan in found):
                worker_locks.remove_files(self._path, worker)
        return found

    def _dead(self) -> list[str]:
        try:
            files = [entry for entry in os.scandir(folder(self._path)) if entry.name.endswith(".lock")]
        except OSError:
            return []
        settled = [file.name.removesuffix(".lock") for file in files if _age(file) > YOUNG]
        return worker_locks.dead(self._path, settled)

    def tidy(self, registered: Container[str], now: int = 0) -> None:
        """Remove the files of workers that are not registered. Their age is told by this machine's clock, not by `now`."""
        if worker_locks.LOCKS:
            worker_locks.tidy(self._path, registered, round(time.time() * 1000))


def _age(file: os.DirEntry[str]) -> float:
    try:
        return time.time() - file.stat().st_ctime
    except OSError:  # another sweep has removed it
        return 0.0


def _runtime_folder() -> str:
    """Return the user's own folder for files that last as long as the machine runs."""
    base = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    user = os.getuid() if hasattr(os, "getuid") else 0
    return os.path.join(base, f"mainstay-{user}")
