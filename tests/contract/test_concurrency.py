"""Many at once, in threads and in processes: each job is taken once, each key held once, and nobody is told "busy"."""

import threading
from collections import Counter
from pathlib import Path

import pytest

from mainstay.core.ids import LENGTH
from mainstay.core.job import TypeInfo
from tests.contract import crowd
from tests.contract.building import draft
from tests.contract.invariants import every
from tests.waiting import eventually

MANY = 8
ROUNDS = 1_000


def fill(store, clock, jobs=2_000):
    return {job for job, _ in store.enqueue([draft() for _ in range(jobs)], clock.now())}


def assert_each_once(store, clock, answers, ids):
    seen = [job for answer in answers for job in answer]
    assert len(seen) == len(set(seen))
    assert set(seen) == ids
    assert {job.state for job in every(store, clock.now())} == {"completed"}
    assert {job.token for job in every(store, clock.now())} == {1}


def test_b15_eight_threads_take_each_job_exactly_once(store, clock):
    ids = fill(store, clock)
    assert_each_once(store, clock, crowd.threads(MANY, crowd.drain, store, clock.now()), ids)


@pytest.mark.slow
def test_b15_eight_processes_take_each_job_exactly_once(store, clock, shared, tmp_path):
    ids = fill(store, clock)
    assert_each_once(store, clock, crowd.processes(MANY, crowd.drain, tmp_path, shared, clock.now()), ids)


def one_job_a_round(rounds):
    for answers in rounds:
        assert len({job for job, _ in answers}) == 1
        assert sum(created for _, created in answers) == 1


def test_b18_eight_threads_with_the_same_key_make_one_job(store, clock):
    answers = crowd.threads(MANY, crowd.insist, store, clock.now(), 40)
    one_job_a_round(zip(*answers, strict=True))


@pytest.mark.slow
def test_b18_eight_processes_with_the_same_key_make_one_job(clock, shared, tmp_path):
    answers = crowd.processes(MANY, crowd.insist, tmp_path, shared, clock.now(), 100)
    one_job_a_round(zip(*answers, strict=True))


def of_work(store, clock):
    """Register the type with a key rule, for drafts of a producer that lacks the code."""
    store.register_types(
        [TypeInfo("work", "default", "work()", {"key_rule": {"text": "k", "on_conflict": "existing"}}, clock.now())]
    )


@pytest.mark.slow
def test_b18_eight_threads_never_make_two_jobs_of_one_key_whatever_way_they_ask(store, clock):
    of_work(store, clock)
    rounds = list(zip(*crowd.threads(MANY, crowd.contend, store, clock.now(), ROUNDS), strict=True))
    one_job_a_round([answer for answers in each for answer in answers] for each in rounds)
    jobs = every(store, clock.now())
    assert Counter(job.key for job in jobs if job.key) == dict.fromkeys((f"round {n}" for n in range(ROUNDS)), 1)


@pytest.mark.slow
def test_b18_seven_processes_and_a_worker_never_make_two_live_jobs_of_one_key(store, clock, shared, tmp_path):
    ran, *made = crowd.processes(MANY, crowd.hurry, tmp_path, shared, clock.now(), 150)
    states = Counter(job.state for job in every(store, clock.now()))
    assert states["completed"] == ran > 40
    assert states.total() == sum(made) <= ran + 1


@pytest.mark.slow
def test_b60_a_storm_of_eight_processes_tells_nobody_that_the_store_is_busy(shared, tmp_path):
    answers = crowd.processes(MANY, crowd.storm, tmp_path, shared, 3)
    assert [answer["errors"] for answer in answers] == [[]] * MANY
    assert all(answer["waits"] for answer in answers)  # and nobody was left out


@pytest.mark.slow
@pytest.mark.engines("sqlite", "postgres", "redis")
def test_b60_eight_processes_may_be_the_first_at_the_same_moment(untouched, clock, tmp_path):
    """A file or a schema that is not there yet: who makes it, who waits, and nobody is told that it is locked."""
    ids = crowd.processes(MANY, crowd.open_at_once, tmp_path, untouched, clock.now())
    assert len(set(ids)) == MANY
    assert {len(job) for job in ids} == {LENGTH}


def test_readers_that_come_and_go_leave_no_connections_behind(store, clock):
    """A web server's threads live for one request each; their connections must go with them."""
    store.enqueue([draft()], clock.now())
    for _ in range(5):
        crowd.threads(MANY, lambda name, barrier: store.find("", 1))
    before = descriptors()
    for _ in range(10):
        crowd.threads(MANY, lambda name, barrier: store.find("", 1))
    eventually(lambda: descriptors() <= before + 3 * MANY, "the threads' connections to be closed")


def descriptors():
    """How many files this process has open, where the system says so."""
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.is_dir() else 0


@pytest.mark.engines("sqlite")
def test_a_close_waits_for_threads_that_read(store, clock):
    """SQLite crashes the process if a connection is closed that is in use: the dashboard of an application may read while it ends."""
    store.enqueue([draft() for _ in range(200)], clock.now())
    over, read, failed = threading.Event(), [], []

    def look():
        while not over.is_set():
            try:
                read.append(len(store.find("", 200)))
            except Exception as error:  # noqa: BLE001  (whatever it is, the test shows it)
                failed.append(error)

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for times in range(400):
        eventually(lambda least=4 * times: len(read) > least or failed, "the threads read on")
        store.close()
    over.set()
    for thread in threads:
        thread.join()
    assert failed == []
