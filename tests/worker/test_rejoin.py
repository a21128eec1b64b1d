"""A worker that lost its lease and lives, as after a suspend, costs its jobs an attempt at most."""

from contextlib import closing
from queue import SimpleQueue

import pytest

from mainstay import Mainstay, Retry, ctx
from mainstay.stores.contract import Renewal
from tests.servers.engines import ENGINES
from tests.waiting import eventually

SUSPENDS = 4  # more than the crashes that make a job poison


@pytest.fixture
def app(engine, tmp_path):
    with ENGINES[engine](tmp_path) as url, closing(Mainstay(url)) as app:
        yield app


def test_suspends_are_no_poison(app):
    started = SimpleQueue()

    @app.job(retry=Retry(10, base="1ms", jitter=False))
    def work() -> int:
        started.put(ctx.attempt)
        if ctx.attempt <= SUSPENDS:
            eventually(lambda: ctx.cancelled, "the worker to drop the job")
        return ctx.attempt

    renew, refused = app.store.renew, []

    def too_late(*given):
        return Renewal(False, []) if refused.pop() else renew(*given)

    with app.worker(lease="60s") as worker:
        handle = work.enqueue()
        for n in range(1, SUSPENDS + 1):
            assert started.get(timeout=30) == n
            app.store.renew, refused[:] = too_late, [True]
            worker.services["heartbeat"].wake()
            eventually(lambda: not refused, "the renewal to be refused")
            app.store.renew = renew
        assert handle.result(timeout=30) == SUSPENDS + 1
    job = handle.job()
    assert (job.state, job.crashes) == ("completed", 0)
    errors = [tried.error for tried in app.attempts(handle.id) if tried.outcome == "failed"]
    assert len(errors) == SUSPENDS
    assert all(error.startswith("LeaseLost: the worker was suspended") for error in errors)
