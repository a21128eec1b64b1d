"""Jobs that come with a ring: a worker with room offers it while it waits for its bell, and what comes is run once, or handed back."""

import threading
from contextlib import closing

import pytest

from mainstay import Mainstay
from mainstay.core.clock import ManualClock
from mainstay.core.errors import StoreUnavailable
from mainstay.stores.contract import ClaimingNotifier
from tests.waiting import eventually


class Dispenser:
    """A bell that claims in the moment of a ring, on an engine that has none of its own; it rings when told to."""

    def __init__(self, worker):
        self._worker = worker
        self.rings, self.fails = threading.Event(), False

    def wait(self, timeout):
        return "jobs" if self.rings.wait(timeout / 1000) else ""

    def take(self, timeout, offer):
        rang = self.wait(timeout)
        if rang:
            self.rings.clear()
            offer.take(self._worker.store.claim(self._worker.id, offer.wants, 1, offer.now).jobs)
            if self.fails:
                raise StoreUnavailable("the answer was lost")
        return rang

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
    """One that has joined, and whose parts are called by the test."""
    worker = app.worker(concurrency=1)
    worker.registration.register()
    yield worker
    worker.slots.stop()


def claim(worker):
    """What a bell claims for an offer."""
    return worker.store.claim(worker.id, worker.wants, 1, worker.app.clock.now()).jobs


def test_what_comes_with_a_ring_is_run(app, worker, clock, ran):
    handle = app.enqueue("work", {"n": 1})
    offer = worker.claimer.offers.make(clock.now())
    offer.take(claim(worker))
    assert worker.claimer.offers.close(replied=True)
    worker.claimer.step(clock.now())
    eventually(lambda: ran == [1], "the job runs")
    assert app.get(handle.id).state == "running"


def test_when_nothing_came_there_is_nothing_to_do(worker, clock):
    offer = worker.claimer.offers.make(clock.now())
    offer.take([])
    assert not worker.claimer.offers.close(replied=True)


def test_room_that_is_gone_meanwhile_is_not_used_twice(app, worker, clock, ran):
    """The one slot is taken by a usual claim: what comes with the ring goes to another worker, without an attempt."""
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


def test_a_worker_that_stops_hands_back_what_comes(app, worker, clock, ran):
    handle = app.enqueue("work", {"n": 1})
    offer = worker.claimer.offers.make(clock.now())
    worker.registration.stopping = True
    offer.take(claim(worker))
    worker.claimer.offers.close(replied=True)
    worker.claimer.step(clock.now())
    worker.claimer.step(clock.now())
    assert (app.get(handle.id).state, app.get(handle.id).attempt, ran) == ("queued", 0, [])


def test_an_answer_that_did_not_come_is_asked_for(app, worker, clock, ran):
    app.enqueue("work", {"n": 1})
    worker.claimer.offers.make(clock.now())
    claim(worker)
    assert worker.claimer.offers.close(replied=False)
    assert worker.claimer.offers.make(clock.now()) is None  # not before it is known what became of the last
    worker.claimer.step(clock.now())
    eventually(lambda: ran == [1], "the job runs")
    assert worker.claimer.offers.make(clock.now()) is None  # there is no room


def test_what_may_still_come_is_not_looked_up(app, worker, clock, ran):
    """Else it would be run twice: once from here, and once when it comes."""
    app.enqueue("work", {"n": 1})
    offer = worker.claimer.offers.make(clock.now())
    jobs = claim(worker)
    worker.claimer.uncertain.pending = True  # a claim of its own got no reply
    worker.claimer.step(clock.now())
    assert len(worker.in_flight) == 0
    offer.take(jobs)
    worker.claimer.offers.close(replied=True)
    for _ in range(3):
        worker.claimer.step(clock.now())
    eventually(lambda: ran == [1], "the job runs")
    assert worker.in_flight.ended == 0


def test_the_time_on_the_way_counts(app, worker, clock):
    """By then a sweep may have taken the job away: who starts it must know how old the claim is."""
    handle = app.enqueue("work", {"n": 1})
    began = clock.now()
    offer = worker.claimer.offers.make(began)
    jobs = claim(worker)
    clock.advance("3s")
    offer.take(jobs)
    worker.claimer.offers.close(replied=True)
    worker.claimer.step(clock.now())
    assert worker.in_flight.get(handle.id, 1).claimed_at == began


def test_without_room_nothing_is_offered(app, worker, clock, ran):
    worker.registration.open = False
    assert worker.claimer.offers.make(clock.now()) is None
    worker.registration.open = True
    app.enqueue("work", {"n": 1})
    worker.claimer.step(clock.now())
    eventually(lambda: ran == [1], "the job runs")
    assert worker.claimer.offers.make(clock.now()) is None


# in a worker that runs ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("fails", [False, True])
def test_a_worker_runs_once_what_its_bell_brings(app, gate, ran, monkeypatch, fails):
    gate.set()
    worker = app.worker(concurrency=2, poll="10m")
    bell = Dispenser(worker)
    bell.fails = fails
    assert isinstance(bell, ClaimingNotifier)
    monkeypatch.setattr(worker.store, "notifier", lambda name: bell)
    with worker:
        handles = []
        for n in range(3):
            handles.append(app.enqueue("work", {"n": n}))
            bell.rings.set()
            handles[-1].result(timeout=10)
    assert (ran, [app.get(job.id).attempt for job in handles]) == ([0, 1, 2], [1, 1, 1])
