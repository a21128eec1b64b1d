"""Locks of the workers on this machine: each holds one on a file of its own, so that its death is detected immediately.

The lock is the kernel's: it ends with the process, however that ends. The files lie beside a SQLite database, or for a server
in the user's runtime folder (`local_workers`). Never lock the database file itself or its -wal and -shm: opening and closing
those outside SQLite would drop SQLite's own locks.

In its lock file, a worker also records the jobs that it runs at this moment, so that others can read them after its death. A
claimed job that still waited for a slot when its worker died loses no attempt. Without this record, a job that kills its
workers would cost every job that was claimed with it an attempt. The file is mapped: a record costs no system call, and the
kernel keeps it however the process ends. It is a hint: a job whose record cannot be read counts as started.
"""

from __future__ import annotations

import errno
import mmap
import os
import struct
from contextlib import suppress
from typing import TYPE_CHECKING

from ..core import errors
from . import folder
from .results import StartedJobs

if TYPE_CHECKING:
    from ..core.job import Claimed
    from .results import Orphan

try:
    import fcntl

    LOCKS = True
except ImportError:  # Windows: there a worker's death is detected when its lease expires
    LOCKS = False

# seq and token; a seq of 0 is free. The first entry is the head: HEAD, and 1 after an overflow
ENTRY = struct.Struct("=qq")
HEAD = 0x6D61696E73746179
PLACES = 4096
SIZE = PLACES * ENTRY.size
_held: dict[str, int] = {}


def user() -> int:
    """Return the number of the user that runs this process; 0 where users have none."""
    return os.getuid() if hasattr(os, "getuid") else 0


def used(path: str) -> bool:
    """Return whether workers hold locks here."""
    return LOCKS and path != ":memory:"


def hold(path: str, worker: str) -> None:
    """Hold this worker's lock until `release` or the end of the process."""
    if not used(path):
        return
    file = lock_file(path, worker)
    if file not in _held:  # a second lock of our own would wait for the first for ever
        _held[file] = _locked(path, file, worker)


def held(path: str, worker: str) -> bool:
    """Return whether this process holds the lock of a worker."""
    return lock_file(path, worker) in _held


def _locked(path: str, file: str, worker: str) -> int:
    try:
        make_folder(path)
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        _share(descriptor, path)
    except OSError as error:
        raise mapped(error, path) from error
    if _locks(descriptor):
        return descriptor
    os.close(descriptor)
    raise errors.ConfigError(f"a worker called {worker} is running already: leave identity= out, or choose another")


def make_folder(path: str) -> None:
    """Make the folder of lock files and sockets, for everybody who may use the database."""
    try:
        os.mkdir(folder(path), 0o700)
    except FileExistsError:
        return
    _share(folder(path), path, 0o111)


def _share(target: int | str, path: str, enter: int = 0) -> None:
    """Give a new file the group and mode of the database beside it: its other users look for dead workers too."""
    try:
        found = os.stat(path)
    except OSError:  # a server's installation has no file, and its folder is one user's
        return
    mode = found.st_mode & 0o666
    os.chmod(target, mode | (mode >> 2 & enter))
    with suppress(OSError):  # this user is not in the group
        os.chown(target, -1, found.st_gid)


def _locks(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def release(path: str, worker: str, keep: bool = False) -> None:
    """Release our lock and remove its file, unless `keep`. A dead worker's file is not ours: the sweep needs it."""
    descriptor = _held.pop(lock_file(path, worker), None)
    if descriptor is not None:
        if not keep:
            remove_files(path, worker)
        os.close(descriptor)


def files(path: str) -> dict[str, str]:
    """Return the lock files of all workers, by their names."""
    try:
        names = os.listdir(folder(path)) if LOCKS else []
    except OSError:  # no worker ever ran here
        return {}
    workers = [name.removesuffix(".lock") for name in names if name.endswith(".lock")]
    return {worker: lock_file(path, worker) for worker in workers}


def remove_files(path: str, worker: str) -> None:
    """Remove the lock file and the socket of a worker."""
    for file in (lock_file(path, worker), os.path.join(folder(path), worker + ".sock")):
        with suppress(OSError):
            os.unlink(file)


def free(file: str) -> bool | None:
    """Return whether a lock file is not locked: its worker is dead. Locked, it lives, though it may be suspended; None: no file."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        return _locks(descriptor)
    finally:
        os.close(descriptor)


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


class StartedJobsFile(StartedJobs):
    """The record of one worker, which holds its lock."""

    def __init__(self, path: str, worker: str) -> None:
        try:
            with open(lock_file(path, worker), "r+b", opener=_no_link) as file:
                file.write(bytes(SIZE))  # no hole: on a full disk, the kernel kills a process that writes into one
                file.flush()
                self._cells = memoryview(mmap.mmap(file.fileno(), SIZE)).cast("q")
        except OSError as error:
            raise mapped(error, path) from error
        self._cells[0] = HEAD
        self._free = list(range(2 * PLACES - 2, 0, -2))

    def begin(self, job: Claimed) -> int:
        try:
            place = self._free.pop()
        except IndexError:
            self._cells[1] = 1  # more than there are places: from here on all count as started
            return 0
        seq = job.seq
        self._cells[place + 1] = job.token
        self._cells[place] = seq if type(seq) is int else number(seq)  # last: this makes the entry valid
        return place

    def end(self, mark: int) -> None:
        self._cells[mark] = 0
        self._free.append(mark)


def number(seq: int | str) -> int:
    """Return a job's number as it is recorded: of a seq that is a text, its leading hexadecimal digits."""
    return seq if isinstance(seq, int) else int(seq[:12], 16)


def _no_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW)


def with_started(path: str, orphans: list[Orphan], unknown: bool | None) -> list[Orphan]:
    """Return the orphans, each with whether its handler had started, or `unknown` where its worker left no file here."""
    started = {worker: _read(path, worker, unknown) for worker in {orphan.worker for orphan in orphans}}

    def begun(job: Claimed, found: set[tuple[int, int]] | bool | None) -> bool | None:
        return (number(job.seq), job.token) in found if isinstance(found, set) else found

    return [orphan._replace(begun=begun(orphan.job, started[orphan.worker])) for orphan in orphans]


def _read(path: str, worker: str, unknown: bool | None) -> set[tuple[int, int]] | bool | None:
    """Return the attempts that a worker was running; True for all that it held, if it kept no record."""
    try:
        with open(lock_file(path, worker), "rb", opener=_no_link) as entries:
            head, *started = ENTRY.iter_unpack(entries.read(SIZE))
    except OSError:
        return unknown
    except (ValueError, struct.error):  # empty
        return True
    return set(started) if head == (HEAD, 0) else True


def _after_fork() -> None:
    """Close the locks in a forked child, which must not keep its parent's worker alive."""
    for descriptor in _held.values():
        os.close(descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_after_fork)
