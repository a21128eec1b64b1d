"""Life signs on this machine: each worker holds a lock on a file of its own, so its death is seen at once.

The lock is the kernel's: it goes when the process goes, however it goes. The files lie beside a SQLite database, or for a
server in the user's folder for such things (`neighbours`). Never the database file itself or its -wal and -shm: opening and
closing those outside SQLite would drop SQLite's own locks.
"""

from __future__ import annotations

import errno
import os

from ..core import errors

try:
    import fcntl

    LOCKS = True
except ImportError:  # not on Windows: there a worker's death is seen when its lease runs out
    LOCKS = False

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable

SETTLED = 60  # seconds after which a lock that nobody holds is not one that somebody is about to take
_held: dict[str, int] = {}


def folder(path: str) -> str:
    """Where the life signs and doorbells of a database lie."""
    return path + "-mainstay"


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
        raise beside(error, path) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise errors.ConfigError(
            f"a worker called {worker} is running already: leave identity= out, or choose another"
        ) from error
    return descriptor


def release(path: str, worker: str) -> None:
    """Let our lock go and remove its file. A dead worker's file, for which a supervisor signs off, a sweep will read."""
    descriptor = _held.pop(lock_file(path, worker), None)
    if descriptor is not None:
        remove_files(path, worker)
        os.close(descriptor)


def dead(path: str, workers: Iterable[str]) -> list[str]:
    """Those of the workers whose lock file is there and held by nobody."""
    if not LOCKS or path == ":memory:":
        return []
    return [worker for worker in workers if _free(lock_file(path, worker))]


def remove_files(path: str, worker: str) -> None:
    """Remove what a worker left behind."""
    for file in (lock_file(path, worker), os.path.join(folder(path), worker + ".sock")):
        try:
            os.unlink(file)
        except OSError:
            pass


def tidy(path: str, registered: Container[str], now: int) -> None:
    """Remove what workers left behind that no row names any more: they died unregistered, or after their lease."""
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
    except OSError:  # another sweep was faster
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
    """The lock of a worker, in which it also keeps its marks."""
    return os.path.join(folder(path), worker + ".lock")


def beside(error: OSError, path: str) -> errors.StoreError:
    """A failure with the files that lie beside the database, as one of ours."""
    kind, advice = _BESIDE.get(
        error.errno or 0, (errors.StoreUnavailable, "Workers keep their locks and sockets there")
    )
    return kind(f"{error.filename or path}: {error.strerror or error}. {advice}.")


_BESIDE: dict[int, tuple[type[errors.StoreError], str]] = {
    errno.EACCES: (
        errors.StoreReadOnly,
        "A worker needs to write beside the database: check the folder's owner and mode",
    ),
    errno.EPERM: (
        errors.StoreReadOnly,
        "A worker needs to write beside the database: check the folder's owner and mode",
    ),
    errno.EROFS: (errors.StoreReadOnly, "A worker needs to write beside the database, on a file system that allows it"),
    errno.ENOSPC: (errors.StoreFull, "Free some space on this disk; nothing accepted was lost"),
    errno.EDQUOT: (errors.StoreFull, "Free some space within the quota; nothing accepted was lost"),
}


def _after_fork() -> None:
    """A forked child must not keep its parent's worker alive."""
    for descriptor in _held.values():
        os.close(descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_after_fork)
