"""A job that two workers crashed with is dead after the third crash: a worker holds only one such job at a time."""

import random
import threading
from contextlib import closing

import pytest

from mainstay import Mainstay
from mainstay.core.clock import HOUR
from mainstay.core.events import Events
from mainstay.core.job import WorkerInfo
from mainstay.upkeep.sweep import Sweep

JOBS = 7


@pytest.fixture
def app():
    with closing(Mainstay("sqlite:///:memory:")) as app:
        yield app


def crash(app, worker, jobs=JOBS):
    """A worker claims everything and dies."""
    now = app.clock.now()
    app.store.register(
        WorkerInfo(worker, "host", 1, 50, ("default",), ("work",), now, now, now + HOUR, 0, stopping=False)
    )
    assert len(app.store.claim(worker, {"default": ["work"]}, 100, now).jobs) == jobs
    app.store.deregister(worker)
    Sweep(app.store, random.random, Events(), 1).step(now)


def test_a_worker_holds_one_job_on_its_last_chance_at_a_time(app):
    held = []

    @app.job
    def work(n: int) -> int:
        held.append(sum(count.jobs for count in app.store.counts(100) if count.label == "running"))
        return n

    jobs = app.enqueue_many(work.prepare(n) for n in range(JOBS))
    crash(app, "first")
    crash(app, "second")
    assert {app.get(job.id).crashes for job in jobs} == {2}
    with app.worker():
        assert [job.result(timeout=30) for job in jobs] == list(range(JOBS))
    assert held == [1] * JOBS
    assert {app.get(job.id).attempt for job in jobs} == {3}


def test_other_jobs_run_beside_them(app):
    ran = threading.Event()

    @app.job
    def work() -> bool:
        return ran.wait(30)

    @app.job
    def other() -> None:
        ran.set()

    jobs = [app.enqueue("work") for _ in range(JOBS)]
    crash(app, "first")
    crash(app, "second")
    app.enqueue("other")
    with app.worker():
        assert jobs[0].result(timeout=30)


def test_jobs_behind_many_of_them_run_while_the_first_of_them_runs(app):
    """More than one claim takes: released to the head of the queue, they would be all that is ever claimed."""
    ran = threading.Event()

    @app.job
    def work() -> bool:
        return ran.wait(30)

    @app.job
    def other() -> None:
        ran.set()

    jobs = [app.enqueue("work") for _ in range(40)]
    crash(app, "first", 40)
    crash(app, "second", 40)
    app.enqueue("other")
    with app.worker(concurrency=4):
        assert all(job.result(timeout=30) for job in jobs)
    assert {app.get(job.id).attempt for job in jobs} == {3}
