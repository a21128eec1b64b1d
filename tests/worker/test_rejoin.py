"""A worker that lost its lease and lives, as after a suspend, costs its jobs an attempt at most."""

import signal
import threading
from contextlib import closing
from pathlib import Path
from queue import SimpleQueue

import pytest

from mainstay import Mainstay, Retry, ctx
from mainstay.core.events import Events
from mainstay.core.outcome import INTERRUPTED
from mainstay.stores.results import Renewal
from mainstay.upkeep.sweep import Sweep
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


def test_sweeps_by_others_before_the_worker_is_back_are_no_poison(app):
    """Another worker's sweep has counted a crash each time; the worker that comes back takes it back."""
    started, other = SimpleQueue(), Sweep(app.store, lambda: 0.0, Events(), 1)

    @app.job(retry=Retry(10, base="1ms", jitter=False))
    def work() -> int:
        started.put(ctx.attempt)
        if ctx.attempt <= SUSPENDS:
            eventually(lambda: ctx.cancelled, "the worker to drop the job")
        return ctx.attempt

    renew, suspended = app.store.renew, threading.Lock()

    def later(*given):
        with suspended:
            return renew(*given)

    app.store.renew = later
    with app.worker(lease="60s") as worker:
        worker.services["sweep"].stop()
        handle = work.enqueue()
        for n in range(1, SUSPENDS + 1):
            assert started.get(timeout=30) == n
            with suspended:
                app.store.deregister(worker.id)
                other.step(app.clock.now())
                assert handle.job().crashes == 1
            worker.services["heartbeat"].wake()
        assert handle.result(timeout=30) == SUSPENDS + 1
    assert handle.job().crashes == 0
    tried = [(tried.number, tried.outcome, tried.error) for tried in app.attempts(handle.id)][:-1]
    assert tried == [(n, "failed", INTERRUPTED.error) for n in range(1, SUSPENDS + 1)]


def test_a_handler_that_ends_while_its_worker_is_away_costs_no_crash(app):
    """Its outcome comes too late, but it shows that the worker lives."""
    started, go, ended = SimpleQueue(), threading.Event(), threading.Event()
    other = Sweep(app.store, lambda: 0.0, Events(), 1)
    app.events.on("ended", lambda **_: ended.set())

    @app.job(retry=Retry(3, base="1ms", jitter=False))
    def work() -> int:
        started.put(ctx.attempt)
        go.wait(30)
        return ctx.attempt

    renew, suspended = app.store.renew, threading.Lock()

    def later(*given):
        with suspended:
            return renew(*given)

    app.store.renew = later
    with app.worker(lease="60s") as worker:
        worker.services["sweep"].stop()
        handle = work.enqueue()
        assert started.get(timeout=30) == 1
        with suspended:
            app.store.deregister(worker.id)
            other.step(app.clock.now())
            assert handle.job().crashes == 1
            go.set()
            assert ended.wait(30)
        worker.services["heartbeat"].wake()
        handle.result(timeout=30)
    assert handle.job().crashes == 0


SLEEPER = """
import sys, threading
from mainstay import Mainstay, Retry
app = Mainstay(sys.argv[1])

@app.job(name="work", retry=Retry(9, base="1ms", jitter=False))
def work():
    print("started", flush=True)
    threading.Event().wait()

app.worker(lease="1s").run()
"""


def suspend(app, process):
    """Stop a process while it does not write: SQLite's write lock would stay with it."""

    def stop(*_):
        process.send_signal(signal.SIGSTOP)
        stat = Path(f"/proc/{process.pid}/stat")
        eventually(lambda: stat.read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "T", "it to stop")

    app.store.db.write(stop) if app.store.url.startswith("sqlite") else stop()


@pytest.mark.engines("sqlite", "postgres", "redis")
def test_a_process_that_is_stopped_by_a_signal_costs_an_attempt_and_no_crash(app, start):
    """Its lock, which it still holds, tells others on this machine that it lives."""
    app.job(name="work", retry=Retry(9, base="1ms", jitter=False))(lambda: "done")
    handle = app.enqueue("work")
    process = start(SLEEPER, app.store.url)
    assert process.stdout.readline() == "started\n"
    suspend(app, process)
    with app.worker(lease="1s"):
        assert handle.result(timeout=30) == "done"
    assert handle.job().crashes == 0
    first, _ = app.attempts(handle.id)
    assert (first.number, first.outcome, first.error) == (1, "failed", INTERRUPTED.error)
