"""oban-py as its documentation sets it up: psycopg's async pool, orjson, uvloop, one queue with many slots."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import TYPE_CHECKING, Any

from ..marks import mark, payload
from . import Contender, Stored, ask_postgres

if TYPE_CHECKING:
    from collections.abc import Sequence

SLOTS = 100
CONNECTIONS = 10


def handler() -> Any:
    """The worker class of the no-op."""
    from oban import worker

    @worker(queue="default")
    class Noop:
        async def process(self, job: Any) -> None:
            mark(job.args["n"])

    return Noop


async def pool(url: str) -> Any:
    """An open pool, with the JSON functions its own command sets."""
    import orjson
    from psycopg.types.json import set_json_dumps, set_json_loads
    from psycopg_pool import AsyncConnectionPool

    set_json_dumps(orjson.dumps)
    set_json_loads(orjson.loads)
    made = AsyncConnectionPool(conninfo=url, min_size=1, max_size=CONNECTIONS, open=False, kwargs={"autocommit": False})
    await made.open()
    await made.wait()
    return made


class Enqueuer:
    """A producer: an Oban without queues."""

    def __init__(self, url: str) -> None:
        import uvloop

        self.job, self.loop = handler(), uvloop.new_event_loop()
        self.loop.run_until_complete(self._open(url))

    async def _open(self, url: str) -> None:
        from oban import Oban as Instance
        from oban.schema import install_sql

        self.pool = await pool(url)
        if not _installed(url):
            async with self.pool.connection() as connection:
                await connection.execute(install_sql())
        self.oban = Instance(pool=self.pool)

    def one(self, n: int) -> None:
        self.loop.run_until_complete(self.oban.enqueue(self.job.new(payload(n))))

    def many(self, numbers: Sequence[int]) -> None:
        self.loop.run_until_complete(self.oban.enqueue_many([self.job.new(payload(n)) for n in numbers]))

    def close(self) -> None:
        self.loop.run_until_complete(self.pool.close())
        self.loop.close()


def _installed(url: str) -> bool:
    return ask_postgres(url, "SELECT count(*) FROM pg_tables WHERE tablename = 'oban_jobs'") != [0]


class Oban(Contender):
    """oban-py, the free edition."""

    engine = "postgres"
    name = "oban"
    about = f"psycopg pool, orjson, uvloop, one queue with {SLOTS} slots, rows kept"
    durability = "synchronous_commit=on"
    package = "oban"
    module = "bench.contenders.oban_jobs"
    pace = 0.15

    def open(self, address: str) -> Enqueuer:
        return Enqueuer(address)

    def count(self, address: str) -> Stored:
        if not _installed(address):
            return Stored(0, 0)
        state = "SELECT count(*) FROM oban_jobs WHERE state = "
        return Stored(*ask_postgres(address, state + "'available'", state + "'completed'"))


async def run(url: str) -> None:
    """Process the queue until a signal."""
    from oban import Oban as Instance

    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    connections = await pool(url)
    async with Instance(pool=connections, queues={"default": SLOTS}):
        await stopping.wait()
    await connections.close()


if __name__ == "__main__":
    import uvloop

    from bench.contenders.oban_jobs import handler as imported, run as running  # a job is known by its worker's module

    imported()
    uvloop.run(running(sys.argv[1]))
