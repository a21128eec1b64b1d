"""Claim-on-wake: a worker offers a free slot while it waits for a notification; a job that comes runs once or is released."""

import threading
from contextlib import closing

import pytest

from mainstay import Mainstay
from mainstay.core.clock import ManualClock
from mainstay.core.errors import StoreUnavailable
from mainstay.stores.results import ClaimingNotifier
from tests.waiting import eventually


class ScriptedNotifier:
    """A notifier that claims a job with each notification, for an engine that has none; the test notifies it."""

    def __init__(self, worker):
        self._worker = worker
        self.notified, self.fails = threading.Event(), False

    def wait(self, timeout):
        return "jobs" if self.notified.wait(timeout / 1000) else ""

    def take(self, timeout, offer):
        heard = self.wait(timeout)
        if heard:
            self.notified.clear()
            offer.take(self._worker.store.claim(self._worker.id, offer.wants, 1, offer.now).jobs)
            if self.fails:
                raise StoreUnavailable("the reply was lost")
        return heard

    def close(self):
        pass


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def gate():
    return threading.Event()


@pytest.fixture
def ran():
    return []


@pytest.fixture
def app(clock, gate, ran):
    with closing(Mainstay("sqlite:///:memory:", clock=clock)) as app:

        @app.job
        def work(n: int) -> None:
            ran.append(n)
            gate.wait(10)

        yield app
        gate.set()


@pytest.fixture
def worker(app):
    """A registered worker whose parts the test calls."""
    worker = app.worker(concurrency=1)
    worker.registration.register()
    yield worker
    worker.slots.stop()


def claim(worker):
    """Return what a notifier claims for an offer."""
    return worker.store.claim(worker.id, worker.wants, 1, worker.app.clock.now()).jobs


def test_a_job_that_comes_with_a_notification_runs(app, worker, clock, ran):
    handle = app.enqueue("work", {"n": 1})
    offer = worker.claimer.offers.make(clock.now())
    offer.take(claim(worker))
    assert worker.claimer.offers.close(replied=True)
    worker.claimer.step(clock.now())
    eventually(lambda: ran == [1], "the job runs")
    assert app.get(handle.id).state == "running"


def test_without_a_job_there_is_nothing_to_do(worker, clock):
    offer = worker.claimer.offers.make(clock.now())
    offer.take([])
    assert not worker.claimer.offers.close(replied=True)


def test_a_slot_that_is_taken_meanwhile_is_not_used_twice(app, worker, clock, ran):
    """A usual claim takes the one slot: the job that came with the notification is released without an attempt."""
    first, second = app.enqueue("work", {"n": 1}), app.enqueue("work", {"n": 2})
    offer = worker.claimer.offers.make(clock.now())
    worker.claimer.step(clock.now())
    eventually(lambda: ran == [1], "the first job runs")
    offer.take(claim(worker))
    worker.claimer.offers.close(replied=True)
    worker.claimer.step(clock.now())
    worker.claimer.step(clock.now())
    assert [(app.get(job.id).state, app.get(job.id).attempt) for job in (first, second)] == [
        ("running", 1),
        ("queued", 0),
    ]


def test_a_stopping_worker_releases_a_job_that_comes(app, worker, clock, ran):
    handle = app.enqueue("work", {"n": 1})
    offer = worker.claimer.offers.make(clock.now())
    worker.registration.stopping = True
    offer.take(claim(worker))
    worker.claimer.offers.close(replied=True)
    worker.claimer.step(clock.now())
    worker.claimer.step(clock.now())
    assert (app.get(handle.id).state, app.get(handle.id).attempt, ran) == ("queued", 0, [])


def test_after_a_lost_reply_the_worker_asks_the_store(app, worker, clock, ran):
    app.enqueue("work", {"n": 1})
    worker.claimer.offers.make(clock.now())
    claim(worker)
    assert worker.claimer.offers.close(replied=False)
    assert worker.claimer.offers.make(clock.now()) is None  # not before the last offer is resolved
    worker.claimer.step(clock.now())
    eventually(lambda: ran == [1], "the job runs")
    assert worker.claimer.offers.make(clock.now()) is None  # there is no room


def test_while_a_job_may_still_come_the_worker_does_not_ask_the_store(app, worker, clock, ran):
    """Else the job would run twice: once from the store's list, and once when it comes."""
    app.enqueue("work", {"n": 1})
    offer = worker.claimer.offers.make(clock.now())
    jobs = claim(worker)
    worker.claimer.offers.uncertain = True  # a claim of its own got no reply
    worker.claimer.step(clock.now())
    assert len(worker.in_flight) == 0
    offer.take(jobs)
    worker.claimer.offers.close(replied=True)
    for _ in range(3):
        worker.claimer.step(clock.now())
    eventually(lambda: ran == [1], "the job runs")
    assert worker.in_flight.ended == 0


def test_the_job_counts_as_held_since_the_offer(app, worker, clock):
    """A sweep may have taken the job away meanwhile: the worker must know how old the claim is."""
    app.enqueue("work", {"n": 1})
    began = clock.now()
    offer = worker.claimer.offers.make(began)
    jobs = claim(worker)
    clock.advance("3s")
    offer.take(jobs)
    worker.claimer.offers.close(replied=True)
    worker.claimer.step(clock.now())
    assert [execution.claimed_at for execution in worker.in_flight] == [began]


def test_without_a_free_slot_nothing_is_offered(app, worker, clock, ran):
    worker.registration.open = False
    assert worker.claimer.offers.make(clock.now()) is None
    worker.registration.open = True
    app.enqueue("work", {"n": 1})
    worker.claimer.step(clock.now())
    eventually(lambda: ran == [1], "the job runs")
    assert worker.claimer.offers.make(clock.now()) is None


# in a worker that runs ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("fails", [False, True])
def test_a_worker_runs_once_what_its_notifier_brings(app, gate, ran, monkeypatch, fails):
    gate.set()
    worker = app.worker(concurrency=2, poll="10m")
    notifier = ScriptedNotifier(worker)
    notifier.fails = fails
    assert isinstance(notifier, ClaimingNotifier)
    monkeypatch.setattr(worker.store, "notifier", lambda name: notifier)
    with worker:
        handles = []
        for n in range(3):
            handles.append(app.enqueue("work", {"n": n}))
            notifier.notified.set()
            handles[-1].result(timeout=10)
    assert (ran, [app.get(job.id).attempt for job in handles]) == ([0, 1, 2], [1, 1, 1])
