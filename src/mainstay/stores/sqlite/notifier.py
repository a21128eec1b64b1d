"""Wake-up: a doorbell socket a worker beside the database, and `PRAGMA data_version` as the safety net behind it.

A producer sends one byte to every socket after its commit. Who enqueues in a transaction of their own, or with plain SQL,
rings no bell: the poll sees their commit within `POLL` ms. A ring is a hint; what counts is what the claim finds.
"""

from __future__ import annotations

import _socket  # `socket` alone would cost a cold producer a third of its time
import os
import threading

from ..worker_locks import beside, folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .connect import Database

POLL = 50
RINGS = {b"j": "jobs", b"c": "cancel"}
LONGEST = 100  # a socket's path may have some 108 bytes


class SocketNotifier:
    """The bell of one worker on a database file."""

    def __init__(self, db: Database, worker: str) -> None:
        self._db, self._name, self._version = db, worker + ".sock", -1
        try:
            os.makedirs(folder(db.path), exist_ok=True)
            self._folder = os.open(folder(db.path), os.O_RDONLY)
            self._socket = _socket.socket(_socket.AF_UNIX, _socket.SOCK_DGRAM)
            self._unlink()  # of a worker of this name that died
            self._socket.bind(_address(db.path, self._name, self._folder))
        except OSError as error:
            raise beside(error, db.path) from error

    def wait(self, timeout: int) -> str:
        """Block until it rings, the file changes and holds queued jobs, or the time is over."""
        while timeout > 0:
            self._socket.settimeout(min(timeout, POLL) / 1000)
            try:
                return RINGS.get(self._socket.recv(1), "jobs")
            except TimeoutError:
                timeout -= POLL
            if self._changed():
                return "jobs"
        return ""

    def _changed(self) -> bool:
        """Whether anyone wrote since the last look, and left jobs to claim."""
        with self._db.reading() as connection:
            version = connection.execute("PRAGMA data_version").fetchone()[0]
            if version == self._version:
                return False
            found = connection.execute("SELECT EXISTS (SELECT 1 FROM mainstay_job WHERE state = 'queued')").fetchone()[
                0
            ]
        self._version = version
        return bool(found)

    def close(self) -> None:
        self._socket.close()
        self._unlink()
        os.close(self._folder)

    def _unlink(self) -> None:
        try:
            os.unlink(self._name, dir_fd=self._folder)
        except OSError:  # swept away already
            pass


class MemoryNotifier:
    """The bell of a worker on a database in memory: one process, one condition."""

    def __init__(self, bells: set[MemoryNotifier]) -> None:
        self._rings: list[str] = []
        self._condition = threading.Condition()
        self._bells = bells
        bells.add(self)

    def wait(self, timeout: int) -> str:
        with self._condition:
            self._condition.wait_for(lambda: self._rings, timeout / 1000)
            rings, self._rings = self._rings, []
        return "cancel" if "cancel" in rings else "jobs" if rings else ""

    def notify(self, what: str) -> None:
        """Wake whoever waits."""
        with self._condition:
            self._rings.append(what)
            self._condition.notify_all()

    def close(self) -> None:
        self._bells.discard(self)


def notify(path: str, what: str) -> None:
    """Send one byte to every doorbell beside the database; what cannot be reached is woken by its poll."""
    try:
        names = [name for name in os.listdir(folder(path)) if name.endswith(".sock")]
        if names:
            _send(path, names, what[0].encode())
    except OSError:  # no worker, no descriptor left: the job is accepted all the same
        pass


def _send(path: str, names: list[str], byte: bytes) -> None:
    descriptor = os.open(folder(path), os.O_RDONLY)
    try:
        sender = _socket.socket(_socket.AF_UNIX, _socket.SOCK_DGRAM)
        sender.setblocking(False)
        for name in names:
            try:
                sender.sendto(byte, _address(path, name, descriptor))
            except OSError:  # its owner is gone, or has rings enough waiting
                pass
        sender.close()
    finally:
        os.close(descriptor)


def _address(path: str, name: str, descriptor: int) -> str:
    """The socket's path; by way of the open folder where the plain one is too long for the kernel."""
    plain = os.path.join(folder(path), name)
    return plain if len(os.fsencode(plain)) <= LONGEST else f"/proc/self/fd/{descriptor}/{name}"
