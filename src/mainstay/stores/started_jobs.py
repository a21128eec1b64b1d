"""The jobs that a worker runs at this moment, recorded in its lock file so that others can read them after its death.

A claimed job that still waited for a slot when its worker died loses no attempt. Without this record, a job that kills its
workers would cost every job that was claimed with it an attempt. The file is mapped: a record costs no system call, and the
kernel keeps it however the process ends. It is a hint: a job whose record cannot be read counts as started.
"""

from __future__ import annotations

import mmap
import os
import struct
from typing import TYPE_CHECKING

from . import worker_locks
from .contract import StartedJobs

if TYPE_CHECKING:
    from ..core.job import Claimed
    from .contract import Orphan

# seq and token; a seq of 0 is free. The first entry is the head: HEAD, and 1 after an overflow
ENTRY = struct.Struct("=qq")
HEAD = 0x6D61696E73746179
PLACES = 4096
SIZE = PLACES * ENTRY.size


class StartedJobsFile(StartedJobs):
    """The record of one worker, which holds its lock."""

    def __init__(self, path: str, worker: str) -> None:
        try:
            with open(worker_locks.lock_file(path, worker), "r+b", opener=_no_link) as file:
                file.write(bytes(SIZE))  # no hole: on a full disk, the kernel kills a process that writes into one
                file.flush()
                self._cells = memoryview(mmap.mmap(file.fileno(), SIZE)).cast("q")
        except OSError as error:
            raise worker_locks.mapped(error, path) from error
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
        with open(worker_locks.lock_file(path, worker), "rb", opener=_no_link) as entries:
            head, *started = ENTRY.iter_unpack(entries.read(SIZE))
    except OSError:
        return unknown
    except (ValueError, struct.error):  # empty
        return True
    return set(started) if head == (HEAD, 0) else True
