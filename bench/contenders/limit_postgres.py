"""The limit on PostgreSQL: what a careful engineer writes by hand with psycopg, at the same durability, and nothing more.

One table, two partial indexes, no retries, no leases, no logs, no results, no keys. One statement, prepared, in binary: it marks the
last 100 completed (`unnest`), takes the next 100 (`FOR NO KEY UPDATE SKIP LOCKED` in a materialised CTE) and returns them: one
round trip and one commit a batch, which no loop that claims and completes can go below. Half of each page is left free, so
that new versions of a row find room beside the old one. A reference, not a ceiling: it is serial, and bigger batches are faster.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from typing import TYPE_CHECKING

from ..marks import mark, payload
from . import Contender, Stored, ask_postgres

if TYPE_CHECKING:
    from collections.abc import Sequence

    import psycopg

    Connection = psycopg.Connection[tuple[int, str]]

BATCH = 100
IDLE = 1.0  # seconds until it polls when no notification arrives
# Planned once, for walks along indexes: a generic plan knows no LIMIT, and would read the whole table for each batch.
SETTINGS = {
    "plan_cache_mode": "force_generic_plan", "enable_seqscan": "off", "enable_hashjoin": "off", "enable_mergejoin": "off",
    "enable_bitmapscan": "off", "enable_sort": "off", "jit": "off",
}  # fmt: skip

SCHEMA = """
CREATE TABLE IF NOT EXISTS job (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, queue text NOT NULL, type text NOT NULL, payload text NOT NULL,
    state text NOT NULL, priority integer NOT NULL, run_at bigint NOT NULL, attempts integer NOT NULL,
    max_attempts integer NOT NULL, worker text, created_at bigint NOT NULL, started_at bigint, finished_at bigint
) WITH (fillfactor = 50);
CREATE INDEX IF NOT EXISTS job_ready ON job (queue, priority DESC, run_at, id) WHERE state = 'queued';
CREATE INDEX IF NOT EXISTS job_running ON job (worker) WHERE state = 'running';
"""
INSERT = """
WITH made AS (
    INSERT INTO job (queue, type, payload, state, priority, run_at, attempts, max_attempts, created_at)
    SELECT 'default', 'noop', u.payload, 'queued', 0, $2, 0, 3, $2 FROM unnest($1::text[]) AS u(payload)
)
SELECT pg_notify('jobs', '')
"""
TURN = """
WITH done AS (
    UPDATE job SET state = 'completed', worker = NULL, finished_at = $3
    FROM unnest($1::bigint[]) AS u(id) WHERE job.id = u.id AND job.worker = $2
), next AS MATERIALIZED (
    SELECT id FROM job WHERE state = 'queued' AND queue = 'default' AND run_at <= $3
    ORDER BY priority DESC, run_at, id LIMIT $4 FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE job SET state = 'running', worker = $2, attempts = attempts + 1, started_at = $3
FROM next WHERE job.id = next.id
RETURNING job.id, job.payload
"""

COLD = """
import json, time, psycopg
with psycopg.connect({url!r}, autocommit=True, cursor_factory=psycopg.RawCursor) as connection:
    connection.execute({insert!r}, ([json.dumps({payload!r})], int(time.time() * 1000)))
"""


def connect(url: str) -> Connection:
    """A connection in autocommit mode that prepares what comes twice, and plans it once."""
    import psycopg

    options = " ".join(f"-c {name}={value}" for name, value in SETTINGS.items())
    connection = psycopg.connect(url, autocommit=True, cursor_factory=psycopg.RawCursor, options=options)
    connection.prepare_threshold = 1
    return connection


def now() -> int:
    return int(time.time() * 1000)


class Hand:
    """A producer written by hand."""

    def __init__(self, url: str) -> None:
        self.connection = connect(url)
        self.connection.execute(SCHEMA, prepare=False)

    def one(self, n: int) -> None:
        self.many([n])

    def many(self, numbers: Sequence[int]) -> None:
        self.connection.execute(INSERT, ([json.dumps(payload(n)) for n in numbers], now()))

    def close(self) -> None:
        self.connection.close()


class Turns:
    """Completes and claims on one connection."""

    def __init__(self, url: str, name: str) -> None:
        self.connection, self.name = connect(url), name
        self.cursor = self.connection.cursor(binary=True)
        self.held: list[tuple[int, str]] = []

    def take(self, wanted: int) -> list[tuple[int, str]]:
        """Complete the claimed jobs and claim the next, in one statement."""
        done = [number for number, _ in self.held]
        self.held = self.cursor.execute(TURN, (done, self.name, now(), wanted)).fetchall()
        return self.held

    def turn(self, wanted: int) -> list[str]:
        return [str(number) for number, _ in self.take(wanted)]

    def close(self) -> None:
        self.take(0)
        self.connection.close()


class PostgresLimit(Contender):
    """The reference."""

    engine = "postgres"
    name = "limit"
    about = f"psycopg, one table, one prepared statement completes {BATCH} and claims {BATCH}, LISTEN/NOTIFY, rows kept"
    durability = "synchronous_commit=on"
    module = "bench.contenders.limit_postgres"

    def open(self, address: str) -> Hand:
        return Hand(address)

    def count(self, address: str) -> Stored:
        if ask_postgres(address, "SELECT count(*) FROM pg_tables WHERE tablename = 'job'") == [0]:
            return Stored(0, 0)
        states = "SELECT count(*) FROM job WHERE state = "
        return Stored(*ask_postgres(address, states + "'queued'", states + "'completed'"))

    def claimer(self, address: str, name: str) -> Turns:
        return Turns(address, name)

    def cold(self, address: str) -> str:
        return COLD.format(url=address, insert=INSERT, payload=payload(0))


class Loop:
    """Its worker: one thread, one connection to claim on and one to listen on."""

    def __init__(self, url: str) -> None:
        self.turns, self.ear = Turns(url, f"worker-{time.monotonic_ns()}"), connect(url)
        self.ear.execute("LISTEN jobs", prepare=False)
        self.stopping = False

    def stop(self, *_: object) -> None:
        self.stopping = True

    def run(self) -> None:
        while not self.stopping:
            for _, text in self.turns.take(BATCH):
                mark(json.loads(text)["n"])
            if not self.turns.held:
                self.wait()
        self.turns.close()

    def wait(self) -> None:
        """Wait for a notification; one that has arrived before counts."""
        for _ in self.ear.notifies(timeout=IDLE, stop_after=1):
            pass


if __name__ == "__main__":
    loop = Loop(sys.argv[1])
    signal.signal(signal.SIGTERM, loop.stop)
    loop.run()
