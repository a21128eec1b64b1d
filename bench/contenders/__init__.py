"""The contenders. Each file answers the same few questions about one queue; nothing else knows how it works inside."""

from __future__ import annotations

import signal
import sqlite3
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

CHUNK = 1_000  # jobs a transaction, for every contender that has a bulk call


class Stored(NamedTuple):
    """What the store itself holds, counted with its own rows."""

    waiting: int
    completed: int


class Producer(Protocol):
    """An open connection of a producer."""

    def one(self, n: int) -> None:
        """Enqueue one job with a call of its own."""

    def many(self, numbers: Sequence[int]) -> None:
        """Enqueue up to `CHUNK` jobs with the bulk call."""

    def close(self) -> None: ...


class Contender:
    """One queue and how it is used: the settings its documentation recommends, stated in the report."""

    name = ""
    about = ""
    durability = "FULL"
    package = ""  # what must be installed
    module = ""  # what runs as its worker: `python -m module path`
    bulk = True  # whether it has a bulk call
    pace = 1.0  # share of the jobs that a slow one is given, so that a run lasts seconds, not minutes
    stop = signal.SIGTERM  # asks the worker to finish what it runs and leave

    def missing(self) -> bool:
        """Whether its package is not installed."""
        return bool(self.package) and find_spec(self.package) is None

    def open(self, path: Path) -> Producer:
        """Connect as a producer; the first one makes the tables."""
        raise NotImplementedError

    def fill(self, producer: Producer, numbers: Iterable[int]) -> None:
        """Enqueue a backlog; how fast does not matter."""
        fill(producer, numbers)

    def age(self, path: Path) -> None:
        """Make everything that waits look as if it had been completed."""
        raise NotImplementedError

    def count(self, path: Path) -> Stored:
        """Count what the store holds."""
        raise NotImplementedError

    def workers(self, path: Path, processes: int) -> list[list[str]]:
        """The command lines that start so many worker processes."""
        return [[sys.executable, "-m", self.module, str(path)]] * processes

    def cold(self, path: Path) -> str:
        """The program of a hook: start, enqueue one job, exit."""
        raise NotImplementedError


def fill(producer: Producer, numbers: Iterable[int]) -> None:
    """Enqueue by the bulk call, a chunk at a time."""
    chunk: list[int] = []
    for n in numbers:
        chunk.append(n)
        if len(chunk) == CHUNK:
            producer.many(chunk)
            chunk = []
    if chunk:
        producer.many(chunk)


def ask(path: Path, *statements: str) -> list[int]:
    """The first number of each statement's answer, from a plain connection; writes are committed."""
    with sqlite3.connect(path, timeout=30) as connection:
        answers = [connection.execute(statement).fetchone() for statement in statements]
    connection.close()
    return [row[0] if row else 0 for row in answers]


def contenders() -> list[Contender]:
    """Every contender, the reference first."""
    from .huey_sqlite import HueySqlite
    from .limit import Limit
    from .lite_queue import LiteQueue
    from .mainstay_jobs import MainstayAsync, MainstayThreads

    return [Limit(), MainstayThreads(), MainstayAsync(), HueySqlite(), LiteQueue()]


def named(name: str) -> Contender:
    """The contender of that name."""
    return next(contender for contender in contenders() if contender.name == name)
