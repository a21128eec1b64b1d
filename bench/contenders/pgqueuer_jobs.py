"""PgQueuer as its documentation sets it up for throughput: asyncpg, uvloop, big batches; durable tables are its default."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Any

from ..marks import mark, payload
from . import Contender, Stored, ask_postgres

if TYPE_CHECKING:
    from collections.abc import Sequence

BATCH = 100


def encoded(n: int) -> bytes:
    return json.dumps(payload(n)).encode()


class Enqueuer:
    """A producer that enqueues on one asyncpg connection."""

    def __init__(self, url: str) -> None:
        import uvloop

        self.loop = uvloop.new_event_loop()
        self.loop.run_until_complete(self._open(url))

    async def _open(self, url: str) -> None:
        import asyncpg
        from pgqueuer.db import AsyncpgDriver
        from pgqueuer.queries import Queries

        self.connection = await asyncpg.connect(url)
        self.queries = Queries(AsyncpgDriver(self.connection))
        if not await self.queries.schema_is_installed():
            await self.queries.install()

    def one(self, n: int) -> None:
        self.loop.run_until_complete(self.queries.enqueue("noop", encoded(n)))

    def many(self, numbers: Sequence[int]) -> None:
        names, priorities = ["noop"] * len(numbers), [0] * len(numbers)
        self.loop.run_until_complete(self.queries.enqueue(names, [encoded(n) for n in numbers], priorities))

    def close(self) -> None:
        self.loop.run_until_complete(self.connection.close())
        self.loop.close()


class PgQueuer(Contender):
    """PgQueuer."""

    engine = "postgres"
    name = "pgqueuer"
    about = f"AsyncpgDriver, uvloop, batch_size {BATCH}, durable tables; a completion is a row of its log"
    durability = "synchronous_commit=on"
    package = "pgqueuer"
    module = "bench.contenders.pgqueuer_jobs"
    pace = 0.7

    def open(self, address: str) -> Enqueuer:
        return Enqueuer(address)

    def count(self, address: str) -> Stored:
        """The log is folded into statistics now and then; a completion is in the one or in the other."""
        waiting = "SELECT count(*) FROM pgqueuer WHERE status = 'queued'"
        logged = "SELECT count(*) FROM pgqueuer_log WHERE status = 'successful' AND NOT aggregated"
        folded = "SELECT coalesce(sum(count), 0)::bigint FROM pgqueuer_statistics WHERE status = 'successful'"
        left, fresh, older = ask_postgres(address, waiting, logged, folded)
        return Stored(left, fresh + older)


async def run(url: str) -> None:
    """Its queue manager, until a signal: it handles those itself."""
    import asyncpg
    from pgqueuer import PgQueuer as Manager
    from pgqueuer.db import AsyncpgDriver

    manager = Manager(AsyncpgDriver(await asyncpg.connect(url)))

    @manager.entrypoint("noop")
    async def noop(job: Any) -> None:
        mark(json.loads(job.payload)["n"])

    _leaves(manager)
    await manager.run(batch_size=BATCH)


def _leaves(manager: Any) -> None:
    """A SIGTERM asks it to finish what it runs, as its own command line does."""
    import signal

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, manager.shutdown.set)


if __name__ == "__main__":
    import uvloop

    uvloop.run(run(sys.argv[1]))
