"""Locks of the workers on this machine: each holds one on a file of its own, so that its death is detected immediately.

The lock is the kernel's: it ends with the process, however that ends. The files lie beside a SQLite database, or for a server
in the user's runtime folder (`local_workers`). Never lock the database file itself or its -wal and -shm: opening and closing
those outside SQLite would drop SQLite's own locks.
"""

from __future__ import annotations

import errno
import os

from ..core import errors
from . import folder

try:
    import fcntl

    LOCKS = True
except ImportError:  # Windows: there a worker's death is detected when its lease expires
    LOCKS = False

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable

SETTLED = 60  # seconds after which an unlocked file is not one that its worker is about to lock
_held: dict[str, int] = {}


def hold(path: str, worker: str) -> None:
    """Hold this worker's lock until `release` or the end of the process."""
    if not LOCKS or path == ":memory:":
        return
    file = lock_file(path, worker)
    if file not in _held:  # a second lock of our own would wait for the first for ever
        _held[file] = _locked(path, file, worker)


def _locked(path: str, file: str, worker: str) -> int:
    try:
        os.makedirs(folder(path), exist_ok=True)
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise mapped(error, path) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise errors.ConfigError(
            f"a worker called {worker} is running already: leave identity= out, or choose another"
        ) from error
    return descriptor


def release(path: str, worker: str) -> None:
    """Release our lock and remove its file. Keeps a dead worker's file, which is not ours: the sweep needs it."""
    descriptor = _held.pop(lock_file(path, worker), None)
    if descriptor is not None:
        remove_files(path, worker)
        os.close(descriptor)


def dead(path: str, workers: Iterable[str]) -> list[str]:
    """Return those of the workers whose lock file exists and is not locked."""
    if not LOCKS or path == ":memory:":
        return []
    return [worker for worker in workers if _free(lock_file(path, worker))]


def remove_files(path: str, worker: str) -> None:
    """Remove the lock file and the socket of a worker."""
    for file in (lock_file(path, worker), os.path.join(folder(path), worker + ".sock")):
        try:
            os.unlink(file)
        except OSError:
            pass


def tidy(path: str, registered: Container[str], now: int) -> None:
    """Remove the files of workers that are not registered: they died before they registered, or after their lease expired."""
    try:
        names = os.listdir(folder(path))
    except OSError:
        return
    for name in names:
        worker = name.partition(".")[0]
        if worker not in registered and _age(os.path.join(folder(path), name), now) > SETTLED:
            lock = lock_file(path, worker)
            if _free(lock) or not os.path.exists(lock):
                remove_files(path, worker)


def _age(file: str, now: int) -> float:
    try:
        return now / 1000 - os.stat(file).st_mtime
    except OSError:  # another sweep has removed it
        return 0.0


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


def lock_file(path: str, worker: str) -> str:
    """Return the lock file of a worker, in which it also records the jobs that it runs."""
    return os.path.join(folder(path), worker + ".lock")


def mapped(error: OSError, path: str) -> errors.StoreError:
    """Return a failure with a file beside the database as one of our errors."""
    kind, advice = _KINDS.get(error.errno or 0, (errors.StoreUnavailable, "Workers keep their locks and sockets there"))
    return kind(f"{error.filename or path}: {error.strerror or error}. {advice}.")


_OWNER = "A worker needs to write beside the database: check the folder's owner and mode"
_KINDS: dict[int, tuple[type[errors.StoreError], str]] = {
    errno.EACCES: (errors.StoreReadOnly, _OWNER),
    errno.EPERM: (errors.StoreReadOnly, _OWNER),
    errno.EROFS: (errors.StoreReadOnly, "A worker needs to write beside the database, on a file system that allows it"),
    errno.ENOSPC: (errors.StoreFull, "Free some space on this disk; nothing accepted was lost"),
    errno.EDQUOT: (errors.StoreFull, "Free some space within the quota; nothing accepted was lost"),
}


def _after_fork() -> None:
    """Close the locks in a forked child, which must not keep its parent's worker alive."""
    for descriptor in _held.values():
        os.close(descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_after_fork)
