"""The contenders. Each file implements `Contender` for one queue."""

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
    """The numbers of jobs in the store, counted in its tables."""

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
    """Claims and completes on its own connection, without a worker."""

    def turn(self, wanted: int) -> list[str]:
        """Complete the jobs of the last turn, claim up to `wanted`, and return their ids."""

    def close(self) -> None: ...


class Contender:
    """One queue, with the settings that its documentation recommends; the report states them."""

    engine = "sqlite"
    name = ""
    about = ""
    durability = ""
    package = ""  # the package it needs
    module = ""  # its worker: `python -m module path`
    bulk = True  # whether it has a bulk call
    pace = 1.0  # its share of the jobs: less than 1 for a slow one, so that a run lasts seconds, not minutes
    stop = signal.SIGTERM  # stops its worker gracefully
    twin = False  # whether it enqueues as another contender does, which is measured once
    several = True  # whether several processes can make its marks
    root: Path | None = None  # the folder its processes run in; None: this checkout
    environment: Mapping[str, str] = {}  # variables that its processes get besides those of the bench

    def missing(self) -> str:
        """Why it cannot run here; empty if it can."""
        return "not installed" if self.package and find_spec(self.package) is None else ""

    def producer(self, address: str, action: str, count: int) -> list[str]:
        """The command line of a producer."""
        return [sys.executable, "-m", "bench.producer", self.engine, self.name, address, action, str(count)]

    def open(self, address: str) -> Producer:
        """Connect as a producer; the first one creates the tables."""
        raise NotImplementedError

    def foreign(self, address: str) -> Producer:
        """Connect as a producer of jobs of a type that the worker lacks, in the worker's queue."""
        raise NotImplementedError

    def fill(self, producer: Producer, numbers: Iterable[int]) -> None:
        """Enqueue a backlog; its speed is not measured."""
        fill(producer, numbers)

    def age(self, address: str) -> None:
        """Turn all waiting jobs into completed ones."""
        raise NotImplementedError

    def expire(self, address: str) -> None:
        """Let the retention of all completed jobs be over."""
        raise NotImplementedError

    def count(self, address: str) -> Stored:
        """Count the jobs in the store."""
        raise NotImplementedError

    def workers(self, address: str, processes: int) -> list[list[str]]:
        """The command lines that start `processes` worker processes."""
        return [[sys.executable, "-m", self.module, address]] * processes

    def claimer(self, address: str, name: str) -> Claimer | None:
        """A claimer with its own connection; None if claims of this contender are not measured alone."""
        return None

    def cold(self, address: str) -> str:
        """The program of a hook: start, enqueue one job, exit; empty if that is not measured."""
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
    """The first number that each statement returns, on a plain connection; writes are committed."""
    with sqlite3.connect(path, timeout=30) as connection:
        rows = [connection.execute(statement).fetchone() for statement in statements]
    connection.close()
    return [row[0] if row else 0 for row in rows]


def ask_postgres(url: str, *statements: str) -> list[int]:
    """As `ask`, for a PostgreSQL database."""
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
