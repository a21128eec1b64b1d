"""Life signs beside the database: each worker holds a lock on a file of its own, so its death is seen at once.

The lock is the kernel's: it goes when the process goes, however it goes. Never the database file or its -wal and -shm:
opening and closing those outside SQLite would drop SQLite's own locks.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

try:
    import fcntl

    LOCKS = True
except ImportError:  # not on Windows: there a worker's death is seen when its lease runs out
    LOCKS = False

if TYPE_CHECKING:
    from collections.abc import Iterable

_held: dict[str, int] = {}


def folder(path: str) -> str:
    """Where the life signs and doorbells of a database lie."""
    return path + "-mainstay"


def hold(path: str, worker: str) -> None:
    """Hold this worker's lock until `release` or the end of the process."""
    if not LOCKS or path == ":memory:":
        return
    os.makedirs(folder(path), exist_ok=True)
    file = _file(path, worker)
    _held[file] = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(_held[file], fcntl.LOCK_EX)


def release(path: str, worker: str) -> None:
    """Let the lock go and remove its file."""
    descriptor = _held.pop(_file(path, worker), None)
    if descriptor is not None:
        bury(path, worker)
        os.close(descriptor)


def dead(path: str, workers: Iterable[str]) -> list[str]:
    """Those of the workers whose lock file is there and held by nobody."""
    if not LOCKS or path == ":memory:":
        return []
    return [worker for worker in workers if _free(_file(path, worker))]


def bury(path: str, worker: str) -> None:
    """Remove what a worker left behind."""
    for file in (_file(path, worker), os.path.join(folder(path), worker + ".sock")):
        try:
            os.unlink(file)
        except OSError:
            pass


def _free(file: str) -> bool:
    try:
        descriptor = os.open(file, os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _file(path: str, worker: str) -> str:
    return os.path.join(folder(path), worker + ".lock")


def _after_fork() -> None:
    """A forked child must not keep its parent's worker alive."""
    for descriptor in _held.values():
        os.close(descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_after_fork)
