"""What handlers report arrives whole, however much it is and from whichever thread, on every engine."""

import asyncio
import contextvars
import threading

import pytest

from mainstay import Mainstay, ctx
from mainstay.worker import update_buffer
from tests.servers.engines import ENGINES

LINES = 12_000  # more than two rounds write
THREADS, EACH = 8, 400


@pytest.fixture
def app(engine, tmp_path):
    with ENGINES[engine](tmp_path) as url, Mainstay(url).store as store:
        yield Mainstay(store=store)


def logged(app, handler):
    """Run a handler in a worker and return its log."""
    job = app.job(handler).enqueue()
    with app.worker(concurrency=2):
        job.result(timeout=60)
    lines, found = [None], []
    while lines:
        lines = app.store.logs(job.id, len(found), 5_000)
        found += lines
    return [line.message for line in found]


def test_a_handler_that_logs_more_than_a_round_writes(app):
    def chatty() -> None:
        for n in range(LINES):
            ctx.log(f"line {n}")

    assert logged(app, chatty) == [f"line {n}" for n in range(LINES)]


def test_threads_of_one_handler_lose_no_line(app):
    def crowded() -> None:
        threads = [
            threading.Thread(target=contextvars.copy_context().run, args=(talk, name)) for name in range(THREADS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def talk(name: int) -> None:
        for n in range(EACH):
            ctx.log(f"{name} {n}")
            ctx.progress(n)

    assert sorted(logged(app, crowded)) == sorted(f"{name} {n}" for name in range(THREADS) for n in range(EACH))


@pytest.mark.engines("memory")
def test_an_async_handler_that_reports_too_much_holds_up_no_other(app, monkeypatch):
    """While the store does not reply, and with it nothing that was reported is written."""
    monkeypatch.setattr(update_buffer, "MANY", 100)
    away, back, through = threading.Event(), threading.Event(), threading.Event()
    finish = app.store.finish

    def stalled(*arguments):
        away.set()
        back.wait(60)
        return finish(*arguments)

    monkeypatch.setattr(app.store, "finish", stalled)

    @app.job(timeout=None)
    async def chatty() -> None:
        ctx.log("the first line")
        await asyncio.to_thread(away.wait, 60)
        for n in range(300):  # 200 seconds, if each line above the limit waited
            ctx.log(f"line {n}")
            await asyncio.sleep(0)
        through.set()

    handle = chatty.enqueue()
    with app.worker(concurrency=1):
        assert through.wait(20)
        back.set()
        handle.result(timeout=20)
