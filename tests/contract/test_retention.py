"""Retention by state and by number: each state has its own age, and of a type only the last jobs of a state are kept."""

import pytest

from mainstay.core.clock import DAY, HOUR, SECOND
from mainstay.core.retention import FOREVER
from tests.contract.building import CANCELLED, COMPLETED, FINAL, draft
from tests.contract.ruled import after

ENDS = {"completed": COMPLETED, "cancelled": CANCELLED, "dead": FINAL}


def ended(desk, state, number, **given):
    """So many jobs in a state, the oldest first, a millisecond after each other."""
    jobs = []
    for _ in range(number):
        jobs.append(desk.add(**given))
        (job,) = desk.take(1, wants={"default": [given.get("type", "work")]})
        assert desk.end(job, ENDS[state]) == "stored"
        desk.clock.advance("1ms")
    return jobs


def left(desk, jobs):
    return [job for job in jobs if desk.state(job) is not None]


@pytest.mark.parametrize("state", ["completed", "cancelled", "dead"])
def test_each_state_has_its_own_age(desk, state):
    ages = {"completed": HOUR, "cancelled": 2 * HOUR, "dead": 3 * HOUR}
    given = {"keep": HOUR, "keep_cancelled": 2 * HOUR, "keep_dead": 3 * HOUR}
    job = desk.bring(state, **given)
    assert desk.job(job).expires_at == desk.now + ages[state]
    desk.clock.advance(ages[state] / 1000 - 0.001)
    assert desk.store.prune(desk.now, 9) == 0
    desk.clock.advance("1ms")
    assert desk.store.prune(desk.now, 9) == 1


def test_an_operator_who_cancels_a_waiting_job_ends_it_with_the_age_of_cancelled_jobs(desk):
    job = desk.add(keep=HOUR, keep_cancelled=SECOND)
    desk.store.cancel([job], desk.now, "me")
    assert desk.job(job).expires_at == desk.now + SECOND


def test_a_review_that_is_rejected_ends_with_the_age_of_dead_jobs(desk):
    job = desk.bring("review", keep_dead=HOUR)
    desk.store.resolve_review(job, False, desk.now, "me", "")
    assert desk.job(job).expires_at == desk.now + HOUR


def test_cancelled_jobs_may_stay_for_ever_while_completed_ones_go(desk):
    job = desk.bring("cancelled", keep=0, keep_cancelled=FOREVER)
    assert desk.store.prune(desk.now + 100_000 * DAY, 9) == 0
    assert desk.state(job) == "cancelled"


def test_a_retried_job_is_kept_from_its_next_end_on(desk):
    job = desk.bring("dead", keep_dead=SECOND, keep_last=1)
    desk.store.retry([job], desk.now, "me")
    desk.clock.advance("2s")
    assert desk.store.prune(desk.now, 9) == 0
    desk.end(desk.take_this(job), FINAL)
    assert desk.store.prune(desk.now, 9) == 0
    desk.clock.advance("1s")
    assert desk.store.prune(desk.now, 9) == 1


@pytest.mark.parametrize("state", ["completed", "cancelled"])
def test_only_the_last_of_a_type_and_state_stay(desk, state):
    jobs = ended(desk, state, 5, keep_last=2)
    assert desk.store.prune(desk.now, 9) == 3
    assert left(desk, jobs) == jobs[3:]
    assert desk.store.prune(desk.now, 9) == 0


def test_types_and_states_are_counted_apart_and_others_stay(desk):
    mails, works = ended(desk, "completed", 3, type="mail", keep_last=1), ended(desk, "completed", 3, keep_last=2)
    cancelled, others = ended(desk, "cancelled", 2, keep_last=2), ended(desk, "completed", 3)
    assert desk.store.prune(desk.now, 99) == 3
    assert left(desk, [*mails, *works, *cancelled, *others]) == [mails[2], *works[1:], *cancelled, *others]


def test_dead_jobs_are_counted_only_if_they_have_an_age(desk):
    kept = ended(desk, "dead", 3, keep_last=1)
    assert desk.store.prune(desk.now, 9) == 0
    counted = ended(desk, "dead", 3, type="mail", keep_last=1, keep_dead=HOUR)
    assert desk.store.prune(desk.now, 9) == 2
    assert left(desk, [*kept, *counted]) == [*kept, counted[2]]


def test_the_newest_job_says_how_many_stay(desk):
    old = ended(desk, "completed", 3, keep_last=9)
    new = ended(desk, "completed", 1, keep_last=2)
    assert desk.store.prune(desk.now, 9) == 2
    assert left(desk, old + new) == [old[2], *new]


def test_a_job_that_waits_or_runs_is_not_counted(desk):
    alive = [desk.add(keep_last=1), desk.bring("running", keep_last=1, priority=9)]
    done = ended(desk, "completed", 1, keep_last=1, priority=5)
    assert desk.store.prune(desk.now, 9) == 0
    assert left(desk, alive + done) == alive + done


def test_no_more_than_asked_by_number(desk):
    jobs = ended(desk, "completed", 6, keep_last=1)
    assert [desk.store.prune(desk.now, 2) for _ in range(4)] == [2, 2, 1, 0]
    assert left(desk, jobs) == jobs[5:]


def test_a_job_that_others_wait_for_stays_although_it_is_beyond_the_last(desk):
    parent, other = desk.add(keep_last=1), desk.add(type="mail")
    desk.store.enqueue([after(parent, other)], desk.now)
    desk.end(desk.take_this(parent))
    desk.clock.advance("1ms")
    done = ended(desk, "completed", 2, keep_last=1)
    assert desk.store.prune(desk.now, 9) == 1
    assert left(desk, [parent, *done]) == [parent, done[1]]


def test_a_key_for_a_period_keeps_its_job_although_it_is_beyond_the_last(desk):
    until = desk.now + HOUR
    job = desk.bring("completed", key="k", lock="work:k@1", lock_until=until, keep_last=1)
    desk.clock.advance("1ms")
    ended(desk, "completed", 2, keep_last=1)
    assert desk.store.prune(desk.now, 9) <= 1
    assert desk.state(job) == "completed"
    desk.clock.move_to(until)
    desk.store.prune(desk.now, 9)
    assert desk.state(job) is None


def test_a_job_keeps_its_retention_when_it_is_replaced_and_read(desk):
    given = {"keep_cancelled": HOUR, "keep_dead": DAY, "keep_last": 7}
    job = desk.job(desk.send(draft(**given)))
    assert {name: getattr(job, name) for name in given} == given


# two steps: find, then remove -----------------------------------------------------------------------------------------
def test_what_was_changed_in_between_is_not_removed(desk):
    dead, gone = desk.bring("dead", keep_dead=0), desk.bring("completed", keep=0)
    found = desk.store.expired(desk.now, 9)
    assert {job.id for job in found} == {dead, gone}
    desk.store.retry([dead], desk.now, "me")
    assert desk.store.prune_jobs(found).jobs == 1
    assert (desk.state(dead), desk.state(gone)) == ("queued", None)
    assert desk.store.prune_jobs(found).jobs == 0


def test_a_job_that_ended_again_in_between_is_not_removed(desk):
    job = desk.bring("dead", keep_dead=0, max_attempts=1)
    found = desk.store.expired(desk.now, 9)
    desk.store.retry([job], desk.now, "me")
    desk.clock.advance("1ms")
    desk.end(desk.take_this(job), FINAL)
    assert desk.store.prune_jobs(found).jobs == 0
    assert desk.state(job) == "dead"


@pytest.mark.parametrize("given", [{"keep": 0}, {"keep_last": 1}])
def test_what_is_held_is_given_to_nobody_else_until_the_time_is_over(desk, another, given):
    jobs = ended(desk, "completed", 3, **given)
    over = jobs[: 3 if "keep" in given else 2]
    found = desk.store.expired(desk.now, 9, hold=HOUR)
    assert {job.id for job in found} == {*over}
    assert another.expired(desk.now, 9, hold=HOUR) == []
    desk.clock.advance("1h")
    again = another.expired(desk.now, 9, hold=HOUR)
    assert {job.id for job in again} == {*over}
    assert desk.store.prune_jobs(found).jobs == 0
    assert another.prune_jobs(again).jobs == len(over)
