"""Retention: what has been kept long enough goes, whole, a chunk at a time; nothing else does."""

import pytest

from mainstay.core import states
from mainstay.core.clock import DAY, SECOND
from tests.contract.building import REVIEW, checkpoint, draft, log, progress, transition

KEPT = [state for state in states.STATES if state not in (states.COMPLETED, states.CANCELLED)]


def test_a_job_goes_when_its_retention_is_over_and_not_before(desk):
    job = desk.bring("completed", keep=SECOND)
    desk.clock.advance("999ms")
    assert desk.store.prune(desk.now, 9) == 0
    assert desk.state(job) == "completed"
    desk.clock.advance("1ms")
    assert desk.store.prune(desk.now, 9) == 1
    assert desk.state(job) is None


def test_cancelled_jobs_go_too(desk):
    waiting, running = desk.add(keep=0), desk.bring("cancelled", keep=0, priority=1)
    desk.store.cancel([waiting], desk.now, "me")
    assert desk.store.prune(desk.now, 9) == 2
    assert (desk.state(waiting), desk.state(running)) == (None, None)


@pytest.mark.parametrize("state", KEPT)
def test_what_is_not_over_stays_whatever_its_policy(desk, state):
    job = desk.bring(state, keep=0)
    assert desk.store.prune(desk.now + 1000 * DAY, 9) == 0
    assert desk.state(job) == state


def test_what_is_kept_for_ever_stays(desk):
    job = desk.bring("completed", keep=None)
    assert desk.store.prune(desk.now + 1000 * DAY, 9) == 0
    assert desk.state(job) == "completed"


def test_no_more_than_asked_the_longest_over_first(desk):
    jobs = []
    for _ in range(5):
        jobs.append(desk.bring("completed", keep=0))
        desk.clock.advance("1ms")
    assert desk.store.prune(desk.now, 2) == 2
    assert [desk.state(job) for job in jobs] == [None, None, "completed", "completed", "completed"]
    assert [desk.store.prune(desk.now, 2) for _ in range(3)] == [2, 1, 0]


def test_all_that_belongs_to_a_job_goes_with_it(desk):
    job = desk.run(keep=0, tags=("a", "b"), tenant="t", ref="r", key="k", lock="work:k")
    updates = [log(job), progress(job), checkpoint(job)]
    desk.store.finish([transition(job, REVIEW, desk.now)], updates)
    desk.store.resolve_review(job.id, True, desk.now, "me", "")
    assert desk.store.prune(desk.now, 9) == 1
    store = desk.store
    assert (store.get(job.id), store.result(job.id), store.checkpoint(job.id)) == (None, None, None)
    assert (store.attempts(job.id), store.logs(job.id, 0, 9), store.find(job.id, 9)) == ([], [], [])


def test_what_belongs_to_others_stays(desk):
    gone, stays = desk.run(keep=0, tags=("a", "b")), desk.run(tags=("a", "b"))
    desk.store.finish([transition(job, REVIEW, desk.now) for job in (gone, stays)], [log(gone), log(stays)])
    desk.store.resolve_review(gone.id, True, desk.now, "me", "")
    assert desk.store.prune(desk.now, 9) == 1
    assert desk.job(stays.id).tags == ("a", "b")
    assert len(desk.store.logs(stays.id, 0, 9)) == 1
    assert desk.store.result(stays.id) == REVIEW.result


def test_a_key_for_a_period_is_free_once_its_job_is_pruned(desk):
    until = desk.now + SECOND
    first = desk.bring("completed", keep=0, key="k", lock="work:k@1", lock_until=until)
    desk.clock.move_to(until)
    desk.store.prune(desk.now, 9)
    assert desk.state(first) is None
    assert desk.send(draft(key="k", lock="work:k@1", lock_until=until)) != first


def test_two_that_prune_at_once_share_the_work(desk, another):
    for _ in range(4):
        desk.bring("completed", keep=0)
    assert desk.store.prune(desk.now, 3) + another.prune(desk.now, 3) == 4
    assert desk.store.find("", 9) == []
