"""The same table and statement driven by asyncpg on uvloop: for information, to see what the driver costs."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time

from ..marks import mark
from .limit_postgres import BATCH, IDLE, SETTINGS, TURN, PostgresLimit, now


class AsyncpgLimit(PostgresLimit):
    """The limit with another driver; producers are the limit's own."""

    name = "limit asyncpg"
    about = f"as the limit, worker on asyncpg and uvloop, batch {BATCH}; for information"
    package = "asyncpg"
    twin = True
    module = "bench.contenders.limit_asyncpg"

    def cold(self, address: str) -> str:
        return ""

    def claimer(self, address: str, name: str) -> None:
        return None


async def run(url: str) -> None:
    """Complete and claim until told to stop."""
    import asyncpg

    name, stopping, called = f"worker-{time.monotonic_ns()}", asyncio.Event(), asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    connection, ear = [await asyncpg.connect(url, server_settings=SETTINGS) for _ in range(2)]
    await ear.add_listener("jobs", lambda *_: called.set())
    turn, held = await connection.prepare(TURN), []
    while not stopping.is_set():
        called.clear()
        held = await turn.fetch([row[0] for row in held], name, now(), BATCH)
        for row in held:
            mark(json.loads(row[1])["n"])
        if not held:
            await _called(called, stopping)
    await turn.fetch([row[0] for row in held], name, now(), 0)
    await connection.close()
    await ear.close()


async def _called(*events: asyncio.Event) -> None:
    """Wait until one of these is set, or until it is time to poll."""
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    await asyncio.wait(waits, timeout=IDLE, return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()


if __name__ == "__main__":
    try:
        from uvloop import run as run_loop
    except ImportError:
        from asyncio import run as run_loop

    run_loop(run(sys.argv[1]))
