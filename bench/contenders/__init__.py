"""The contenders. Each file answers the same few questions about one queue; nothing else knows how it works inside."""

from __future__ import annotations

import signal
import sqlite3
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
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


class Claimer(Protocol):
    """A connection of its own that claims and completes, without a worker around it."""

    def turn(self, wanted: int) -> list[str]:
        """Complete what the last turn took, take up to so many, and answer which."""

    def close(self) -> None: ...


class Contender:
    """One queue and how it is used: the settings its documentation recommends, stated in the report."""

    engine = "sqlite"
    name = ""
    about = ""
    durability = ""
    package = ""  # what must be installed
    module = ""  # what runs as its worker: `python -m module path`
    bulk = True  # whether it has a bulk call
    pace = 1.0  # share of the jobs that a slow one is given, so that a run lasts seconds, not minutes
    stop = signal.SIGTERM  # asks the worker to finish what it runs and leave
    twin = False  # whether it enqueues just as another contender does: that is measured once
    several = True  # whether its marks can be told apart when several processes make them
    root: Path | None = None  # the folder its processes run in; None: this checkout
    environment: Mapping[str, str] = {}  # variables that its processes get besides those of the bench

    def missing(self) -> str:
        """Why it cannot take part; empty: it can."""
        return "not installed" if self.package and find_spec(self.package) is None else ""

    def producer(self, address: str, action: str, count: int) -> list[str]:
        """The command line of a producer."""
        return [sys.executable, "-m", "bench.producer", self.engine, self.name, address, action, str(count)]

    def open(self, address: str) -> Producer:
        """Connect as a producer; the first one makes the tables."""
        raise NotImplementedError

    def foreign(self, address: str) -> Producer:
        """Connect as a producer of jobs of a type that the worker lacks, in the worker's queue."""
        raise NotImplementedError

    def fill(self, producer: Producer, numbers: Iterable[int]) -> None:
        """Enqueue a backlog; how fast does not matter."""
        fill(producer, numbers)

    def age(self, address: str) -> None:
        """Make everything that waits look as if it had been completed."""
        raise NotImplementedError

    def count(self, address: str) -> Stored:
        """Count what the store holds."""
        raise NotImplementedError

    def workers(self, address: str, processes: int) -> list[list[str]]:
        """The command lines that start so many worker processes."""
        return [[sys.executable, "-m", self.module, address]] * processes

    def claimer(self, address: str, name: str) -> Claimer | None:
        """A claimer with a connection of its own, for those whose claims are measured by themselves."""
        return None

    def cold(self, address: str) -> str:
        """The program of a hook: start, enqueue one job, exit; empty where that is not measured."""
        return ""


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


def ask(path: str, *statements: str) -> list[int]:
    """The first number of each statement's answer, from a plain connection; writes are committed."""
    with sqlite3.connect(path, timeout=30) as connection:
        answers = [connection.execute(statement).fetchone() for statement in statements]
    connection.close()
    return [row[0] if row else 0 for row in answers]


def ask_postgres(url: str, *statements: str) -> list[int]:
    """As `ask`, of a PostgreSQL database; a table that is not there yet holds nothing."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        return [_first(connection.execute(statement).fetchone()) for statement in statements]


def _first(row: tuple[Any, ...] | None) -> int:
    return row[0] if row else 0


def contenders(engine: str = "sqlite") -> list[Contender]:
    """Every contender of an engine, the reference first."""
    return {"sqlite": _on_sqlite, "postgres": _on_postgres, "redis": _on_redis}[engine]()


def _on_sqlite() -> list[Contender]:
    from .huey_sqlite import HueySqlite
    from .limit import Limit
    from .lite_queue import LiteQueue
    from .mainstay_jobs import MainstayAsync, MainstayThreads

    return [Limit(), MainstayThreads(), MainstayAsync(), HueySqlite(), LiteQueue()]


def _on_postgres() -> list[Contender]:
    from .limit_asyncpg import AsyncpgLimit
    from .limit_postgres import PostgresLimit
    from .mainstay_jobs import PostgresAsync, PostgresThreads
    from .oban_jobs import Oban
    from .pgqueuer_jobs import PgQueuer

    return [PostgresLimit(), PostgresThreads(), PostgresAsync(), AsyncpgLimit(), PgQueuer(), Oban()]


def _on_redis() -> list[Contender]:
    from .bullmq import BullMQ
    from .dramatiq_jobs import Dramatiq
    from .limit_redis import RedisLimit
    from .mainstay_jobs import RedisAsync, RedisThreads

    return [RedisLimit(), RedisThreads(), RedisAsync(), Dramatiq(), BullMQ()]


def named(engine: str, name: str) -> Contender:
    """The contender of that name."""
    return next(contender for contender in contenders(engine) if contender.name == name)
