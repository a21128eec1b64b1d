"""mainstay as a user runs it: two job types, the default options, the worker of the command line."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..marks import mark, payload
from . import Contender, Stored, ask, ask_postgres, flow_jobs, story_jobs
from .dead_jobs import Dead
from .flow_jobs import HeldProducer, Pauser, TenantsProducer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mainstay import Draft, Mainstay
    from mainstay.core.decide import Transition
    from mainstay.registry import JobType

LANES = int(os.environ.get("BENCH_LANES", "0"))  # queues, and types in each; 0: one queue with the two types
LEASE = 600_000  # ms; longer than any measure: these claimers do not renew their lease

COLD = """
from mainstay import Mainstay
Mainstay({url!r}).enqueue({type!r}, {payload!r})
"""


def url(address: str) -> str:
    """The URL of a file; a URL is returned unchanged."""
    return address if "://" in address else f"sqlite:///{address}"


def make(address: str) -> Mainstay:
    """The application: the same no-op as a plain function and as a coroutine."""
    from mainstay import Mainstay

    app = Mainstay(url(address))
    if "BENCH_HOLDS" in os.environ:
        time_removals(app.store, os.environ["BENCH_HOLDS"])
    if LANES:
        return with_lanes(app)
    if flow_jobs.FLOW:
        flow_jobs.add_types(app)
        return app
    if story_jobs.SAYS:
        story_jobs.add_types(app)
        return app

    @app.job
    def noop(n: int, pad: str) -> None:
        mark(n)

    @app.job
    async def anoop(n: int, pad: str) -> None:
        mark(n)

    return app


def time_removals(store: Any, path: str) -> None:
    """Write how many ms each removal of jobs keeps others waiting, a line each; on SQLite with its commit."""

    def note(ms: float) -> None:
        if threading.current_thread().name == "mainstay-prune":
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(f"{ms:.3f}\n")

    if store.url.startswith("sqlite"):
        write = store.db.write

        def timed(work: Any) -> Any:
            began = [0.0]

            def locked(connection: Any) -> Any:
                began[0] = time.perf_counter()
                return work(connection)

            result = write(locked)
            note((time.perf_counter() - began[0]) * 1_000)
            return result

        store.db.write = timed
        return
    prune_jobs = store.prune_jobs

    def call(jobs: Any) -> Any:
        result = prune_jobs(jobs)
        if jobs:
            note(result.ms)
        return result

    store.prune_jobs = call


def with_lanes(app: Mainstay) -> Mainstay:
    """As many types as `LANES` says, each with a queue of its own: the worker claims every type in every queue."""
    for n in range(LANES):
        app.job(name=f"noop{n}", queue=f"queue{n}")(_noop)
    return app


def _noop(n: int, pad: str) -> None:
    mark(n)


class Enqueuer:
    """A producer that uses the typed calls."""

    def __init__(self, app: Mainstay, job: JobType[..., None, Any]) -> None:
        self.app, self.job = app, job

    def one(self, n: int) -> None:
        self.job.enqueue(**payload(n))

    def many(self, numbers: Sequence[int]) -> None:
        self.app.enqueue_many(self.job.prepare(**payload(n)) for n in numbers)

    def close(self) -> None:
        self.app.close()

    def pauser(self) -> Pauser:
        return Pauser(self.app, self.app.registry.expect(flow_jobs.FOREIGN))


class Spreader(Enqueuer):
    """A producer that puts each of 100 jobs in a row into a lane of its own, where there are so many."""

    def __init__(self, app: Mainstay) -> None:
        super().__init__(app, app.registry.expect("noop0"))
        self.types = [app.registry.expect(f"noop{n}") for n in range(LANES)]

    def many(self, numbers: Sequence[int]) -> None:
        self.app.enqueue_many(self._draft(n) for n in numbers)

    def _draft(self, n: int) -> Draft:
        return self.types[n * 7 % LANES].options(queue=f"queue{n * 3 % LANES}").prepare(**payload(n))


class MainstayThreads(Contender):
    """Plain functions on thread slots."""

    name = "mainstay"
    about = (
        "defaults; plain function on thread slots; `mainstay worker --log-level warning` (no contender logs its jobs)"
    )
    durability = "synchronous=FULL"
    package = "mainstay"
    type = "noop"

    def open(self, address: str) -> Enqueuer | TenantsProducer:
        app = make(address)
        if flow_jobs.FLOW in ("tenants", "limited", "fair"):
            return TenantsProducer(app)
        return Spreader(app) if LANES else Enqueuer(app, app.registry.expect(self.type))

    def foreign(self, address: str) -> Any:
        app = make(address)
        if flow_jobs.FLOW == "dead":
            return Dead(app)
        if flow_jobs.FLOW:
            return HeldProducer(app)
        return Enqueuer(app, app.job(name="foreign")(_noop))

    def age(self, address: str) -> None:
        ended = "state = 'completed', started_at = created_at, finished_at = created_at, expires_at = created_at + keep"
        ask(address, f"UPDATE mainstay_job SET {ended}, attempt = 1, token = 1")

    def expire(self, address: str) -> None:
        ask(address, "UPDATE mainstay_job SET expires_at = 1 WHERE expires_at IS NOT NULL")

    def count(self, address: str) -> Stored:
        state = "SELECT count(*) FROM mainstay_job WHERE state = "
        return Stored(*ask(address, state + "'queued'", state + "'completed'"))

    def workers(self, address: str, processes: int) -> list[list[str]]:
        """One command, whatever the number: the supervisor starts the processes."""
        command = [sys.executable, "-m", "mainstay", "worker", "--app", "bench.contenders.mainstay_jobs:app"]
        return [
            [*command, "--processes", str(processes), "--log-level", self.environment.get("BENCH_LOG_LEVEL", "warning")]
        ]

    def cold(self, address: str) -> str:
        return COLD.format(url=url(address), type=self.type, payload=payload(0))


class MainstayAsync(MainstayThreads):
    """Coroutines on the event loop."""

    name = "mainstay async"
    about = "as mainstay; coroutine on the worker's event loop"
    type = "anoop"


class StoreClaimer:
    """A claimer that calls the store on one connection, as a worker's claimer thread does."""

    def __init__(self, address: str, name: str, type: str) -> None:
        from mainstay.core.job import WorkerInfo
        from mainstay.stores import open_store

        self.store, self.name, self.wants = open_store(address), name, {"default": [type]}
        now = _now()
        self.store.register(WorkerInfo(name, "bench", 1, 1, ("default",), (type,), now, now, now + LEASE, 0, False))
        self.done: list[Transition] = []

    def turn(self, wanted: int) -> list[str]:
        from mainstay.core.decide import completed

        claims = self.store.claim(self.name, self.wants, wanted, _now(), self.done)
        self.done = [completed(job, _now()) for job in claims.jobs]
        return [job.id for job in claims.jobs]

    def close(self) -> None:
        self.store.finish(self.done)
        self.store.deregister(self.name)
        self.store.close()


def _now() -> int:
    return int(time.time() * 1000)


class PostgresThreads(MainstayThreads):
    """On PostgreSQL."""

    engine = "postgres"
    durability = "synchronous_commit=on"

    def expire(self, address: str) -> None:
        import psycopg

        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("UPDATE mainstay.job SET expires_at = 1 WHERE expires_at IS NOT NULL")

    def count(self, address: str) -> Stored:
        there = "SELECT count(*) FROM pg_tables WHERE schemaname = 'mainstay' AND tablename = 'job'"
        if ask_postgres(address, there) == [0]:
            return Stored(0, 0)
        state = "SELECT count(*) FROM mainstay.job WHERE state = "
        return Stored(*ask_postgres(address, state + "'queued'", state + "'completed'"))

    def claimer(self, address: str, name: str) -> StoreClaimer:
        return StoreClaimer(f"{address}?connections=1", name, self.type)


class PostgresAsync(PostgresThreads):
    """Coroutines, on PostgreSQL."""

    name, about, type = MainstayAsync.name, MainstayAsync.about, MainstayAsync.type


class RedisThreads(MainstayThreads):
    """On Redis."""

    engine = "redis"
    durability = "appendfsync as stated"

    def expire(self, address: str) -> None:
        import redis

        with redis.Redis.from_url(address) as client:
            client.zunionstore("{mainstay}:expiry", {"{mainstay}:expiry": 0})

    def count(self, address: str) -> Stored:
        import redis

        with redis.Redis.from_url(address) as client:
            lanes = client.smembers("{mainstay}:lanes")
            waiting = sum(client.zcard(b"{mainstay}:queue:" + lane) for lane in lanes)
            return Stored(waiting, client.zcard("{mainstay}:ended:c"))

    def claimer(self, address: str, name: str) -> StoreClaimer:
        return StoreClaimer(address, name, self.type)


class RedisAsync(RedisThreads):
    """Coroutines, on Redis."""

    name, about, type = MainstayAsync.name, MainstayAsync.about, MainstayAsync.type


if "BENCH_DB" in os.environ:  # a worker process loads `app`
    app = make(os.environ["BENCH_DB"])
