"""The limit: what a careful engineer writes by hand with plain `sqlite3`, at the same durability, and nothing more.

One table, two partial indexes, no retries, no leases, no logs, no results. It claims 100 jobs, runs them, and marks them completed in
the transaction of the next claim. A reference, not a ceiling: it is serial.
"""

from __future__ import annotations

import json
import signal
import sqlite3
import sys
import time
from typing import TYPE_CHECKING

from ..marks import mark, payload
from . import Contender, Stored, ask

if TYPE_CHECKING:
    from collections.abc import Sequence

BATCH = 100
IDLE = 0.002  # seconds between two looks at data_version

SCHEMA = """
CREATE TABLE IF NOT EXISTS job (
    id INTEGER PRIMARY KEY, queue TEXT NOT NULL, type TEXT NOT NULL, payload TEXT NOT NULL, state TEXT NOT NULL,
    priority INTEGER NOT NULL, run_at INTEGER NOT NULL, attempts INTEGER NOT NULL, max_attempts INTEGER NOT NULL,
    worker TEXT, created_at INTEGER NOT NULL, started_at INTEGER, finished_at INTEGER
);
CREATE INDEX IF NOT EXISTS job_ready ON job (queue, priority DESC, run_at, id) WHERE state = 'queued';
CREATE INDEX IF NOT EXISTS job_running ON job (worker) WHERE state = 'running';
"""
INSERT = """
INSERT INTO job (queue, type, payload, state, priority, run_at, attempts, max_attempts, created_at)
VALUES ('default', 'noop', ?1, 'queued', 0, ?2, 0, 3, ?2)
"""
CLAIM = """
UPDATE job SET state = 'running', worker = ?1, attempts = attempts + 1, started_at = ?2
WHERE id IN (SELECT id FROM job WHERE state = 'queued' AND queue = 'default' AND run_at <= ?2
             ORDER BY priority DESC, run_at, id LIMIT ?3)
RETURNING id, payload
"""
COMPLETE = "UPDATE job SET state = 'completed', worker = NULL, finished_at = ?1 WHERE id = ?2 AND worker = ?3"

COLD = """
import sqlite3, json, time
connection = sqlite3.connect({path!r}, isolation_level=None)
connection.execute("PRAGMA synchronous=FULL")
now = int(time.time() * 1000)
connection.execute({insert!r}, (json.dumps({payload!r}), now))
connection.close()
"""


def connect(path: str) -> sqlite3.Connection:
    """A connection in autocommit mode: WAL, and an fsync at every commit."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=30)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    return connection


def now() -> int:
    return int(time.time() * 1000)


class Hand:
    """A producer written by hand."""

    def __init__(self, path: str) -> None:
        self.connection = connect(path)
        self.connection.executescript(SCHEMA)

    def one(self, n: int) -> None:
        self.connection.execute(INSERT, (json.dumps(payload(n)), now()))

    def many(self, numbers: Sequence[int]) -> None:
        at = now()
        self.connection.execute("BEGIN IMMEDIATE")
        self.connection.executemany(INSERT, [(json.dumps(payload(n)), at) for n in numbers])
        self.connection.execute("COMMIT")

    def close(self) -> None:
        self.connection.close()


class Limit(Contender):
    """The reference."""

    name = "limit"
    durability = "synchronous=FULL"
    about = f"plain sqlite3, WAL, one table, claim {BATCH} / run / complete {BATCH} with the next claim, rows kept"
    module = "bench.contenders.limit"

    def open(self, path: str) -> Hand:
        return Hand(path)

    def age(self, path: str) -> None:
        ask(path, "UPDATE job SET state = 'completed', started_at = created_at, finished_at = created_at, attempts = 1")

    def count(self, path: str) -> Stored:
        states = "SELECT count(*) FROM job WHERE state = "
        return Stored(*ask(path, states + "'queued'", states + "'completed'"))

    def cold(self, path: str) -> str:
        return COLD.format(path=path, insert=INSERT, payload=payload(0))


class Loop:
    """Its worker: one thread, one connection."""

    def __init__(self, path: str) -> None:
        self.connection, self.name = connect(path), f"worker-{time.monotonic_ns()}"
        self.stopping = False

    def stop(self, *_: object) -> None:
        self.stopping = True

    def run(self) -> None:
        held: list[tuple[int, str]] = []
        while not self.stopping:
            held = self.turn(held, BATCH)
            for _, text in held:
                mark(json.loads(text)["n"])
            if not held:
                self.wait()
        self.turn(held, 0)

    def turn(self, done: list[tuple[int, str]], wanted: int) -> list[tuple[int, str]]:
        """Complete what was done and claim the next, in one transaction."""
        at = now()
        self.connection.execute("BEGIN IMMEDIATE")
        self.connection.executemany(COMPLETE, [(at, number, self.name) for number, _ in done])
        claimed = self.connection.execute(CLAIM, (self.name, at, wanted)).fetchall()
        self.connection.execute("COMMIT")
        return claimed

    def wait(self) -> None:
        """Until another connection has written something."""
        seen = self.version()
        while not self.stopping and self.version() == seen:
            time.sleep(IDLE)

    def version(self) -> int:
        return int(self.connection.execute("PRAGMA data_version").fetchone()[0])


if __name__ == "__main__":
    loop = Loop(sys.argv[1])
    signal.signal(signal.SIGTERM, loop.stop)
    loop.run()
