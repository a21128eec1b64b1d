"""`await job.aresult()`: any number of awaited jobs share one thread of the event loop's executor."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from mainstay import JobFailed, Mainstay, NotFound, ResultTimeout, StoreUnavailable
from mainstay.waiting import _polls

MANY = 1_000


@pytest.fixture
def app(url):
    app = Mainstay(url)
    yield app
    app.close()


@pytest.fixture
def work(app):
    @app.job(retry=1)
    def work(n: int = 0) -> int:
        if n < 0:
            raise ValueError("below zero")
        return n

    return work


@pytest.fixture
def run():
    """Run a coroutine in a loop whose executor has two threads; at the end nothing is awaited any more."""

    def run(coroutine):
        async def main():
            asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2))
            return await asyncio.wait_for(coroutine, 100)

        return asyncio.run(main())

    yield run
    assert _polls == {}


async def begun(coroutines):
    """Tasks that have all reached their first wait."""
    tasks = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
    await asyncio.sleep(0)
    return tasks


def test_awaited_jobs_leave_the_executor_to_others(app, work, run):
    async def main():
        handles = await app.aenqueue_many(work.prepare(n) for n in range(MANY))
        tasks = await begun(handle.aresult() for handle in handles)
        late = [await asyncio.wait_for(work.aenqueue(n), 10) for n in range(20)]
        assert not any(task.done() for task in tasks)
        with app.worker(concurrency=8):
            assert await asyncio.gather(*tasks) == list(range(MANY))
            assert [await handle.aresult() for handle in late] == list(range(20))

    run(main())


def test_each_one_gets_what_became_of_its_job(app, work, run):
    async def main():
        good, bad, gone = [await work.aenqueue(n) for n in (7, -1, 0)]
        later = await work.options(delay="1h").aenqueue()
        app.delete(gone)
        tasks = await begun([
            good.aresult(), good.aresult(), bad.aresult(), gone.aresult(), later.aresult(timeout=0), later.aresult(timeout=0.05)
        ])  # fmt: skip
        with app.worker(concurrency=1):
            return await asyncio.gather(*tasks, return_exceptions=True)

    one, two, *errors = run(main())
    assert one == two == 7
    assert [type(error) for error in errors] == [JobFailed, NotFound, ResultTimeout, ResultTimeout]
    assert "below zero" in str(errors[0])


def test_one_that_is_cancelled_leaves_the_others(app, work, run):
    async def main():
        handle = await work.aenqueue(3)
        first, second = await begun([handle.aresult(), handle.aresult()])
        first.cancel()
        with app.worker(concurrency=1):
            return await asyncio.gather(first, second, return_exceptions=True)

    first, second = run(main())
    assert (type(first), second) == (asyncio.CancelledError, 3)


def test_an_error_of_the_store_reaches_everyone_and_the_next_one_begins_anew(app, work, run, monkeypatch):
    def broken(ids):
        raise StoreUnavailable("not there")

    async def main():
        handle = await work.aenqueue(3)
        with monkeypatch.context() as patch:
            patch.setattr(app.store, "get_many", broken, raising=False)
            found = await asyncio.gather(*map(partial(type(handle).aresult), [handle] * 3), return_exceptions=True)
        with app.worker(concurrency=1):
            return found, await handle.aresult()

    found, result = run(main())
    assert ([type(error) for error in found], result) == ([StoreUnavailable] * 3, 3)
