"""What a worker runs at this very moment, kept in its lock file so that others can read it after its death.

A claimed job that was still waiting for a slot when its worker died is not to blame and loses no attempt: without this,
a job that kills its workers would take along every job that was claimed with it. The file is mapped: a mark costs no system
call, and the kernel keeps it however the process ends. It is a hint; what cannot be read is taken for begun.
"""

from __future__ import annotations

import mmap
import struct
from typing import TYPE_CHECKING

from . import worker_locks
from .contract import StartedJobs

if TYPE_CHECKING:
    from ..core.job import Claimed
    from .contract import Orphan

ENTRY = struct.Struct(
    "=qq"
)  # seq and token; a seq of 0: free. The first is the head: HEAD, and 1 once there were too many
HEAD = 0x6D61696E73746179
PLACES = 4096
SIZE = PLACES * ENTRY.size


class StartedJobsFile(StartedJobs):
    """The marks of one worker, which holds its lock."""

    def __init__(self, path: str, worker: str) -> None:
        try:
            with open(worker_locks.lock_file(path, worker), "r+b") as file:
                file.write(bytes(SIZE))  # no hole: on a full disk, the kernel kills who writes into one
                file.flush()
                self._cells = memoryview(mmap.mmap(file.fileno(), SIZE)).cast("q")
        except OSError as error:
            raise worker_locks.beside(error, path) from error
        self._cells[0] = HEAD
        self._free = list(range(2 * PLACES - 2, 0, -2))

    def begin(self, job: Claimed) -> int:
        try:
            place = self._free.pop()
        except IndexError:
            self._cells[1] = 1  # too many to tell: from here on all are taken for begun
            return 0
        seq = job.seq
        self._cells[place + 1] = job.token
        self._cells[place] = seq if type(seq) is int else number(seq)  # last: from here on the entry counts
        return place

    def end(self, mark: int) -> None:
        self._cells[mark] = 0
        self._free.append(mark)


def number(seq: int | str) -> int:
    """A job's number in a mark: where the store's own is a text, its digits in front."""
    return seq if isinstance(seq, int) else int(seq[:12], 16)


def with_started(path: str, orphans: list[Orphan], unknown: bool | None = True) -> list[Orphan]:
    """The orphans, each with whether its handler had begun, or `unknown` where their worker left nothing here."""
    begun = {worker: _read(worker_locks.lock_file(path, worker)) for worker in {orphan.worker for orphan in orphans}}
    return [orphan._replace(begun=_holds(begun[orphan.worker], orphan.job, unknown)) for orphan in orphans]


def _holds(begun: set[tuple[int, int]] | bool | None, job: Claimed, unknown: bool | None) -> bool | None:
    if isinstance(begun, set):
        return (number(job.seq), job.token) in begun
    return unknown if begun is None else begun


def _read(file: str) -> set[tuple[int, int]] | bool | None:
    """The attempts that a worker was running; True for all that it held, where it kept no account; None for no file."""
    try:
        with open(file, "rb") as marks:
            head, *entries = ENTRY.iter_unpack(marks.read(SIZE))
    except OSError:
        return None
    except (ValueError, struct.error):  # empty
        return True
    return set(entries) if head == (HEAD, 0) else True
