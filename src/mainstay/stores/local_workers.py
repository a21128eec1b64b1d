"""The workers of one server's installation that run on this machine: their deaths are seen at once, and what they ran is known.

Others are given up when their lease has run out, and nobody can tell then which of their jobs had begun. All of this is a
hint: where no file can be written, as in some containers, the leases have to do.
"""

from __future__ import annotations

import os
import tempfile
import time
from hashlib import blake2b
from typing import TYPE_CHECKING

from ..core.errors import StoreError
from . import worker_locks
from .contract import StartedJobs

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from .contract import Orphan

YOUNG = 1.0  # seconds during which a lock file that nobody holds may be about to be locked


class LocalWorkers:
    """Life signs for the installation that these words name; the same words on every process of this machine."""

    def __init__(self, *words: str) -> None:
        self._path = os.path.join(_folder(), blake2b("\0".join(words).encode(), digest_size=8).hexdigest())

    def hold(self, worker: str) -> None:
        """Show that a worker of this process lives."""
        try:
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            worker_locks.hold(self._path, worker)
        except (OSError, StoreError):  # then its lease alone tells
            pass

    def release(self, worker: str) -> None:
        """The worker has left in peace."""
        worker_locks.release(self._path, worker)

    def started_jobs(self, worker: str) -> StartedJobs:
        """Where that worker notes what it runs."""
        from .started_jobs import StartedJobsFile

        if not worker_locks.LOCKS or not os.path.exists(worker_locks.lock_file(self._path, worker)):
            return StartedJobs()
        try:
            return StartedJobsFile(self._path, worker)
        except StoreError:
            return StartedJobs()

    def orphans(self, leave: Callable[[str], None], find: Callable[[], list[Orphan]], limit: int) -> list[Orphan]:
        """Unregister who died here, find what is orphaned, and tell what of it had begun."""
        from .started_jobs import with_started

        dead = self._dead()
        for worker in dead:
            leave(worker)
        found = with_started(self._path, find(), unknown=None)
        if len(found) < limit:  # else there are more to find; and what was found is not yet stored: then the marks stay
            for worker in set(dead).difference(orphan.worker for orphan in found):
                worker_locks.remove_files(self._path, worker)
        return found

    def _dead(self) -> list[str]:
        try:
            files = [entry for entry in os.scandir(worker_locks.folder(self._path)) if entry.name.endswith(".lock")]
        except OSError:
            return []
        settled = [file.name.removesuffix(".lock") for file in files if _age(file) > YOUNG]
        return worker_locks.dead(self._path, settled)

    def tidy(self, registered: Container[str], now: int | None = None) -> None:
        """Remove what workers left behind that nobody names any more."""
        if worker_locks.LOCKS:
            worker_locks.tidy(self._path, registered, round(time.time() * 1000))


def _age(file: os.DirEntry[str]) -> float:
    try:
        return time.time() - file.stat().st_ctime
    except OSError:  # another sweep was faster
        return 0.0


def _folder() -> str:
    """The user's own folder for what lives as long as the machine runs."""
    base = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    user = os.getuid() if hasattr(os, "getuid") else 0
    return os.path.join(base, f"mainstay-{user}")
