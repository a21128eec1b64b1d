"""A clock that jumps: jobs end once, nothing is lost, and nothing waits for the time that was taken back."""

import threading
from contextlib import closing

import pytest

from mainstay import Mainstay, ManualClock
from mainstay.core.clock import HOUR
from tests.hostile.conftest import at_work, ended
from tests.waiting import eventually


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def app(path, clock):
    with closing(Mainstay(f"sqlite:///{path}", clock=clock)) as app:
        yield app


@pytest.fixture
def gate():
    gate = threading.Event()
    yield gate
    gate.set()


@pytest.fixture
def runs():
    return []


@pytest.fixture
def work(app, gate, runs):
    @app.job(retry=5, timeout=None)
    def work(n=0):
        runs.append(n)
        gate.wait(30)
        return n

    return work


@pytest.mark.parametrize("step", [-HOUR, -24 * HOUR])
def test_a_step_back_in_the_middle_of_a_job(app, clock, work, gate, runs, step):
    with at_work(app) as worker:
        handle = work.enqueue(1)
        eventually(lambda: runs, "the job to run")
        clock.move_to(clock.now() + step)
        worker.services["heartbeat"].wake()
        gate.set()
        assert handle.result(timeout=20) == 1
        assert work.enqueue(2).result(timeout=20) == 2
    assert runs == [1, 2]
    assert app.get(handle.id).attempt == 1


@pytest.mark.parametrize("step", [HOUR, 24 * HOUR])
def test_b53_a_step_forward_in_the_middle_of_a_job(app, clock, work, gate, runs, step):
    """By the clock every lease is over, but this worker holds its lock and renews: it keeps its name and its job."""
    renewed = threading.Event()
    with at_work(app) as worker:
        first = worker.id
        handle = work.enqueue(1)
        eventually(lambda: runs, "the job to run")
        clock.move_to(clock.now() + step)
        app.events.on("beat", lambda **_: renewed.set())
        worker.services["heartbeat"].wake()
        assert renewed.wait(20)
        gate.set()
        assert ended(app, handle).state == "completed"
        assert work.enqueue(2).result(timeout=20) == 2
        assert worker.id == first
    assert [attempt.outcome for attempt in app.attempts(handle.id)] == ["completed"]
    assert (app.get(handle.id).token, app.get(handle.id).crashes) == (1, 0)


def test_a_step_back_while_jobs_wait_does_not_hold_them_up(app, clock, work, gate):
    gate.set()
    handles = [work.enqueue(n) for n in range(10)]
    clock.move_to(clock.now() - HOUR)
    with at_work(app):
        assert [handle.result(timeout=20) for handle in handles] == list(range(10))


def test_back_and_forth_while_jobs_run(app, clock, work, gate):
    gate.set()
    with at_work(app) as worker:
        handles = []
        for n in range(12):
            clock.move_to(clock.now() + (HOUR if n % 2 else -HOUR))
            worker.services["heartbeat"].wake()
            handles.append(work.enqueue(n))
        assert {ended(app, handle).state for handle in handles} == {"completed"}
    for handle in handles:
        assert [attempt.outcome for attempt in app.attempts(handle.id)].count("completed") == 1


def test_a_job_for_later_runs_when_its_time_comes_whatever_the_clock_did_before(app, clock, work, gate, runs):
    gate.set()
    with at_work(app):
        handle = work.options(delay="1h").enqueue(1)
        clock.move_to(clock.now() - HOUR)
        assert work.enqueue(2).result(timeout=20) == 2
        assert handle.state == "scheduled"
        clock.move_to(clock.now() + 2 * HOUR)
        assert handle.result(timeout=20) == 1
    assert runs == [2, 1]


def test_ids_rise_though_the_clock_falls(app, clock, work):
    ids = [work.enqueue().id]
    for _ in range(5):
        clock.move_to(clock.now() - HOUR)
        ids.append(work.enqueue().id)
    assert ids == sorted(set(ids))
