"""Wake-up: a socket for each worker beside the database, and `PRAGMA data_version` as the fallback behind it.

A producer sends one byte to every socket after its commit. A commit on the caller's own connection, or with plain SQL, sends
nothing: the poll sees it within `POLL` ms. A notification is a hint; the claim decides what there is to do.
"""

from __future__ import annotations

import os

from .. import folder

# `_socket` and `_queue` are imported where used: a cold producer needs neither while no worker listens, and `socket` would cost it a third of its time.

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from _queue import SimpleQueue

    from ..results import Notifier
    from .connect import Database
    from .store import SqliteStore

POLL = 50
REASONS = {b"j": "jobs", b"c": "cancel"}
LONGEST = 100  # a socket's path may have some 108 bytes


class SocketNotifier:
    """The notifier of one worker on a database file."""

    def __init__(self, db: Database, worker: str) -> None:
        import _socket

        from .. import worker_locks

        self._db, self._name, self._version = db, worker + ".sock", -1
        try:
            worker_locks.make_folder(db.path)
            self._folder = os.open(folder(db.path), os.O_RDONLY)
            self._socket = _socket.socket(_socket.AF_UNIX, _socket.SOCK_DGRAM)
            self._unlink()  # of a worker of this name that died
            self._socket.bind(_address(db.path, self._name, self._folder))
        except OSError as error:
            raise worker_locks.mapped(error, db.path) from error

    def wait(self, timeout: int) -> str:
        """Block until a notification comes, the file changes and has queued jobs, or the time is over."""
        while timeout > 0:
            self._socket.settimeout(min(timeout, POLL) / 1000)
            try:
                return REASONS.get(self._socket.recv(1), "jobs")
            except TimeoutError:
                timeout -= POLL
            if self._db.read(self._poll):
                return "jobs"
        return ""

    def _poll(self, connection: sqlite3.Connection) -> bool:
        """Return whether the file has changed since the last poll and has jobs to claim."""
        version = connection.execute("PRAGMA data_version").fetchone()[0]
        if version == self._version:
            return False
        found = connection.execute("SELECT EXISTS (SELECT 1 FROM mainstay_job WHERE state = 'queued')").fetchone()[0]
        self._version = version
        return bool(found)

    def close(self) -> None:
        """Stop listening and remove the socket."""
        self._socket.close()
        self._unlink()
        os.close(self._folder)

    def _unlink(self) -> None:
        try:
            os.unlink(self._name, dir_fd=self._folder)
        except OSError:  # a sweep has removed it
            pass


class MemoryNotifier:
    """The notifier of a worker on a database in memory, in the same process."""

    def __init__(self, notifiers: set[MemoryNotifier]) -> None:
        from _queue import SimpleQueue

        self.reasons: SimpleQueue[str] = SimpleQueue()
        self._notifiers = notifiers
        notifiers.add(self)

    def wait(self, timeout: int) -> str:
        """Block until a notification comes or the time is over; return the weightiest of those that came."""
        from _queue import Empty

        try:
            reasons = [self.reasons.get(timeout=timeout / 1000)]
            while not self.reasons.empty():
                reasons.append(self.reasons.get())
        except Empty:
            return ""
        return "cancel" if "cancel" in reasons else "jobs"

    def close(self) -> None:
        """Stop listening."""
        self._notifiers.discard(self)


def notifier(store: SqliteStore, worker: str) -> Notifier:
    """Return a notifier for a worker."""
    return MemoryNotifier(store.notifiers) if store.db.memory else SocketNotifier(store.db, worker)


def notify(store: SqliteStore, what: str = "jobs") -> None:
    """Wake every worker: send one byte to every socket beside the database. A worker that it does not reach polls."""
    for each in list(store.notifiers):
        each.reasons.put(what)
    if store.db.memory:
        return
    try:
        names = [name for name in os.listdir(folder(store.db.path)) if name.endswith(".sock")]
        if names:
            _send(store.db.path, names, what[0].encode())
    except OSError:  # no worker, or no descriptor left: the job is accepted all the same
        pass


def _send(path: str, names: list[str], byte: bytes) -> None:
    import _socket

    descriptor = os.open(folder(path), os.O_RDONLY)
    try:
        sender = _socket.socket(_socket.AF_UNIX, _socket.SOCK_DGRAM)
        sender.setblocking(False)
        for name in names:
            try:
                sender.sendto(byte, _address(path, name, descriptor))
            except OSError:  # its worker is gone, or has enough notifications waiting
                pass
        sender.close()
    finally:
        os.close(descriptor)


def _address(path: str, name: str, descriptor: int) -> str:
    """Return the socket's path; by way of the open folder where the plain one is too long for the kernel."""
    plain = os.path.join(folder(path), name)
    return plain if len(os.fsencode(plain)) <= LONGEST else f"/proc/self/fd/{descriptor}/{name}"
