"""Stuck jobs and duplicates, on every engine."""

import pytest

from mainstay import Mainstay
from mainstay.control.stuck import PATIENCE
from mainstay.core.clock import HOUR
from tests.contract.building import draft, keyed, worker

CAP = 20_000


@pytest.fixture
def app(desk):
    """The application on the store of the desk; its worker has a long lease."""
    desk.store.register(worker("w-first", desk.now, lease=10 * HOUR))
    return Mainstay(store=desk.store, clock=desk.clock)


def start(desk, **given):
    """A job whose handler has started."""
    job = desk.run(**given)
    desk.store.started_jobs("w-first").begin(job)
    return job


def kinds(app, **given):
    return {record.id: record.kind for record in app.stuck(**given)}


def test_a_job_that_runs_for_long_is_stuck(desk, app):
    job = start(desk, timeout=None)
    desk.clock.advance("5m")
    assert app.stuck() == []
    desk.clock.advance("1s")
    (record,) = app.stuck()
    assert (record.id, record.kind, record.fix) == (job.id, "long", f"mainstay cancel {job.id}")
    assert kinds(app, after="10m") == {}
    assert kinds(app, after="1m") == {job.id: "long"}


def test_a_job_past_its_timeout_is_stuck(desk, app):
    job = start(desk, timeout=1_000)
    start(desk, timeout=60_000)
    desk.clock.advance("2s")
    assert kinds(app) == {job.id: "timeout"}
    assert "1s past its timeout of 1s" in app.stuck()[0].text


def test_a_job_of_a_silent_worker_is_stuck(desk, app):
    desk.join("w-second")
    job = desk.run(worker="w-second")
    desk.outlive()
    assert kinds(app) == {job.id: "silent"}
    desk.store.deregister("w-second")
    assert kinds(app) == {job.id: "silent"}
    assert app.stuck()[0].text == "its worker is gone"


def test_a_job_that_was_asked_to_stop_and_goes_on_is_stuck(desk, app):
    job = desk.run()
    desk.store.cancel([job.id], desk.now, "me")
    assert kinds(app) == {}
    desk.clock.move_to(desk.now + PATIENCE + 1)
    assert kinds(app) == {job.id: "cancel"}
    assert app.stuck()[0].fix == "mainstay workers stop w-first"


def test_waiting_and_ended_jobs_are_not_stuck(desk, app):
    desk.add()
    for state in ("completed", "dead", "review"):
        desk.bring(state, priority=9)
    desk.clock.advance("1h")
    assert app.stuck() == []


def test_the_job_that_was_claimed_first_comes_first(desk, app):
    one = start(desk, timeout=None)
    desk.clock.advance("1m")
    two = start(desk, timeout=None)
    desk.clock.advance("1h")
    assert [record.id for record in app.stuck()] == [one.id, two.id]


# duplicates -----------------------------------------------------------------------------------------------------------
def found(desk, since=0, cap=CAP):
    return desk.store.duplicates(since, cap)


def test_jobs_with_the_same_type_and_key_are_duplicates(desk):
    one = desk.send(keyed("a"))
    desk.end(desk.take_this(one))
    other = desk.send(keyed("a"))
    desk.send(keyed("b"))
    desk.send(keyed("a", type="mail"))
    (each,) = found(desk).found
    assert each == ("work", "a", 2, 1, one, other)


def test_jobs_with_the_same_type_and_arguments_are_duplicates(desk):
    jobs = [desk.add(payload='{"n":1}') for _ in range(3)]
    desk.add(payload='{"n":2}')
    desk.add(type="mail", payload='{"n":1}')
    (each,) = found(desk).found
    assert each == ("work", None, 3, 3, jobs[0], jobs[-1])


def test_jobs_without_arguments_and_those_of_schedules_are_no_duplicates(desk):
    for given in (
        {},
        {"payload": '{"n":1}', "schedule": "nightly", "tick": 5},
        {"payload": '{"n":"' + "x" * 3_000 + '"}'},
    ):
        desk.add(**given)
        desk.add(**given)
    assert found(desk) == ([], None)


def test_only_jobs_since_an_instant_are_duplicates(desk):
    desk.add(payload='{"n":1}', created_at=desk.now)
    desk.clock.advance("1h")
    desk.add(payload='{"n":1}', created_at=desk.now)
    assert found(desk, desk.now - 1_000).found == []
    assert len(found(desk, desk.now - HOUR).found) == 1


def test_a_look_at_the_newest_jobs_says_how_far_it_looked(desk):
    desk.store.enqueue([draft(payload=f'{{"n":{n % 5}}}', created_at=desk.now) for n in range(10)], desk.now)
    assert found(desk, cap=5) == ([], 5)
    assert found(desk, desk.now + 1, cap=5) == ([], None)
    assert (len(found(desk, cap=10).found), found(desk, cap=10).looked) == (5, None)


def test_the_largest_group_comes_first(desk):
    for n, times in ((1, 2), (2, 4), (3, 3)):
        for _ in range(times):
            desk.add(payload=f'{{"n":{n}}}')
    assert [each.jobs for each in found(desk).found] == [4, 3, 2]


def test_what_a_worker_has_claimed_and_not_started_is_known_on_its_machine(desk, app):
    job, record = desk.run(), desk.store.started_jobs("w-first")
    if not desk.store.local_workers.locked("w-first"):  # a database in memory has no workers elsewhere
        assert desk.store.unstarted("w-first") == set()
        return
    assert desk.store.unstarted("w-first") == {job.id}
    desk.clock.advance("1m")
    assert kinds(app) == {job.id: "unstarted"}
    record.begin(job)
    assert desk.store.unstarted("w-first") == set()
    assert kinds(app) == {}
    assert desk.store.unstarted("w-nobody") == set()
