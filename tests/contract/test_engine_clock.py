"""Engines with a clock of their own judge by it: a process whose clock is an hour wrong neither loses nor keeps anything by that."""

import pytest

from mainstay.core.clock import DAY, HOUR, MINUTE, SECOND, SystemClock
from mainstay.core.errors import LeaseLost
from mainstay.core.outcome import COMPLETED
from mainstay.stores import open_store
from tests.contract.building import Desk, transition, worker
from tests.contract.invariants import check
from tests.waiting import eventually

pytestmark = pytest.mark.engines("postgres", "redis")
WRONG = pytest.mark.parametrize("wrong", [-HOUR, HOUR])
GRACE = MINUTE
SHORT = 150  # ms
SLACK = 5 * SECOND  # for a slow machine
WANTS = {"default": ["work"]}


@pytest.fixture
def store(url):
    """Opened as users do: without a clock of the test's."""
    with open_store(url) as store:
        yield store
        check(store, SystemClock().now())


@pytest.fixture
def desk(store):
    return Desk(store, SystemClock())


def claim(desk, wrong, id="odd"):
    return desk.store.claim(id, WANTS, 1, desk.now + wrong)


@WRONG
def test_a_worker_with_a_wrong_clock_keeps_its_lease(desk, wrong):
    desk.store.register(worker("odd", desk.now + wrong))
    desk.add()
    assert len(claim(desk, wrong).jobs) == 1
    assert desk.store.renew("odd", desk.now + wrong, 10 * SECOND).alive
    assert desk.store.orphans(desk.now, GRACE, 9) == []
    assert len(desk.store.claimed_by("odd")) == 1


@WRONG
def test_its_lease_is_shown_by_the_clock_that_judges(desk, wrong):
    desk.store.register(worker("odd", desk.now + wrong, lease=10 * SECOND))
    (info,) = [info for info in desk.store.workers() if info.id == "odd"]
    assert abs(info.expires_at - desk.now - 10 * SECOND) < SLACK
    assert abs(info.beat_at - desk.now) < SLACK


@WRONG
def test_a_dead_worker_with_a_wrong_clock_does_not_keep_its_jobs(desk, wrong):
    desk.store.register(worker("odd", desk.now + wrong, lease=SHORT))
    desk.add()
    (job,) = claim(desk, wrong).jobs
    (orphan,) = eventually(lambda: desk.store.orphans(desk.now, GRACE, 9), "the lease runs out")
    assert (orphan.job.id, orphan.worker, orphan.gone) == (job.id, "odd", True)


@WRONG
def test_a_lease_that_has_run_out_is_not_renewed_by_a_wrong_clock(desk, wrong):
    desk.store.register(worker("odd", desk.now, lease=SHORT))
    eventually(lambda: expired(desk, wrong), "a claim finds the lease gone")
    assert not desk.store.renew("odd", desk.now + wrong, 10 * SECOND).alive


def expired(desk, wrong):
    try:
        claim(desk, wrong)
    except LeaseLost:
        return True
    return False


@WRONG
def test_a_sweep_with_a_wrong_clock_robs_nobody_and_finds_the_dead(desk, wrong):
    desk.store.register(worker("dying", desk.now, lease=SHORT))
    alive, lost = desk.run(), desk.run(worker="dying")
    found = eventually(lambda: desk.store.orphans(desk.now + wrong, GRACE, 9), "the lease runs out")
    assert [orphan.job.id for orphan in found] == [lost.id]
    assert desk.state(alive.id) == "running"


@WRONG
def test_a_job_past_its_timeout_is_judged_by_the_engine_too(desk, wrong):
    desk.run(timeout=10 * SECOND)
    assert desk.store.orphans(desk.now + wrong, 0, 9) == []


@WRONG
def test_how_long_until_the_next_job_is_due_is_told_by_the_clock_that_judges(desk, wrong):
    desk.store.register(worker("odd", desk.now + wrong))
    desk.add(run_at=desk.now + MINUTE)
    found = claim(desk, wrong)
    assert found.jobs == []
    assert MINUTE - SLACK < found.wait <= MINUTE


@WRONG
def test_a_job_for_later_comes_when_the_engine_says_so(desk, wrong):
    """Not before its time for a clock that runs ahead, and not an hour late for one that is behind."""
    desk.store.register(worker("odd", desk.now + wrong))
    due = desk.now + 300
    job = desk.add(run_at=due)
    assert claim(desk, wrong).jobs == []
    (found,) = eventually(lambda: claim(desk, wrong).jobs, "the job is due")
    assert found.id == job
    assert desk.now >= due - 5  # both clocks are this machine's; they may be read a moment apart
    assert abs(desk.job(job).started_at - desk.now) < SLACK


def test_retention_is_over_when_the_engine_says_so(desk):
    kept, gone = desk.run(keep=HOUR), desk.run(keep=0)
    desk.store.finish([transition(job, COMPLETED, desk.now) for job in (kept, gone)])
    eventually(lambda: desk.store.prune(desk.now + DAY, 9), "the one that is not kept is removed")
    assert (desk.state(kept.id), desk.state(gone.id)) == ("completed", None)
