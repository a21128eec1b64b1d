"""A program's writes to a database, in order, with its acknowledgements among them: the raw material of power cuts.

`record` runs the program below in a process of its own, with `spy.c` preloaded. The program enqueues, claims, finishes and
prunes, and writes one line to the file `acks` for each promise it was given: the spy logs those lines among the others.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .engines import Sqlite

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
HEAD = struct.Struct("=cBQI")
ACKS = "acks"
PATIENCE = 120


class Statement(NamedTuple):
    """One thing done to a file: w(rite), s(ync), t(runcate), u(nlink), r(ename); in `acks`, one promise."""

    op: str
    name: str
    offset: int
    data: bytes


def compiler() -> str | None:
    """The C compiler of this machine, if any."""
    return next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)


def missing() -> str:
    """Why power cuts cannot be simulated here; empty when they can."""
    if not sys.platform.startswith("linux"):
        return "the spy is preloaded the way Linux does it"
    return "" if compiler() else "no C compiler (cc, gcc or clang) is there to build the spy"


def record(folder: Path, synchronous: str, jobs: int) -> list[Statement]:
    """Run the program on a new database and answer what it did."""
    library, log, database = folder / "spy.so", folder / "steps", folder / "disk"
    subprocess.run([compiler() or "cc", "-O1", "-shared", "-fPIC", "-o", library, HERE / "spy.c"], check=True)
    database.mkdir()
    environment = {**os.environ, "LD_PRELOAD": str(library), "SPY_FOLDER": str(database), "SPY_LOG": str(log),
                   "PYTHONPATH": os.pathsep.join(filter(None, [str(HERE.parents[1] / "src"), *sys.path]))}  # fmt: skip
    program = [sys.executable, "-m", "tests.crash.trace", str(database), synchronous, str(jobs)]
    subprocess.run(program, check=True, env=environment, cwd=HERE.parents[1], timeout=PATIENCE)
    return list(parse(log.read_bytes()))


def parse(log: bytes) -> Iterator[Statement]:
    """The steps in a log."""
    at = 0
    while at < len(log):
        op, length, offset, size = HEAD.unpack_from(log, at)
        at += HEAD.size
        name = log[at : at + length].decode()
        yield Statement(op.decode(), name, offset, log[at + length : at + length + size])
        at += length + size


# The program under the spy


class Program:
    """Enqueues alone, in bulk and in a transaction, while a worker in the same process completes what it finds."""

    def __init__(self, folder: Path, synchronous: str) -> None:
        from mainstay import Mainstay
        from mainstay.stores.sqlite import connect

        connect.LOGGED = 500  # some of the cuts come while SQLite copies its log into the file

        self.engine = Sqlite(folder, f"?synchronous={synchronous}")
        self.app = Mainstay(self.engine.url)
        self.job = self.app.job(retry=3)(work)
        self.acks = os.open(folder / ACKS, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.app.events.on("stored", lambda transitions: self.ack("=", [t.id for t in transitions]))

    def ack(self, sign: str, ids: list[str]) -> None:
        """Write down a promise: `+` accepted, `=` completed."""
        for job_id in ids:
            os.write(self.acks, f"{sign}{job_id}\n".encode())

    def produce(self, jobs: int) -> None:
        """Enqueue so many jobs, in turn in each of the three ways."""
        self.app.store.counts(1)
        self.engine.prepare()
        for n in range(0, jobs, 12):
            self.ack("+", [self.job.enqueue(n, "x" * 300).id])
            self.ack("+", [handle.id for handle in self.app.enqueue_many(self.job.prepare(n, "y") for _ in range(10))])
            self.order(n)

    def order(self, n: int) -> None:
        """A row of the user's own and a job, in one transaction."""
        with self.engine.transaction() as tx:
            self.engine.order(tx, str(n))
            handle = self.job.options(tx=tx).enqueue(n, "order")
        self.ack("+", [handle.id])


def work(n: int, text: str) -> dict[str, int]:
    """The handler."""
    return {"n": n, "length": len(text)}


def main(folder: str, synchronous: str, jobs: str) -> None:
    """Produce and work at the same time, then vanish: a power cut leaves nobody time to close the file."""
    program = Program(Path(folder), synchronous)
    left = threading.Semaphore(0)
    program.app.events.on("stored", lambda transitions: [left.release() for _ in transitions])
    program.app.worker(concurrency=4).start()
    program.produce(int(jobs))
    for _ in range(int(jobs)):
        left.acquire(timeout=PATIENCE)
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
