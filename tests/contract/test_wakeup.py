"""Wake-up: a bell rings when there may be something to do, whoever brought it; a lost ring costs a poll, never a job."""

import sqlite3
import threading
import time
from contextlib import closing

import pytest

from mainstay.core.outcome import COMPLETED
from mainstay.stores import outbox
from mainstay.stores.results import ClaimingNotifier, SlotOffer
from tests.contract.building import WORKER, draft, transition
from tests.waiting import eventually

LONG = 10_000  # ms: a bell that does not ring would let the test wait so long, and then it fails


@pytest.fixture
def bell(desk):
    bell = desk.store.notifier(WORKER)
    yield bell
    bell.close()


def heard(bell):
    """What the bell says, and after how many seconds."""
    start = time.monotonic()
    return bell.wait(LONG), time.monotonic() - start


def assert_rings(bell, what="jobs"):
    rang, seconds = heard(bell)
    assert rang == what
    assert seconds < 5


def test_nothing_rings_when_nothing_happens(bell):
    assert bell.wait(60) == ""
    assert bell.wait(0) == ""


def test_an_enqueue_rings(desk, bell):
    desk.add()
    assert_rings(bell)


def test_a_ring_while_nobody_waits_is_not_lost(desk, bell):
    desk.store.notify()
    assert_rings(bell)
    assert bell.wait(60) == ""


def test_who_waits_is_woken(desk, bell):
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(bell.wait(LONG)))
    waiting.start()
    desk.add()
    waiting.join(5)
    assert answers == ["jobs"]


def test_a_cancel_of_a_running_job_rings_as_such(desk, bell):
    job = desk.run()
    bell.wait(60)
    desk.store.cancel([job.id], desk.now, "me")
    eventually(lambda: bell.wait(100) == "cancel", "the bell tells of a cancel")


def test_a_retry_rings(desk, bell):
    job = desk.bring("dead")
    while bell.wait(60):
        pass
    desk.store.retry([job], desk.now, "me")
    assert_rings(bell)


def test_every_worker_is_rung(desk):
    bells = [desk.store.notifier(f"w{n}") for n in range(5)]
    desk.add()
    for bell in bells:
        assert_rings(bell)
        bell.close()


def test_many_rings_do_not_block_who_rings(desk, bell):
    for _ in range(2_000):
        desk.store.notify()
    assert_rings(bell)


def test_a_ring_reaches_across_store_objects(bell, another, clock):
    another.enqueue([draft()], clock.now())
    assert_rings(bell)
    another.notify("cancel")
    eventually(lambda: bell.wait(100) == "cancel", "the bell tells of a cancel")


@pytest.mark.engines("sqlite")  # elsewhere there is no socket of ours between the ring and the bell
def test_b48_a_bell_that_cannot_be_reached_finds_out_by_itself(desk, bell, another, clock):
    """Where a ring fails (a full socket, a file system without sockets), the poll behind it sees the change."""
    bell._socket.close()
    bell._socket = Deaf()
    another.enqueue([draft()], clock.now())
    assert_rings(bell)


class Deaf:
    """A socket that nobody reaches."""

    def settimeout(self, seconds):
        self._seconds = seconds

    def recv(self, size):
        threading.Event().wait(self._seconds)
        raise TimeoutError

    def close(self):
        pass


@pytest.mark.engines("sqlite")
def test_a_commit_that_rings_nothing_is_noticed_all_the_same(desk, bell, tmp_path):
    """Plain SQL by who knows whom, and every job that was enqueued in the caller's own transaction."""
    with closing(sqlite3.connect(tmp_path / "jobs.db")) as own:
        outbox.run(desk.store, own, lambda verbs: verbs.enqueue([draft()], desk.now))
        while bell.wait(60):  # whatever the set-up rang
            pass
        own.commit()
        assert_rings(bell)


def test_a_commit_without_work_wakes_nobody(desk, bell):
    job = desk.run()
    while bell.wait(60):
        pass
    desk.store.finish([transition(job, COMPLETED, desk.now)])
    assert bell.wait(100) == ""


def test_a_closed_bell_leaves_nothing_behind_and_harms_no_producer(engine, desk, tmp_path):
    desk.store.notifier("gone").close()
    desk.add()
    if engine == "sqlite":
        assert not (tmp_path / "jobs.db-mainstay" / "gone.sock").exists()


@pytest.mark.engines("sqlite")
def test_a_bell_of_a_name_that_died_can_be_hung_again(desk, tmp_path):
    """A worker that was killed leaves its socket; one of the same name must not stumble over it."""
    (tmp_path / "jobs.db-mainstay" / "reborn.sock").touch()
    bell = desk.store.notifier("reborn")
    desk.add()
    assert_rings(bell)
    bell.close()


# a job in the moment of a ring ----------------------------------------------------------------------------------------
def offered(desk, bell, timeout=LONG, wants=None):
    """What rang, and the jobs that came with it."""
    came = []
    rang = bell.take(timeout, SlotOffer(wants or {"default": ["work"]}, desk.now, came.extend))
    return rang, came


@pytest.fixture
def giver(bell):
    assert isinstance(bell, ClaimingNotifier)
    while bell.wait(60):
        pass
    return bell


@pytest.mark.engines("redis")
def test_a_job_is_claimed_as_it_rings(desk, giver):
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(offered(desk, giver)))
    waiting.start()
    other, wanted = desk.add("other", priority=9), desk.add(payload='{"n": 1}')
    waiting.join(5)
    while not answers[-1][1]:  # the other job may have rung first
        answers.append(offered(desk, giver))
    ((_, (job,)),) = [answer for answer in answers if answer[1]]
    assert (job.id, job.token, job.attempt, job.worker, job.payload) == (wanted, 1, 1, WORKER, '{"n": 1}')
    assert (desk.state(wanted), desk.state(other)) == ("running", "queued")
    assert desk.store.claimed_by(WORKER) == [job]
    assert desk.end(job) == "stored"


@pytest.mark.engines("redis")
def test_a_ring_that_was_missed_brings_a_job_too(desk, giver):
    job = desk.add()
    rang, (came,) = offered(desk, giver)
    assert (rang, came.id) == ("jobs", job)


@pytest.mark.engines("redis")
def test_only_one_job_comes_with_a_ring_and_the_first_of_its_queue(desk, giver):
    desk.add()
    first = desk.add(priority=5)
    assert [job.id for job in offered(desk, giver)[1]] == [first]


@pytest.mark.engines("redis")
def test_without_a_ring_nothing_is_claimed(desk, giver):
    desk.add()
    assert giver.wait(LONG) == "jobs"
    assert offered(desk, giver, 60) == ("", [])


@pytest.mark.engines("redis")
def test_a_worker_without_a_lease_hears_the_ring_and_gets_nothing(desk, giver):
    job = desk.add()
    desk.store.deregister(WORKER)
    assert offered(desk, giver) == ("jobs", [])
    assert desk.state(job) == "queued"


@pytest.mark.engines("redis")
def test_a_server_that_knows_no_scripts_is_taught(desk, giver):
    job = desk.add()
    desk.store.server.command("SCRIPT", "FLUSH")
    rang, (came,) = offered(desk, giver)
    assert (rang, came.id) == ("jobs", job)
