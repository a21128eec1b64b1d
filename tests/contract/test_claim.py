"""Taking jobs: the right ones, in order, no more than asked, each under a token of its own, and only with a lease."""

import sqlite3

import pytest

from mainstay.core.clock import HOUR, SECOND
from mainstay.core.errors import LeaseLost
from mainstay.core.outcome import COMPLETED, RELEASED
from tests.contract.building import FAILED, LEASE, WORKER, draft, transition


def test_a_claimed_job_carries_what_its_handler_needs(desk):
    job_id = desk.add(payload='{"n":1}', timeout=5, keep=6, max_attempts=4)
    desk.clock.advance("3s")
    job = desk.take_this(job_id)
    assert (job.type, job.queue, job.payload, job.timeout, job.keep) == ("work", "default", '{"n":1}', 5, 6)
    assert (job.attempt, job.max_attempts, job.crashes, job.token, job.cancelling) == (1, 4, 0, 1, False)
    assert (job.created_at, job.started_at, job.worker) == (desk.now - 3 * SECOND, desk.now, WORKER)


def test_marks_within_texts_do_not_mix_up_jobs(desk):
    texts = ['"\x1e"', '""', '"\x1e\x1e\x1f,"', '"plain"']
    ids = [desk.add("a\x1eb", payload=text) for text in texts]
    taken = {job.id: (job.type, job.payload) for job in desk.take(9, wants={"default": ["a\x1eb"]})}
    assert taken == {job_id: ("a\x1eb", text) for job_id, text in zip(ids, texts, strict=True)}


@pytest.mark.engines("sqlite", "memory")
def test_more_text_than_sqlite_can_join_is_claimed_in_parts(desk):
    ids = {desk.add(payload=f'"{n}{"x" * 30_000}"') for n in range(8)}
    desk.store.db.write(lambda connection: connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 100_000))
    batches = list(iter(lambda: {job.id for job in desk.take(8)}, set()))
    assert len(batches) > 2
    assert set.union(*batches) == ids
    assert sum(map(len, batches)) == 8


def test_a_claimed_job_runs_in_the_hands_of_its_worker(desk):
    job = desk.job(desk.run().id)
    assert (job.state, job.worker, job.started_at, job.attempt, job.token) == ("running", WORKER, desk.now, 1, 1)
    assert not desk.take(9)


def test_first_come_first_served(desk):
    ids = []
    for _ in range(5):
        ids.append(desk.add())
        desk.clock.advance("1ms")
    assert [desk.take()[0].id for _ in range(5)] == ids


def test_first_come_first_served_within_one_millisecond_and_one_claim(desk):
    ids = [job_id for job_id, _ in desk.store.enqueue([draft() for _ in range(50)], desk.now)]
    assert [job.id for job in desk.take(50)] == ids


def test_higher_priority_runs_first(desk):
    by_priority = {}
    for priority in (0, -1000, 5, 1000, 0):
        by_priority.setdefault(priority, []).append(desk.add(priority=priority))
        desk.clock.advance("1ms")
    expected = [job_id for priority in sorted(by_priority, reverse=True) for job_id in by_priority[priority]]
    assert [job.id for job in desk.take(9)] == expected


def test_queues_are_served_in_the_order_given(desk):
    slow, fast = desk.add(queue="slow", priority=9), desk.add(queue="fast")
    desk.add(queue="closed")
    wants = {"fast": ["work"], "slow": ["work"]}
    assert [job.id for job in desk.take(9, wants=wants)] == [fast, slow]


def test_b34_types_a_worker_does_not_know_are_never_touched(desk):
    strange = [desk.add("strange", priority=9), desk.add("strange", run_at=desk.now + SECOND)]
    known = desk.add("work")
    before = desk.store.get_many(strange)
    assert [job.id for job in desk.take(9, wants={"default": ["work", "other"]})] == [known]
    assert desk.store.get_many(strange) == before
    assert desk.take(9, wants={"default": []}) == []


@pytest.mark.parametrize("limit", [0, 1, 3, 7, 50])
def test_b15_never_more_than_asked_and_never_fewer_than_there_are(desk, limit):
    desk.store.enqueue([draft(priority=n % 3) for n in range(7)], desk.now)
    desk.store.enqueue([draft(queue="other") for _ in range(3)], desk.now)
    jobs = desk.take(limit, wants={"default": ["work"], "other": ["work"]})
    assert len(jobs) == min(limit, 10)
    assert desk.store.workers()[0].running == len(jobs)


def test_every_claim_raises_the_token_and_counts_an_attempt(desk):
    job = desk.run(max_attempts=5)
    for n in range(2, 5):
        desk.end(job, FAILED)
        desk.clock.advance("1s")
        job = desk.take_this(job.id)
        assert (job.token, job.attempt) == (n, n)


def test_an_attempt_that_is_given_back_does_not_count_but_its_token_stays_used(desk):
    job = desk.run()
    desk.end(job, RELEASED)
    again = desk.take_this(job.id)
    assert (again.attempt, again.token) == (1, 2)


def test_a_worker_can_ask_what_it_holds(desk):
    """For a claim that was committed while its answer was lost."""
    desk.join("other")
    jobs = [desk.run(payload='{"n":1}', priority=5), desk.run(priority=-5)]
    desk.run(worker="other")
    desk.end(desk.run())
    assert desk.store.claimed_by(WORKER) == jobs
    desk.store.cancel([jobs[1].id], desk.now, "me")
    assert [job.cancelling for job in desk.store.claimed_by(WORKER)] == [False, True]
    assert desk.store.claimed_by("nobody") == []


# the lease --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("worker", ["nobody", "gone", "expired"])
def test_a_worker_without_a_lease_gets_nothing_and_writes_nothing(desk, worker):
    desk.join("gone")
    desk.store.deregister("gone")
    running = desk.run()
    waiting = desk.add()
    if worker == "expired":
        desk.join("expired")
        desk.outlive()
        desk.store.orphans(desk.now, HOUR, 9)
    before = desk.store.get_many([running.id, waiting])

    with pytest.raises(LeaseLost, match=worker):
        desk.claim(9, worker, finishing=[transition(running, COMPLETED, desk.now)])
    assert desk.store.get_many([running.id, waiting]) == before


@pytest.mark.engines("memory", "postgres", "redis")  # on a file a sweep ends it
def test_a_lease_holds_to_its_last_millisecond(desk):
    desk.add()
    desk.clock.move_to(desk.now + LEASE - 1)
    assert desk.take()
    desk.clock.advance("1ms")
    with pytest.raises(LeaseLost):
        desk.take()


# time -------------------------------------------------------------------------------------------------------------
def test_b07_a_job_for_later_starts_once_and_never_before_its_time(desk):
    job_id = desk.add(run_at=desk.now + 10 * LEASE)
    desk.join(lease=99 * LEASE)
    desk.clock.move_to(desk.now + 10 * LEASE - 1)
    assert desk.take(9) == []
    desk.clock.advance("1ms")
    assert [job.id for job in desk.take(9)] == [job_id]
    assert desk.take(9) == []


def test_due_jobs_are_queued_in_the_order_in_which_they_became_due(desk):
    late, early = desk.add(run_at=desk.now + 3 * SECOND), desk.add(run_at=desk.now + SECOND)
    desk.clock.advance("2s")
    between = desk.add()
    desk.clock.advance("2s")
    assert [job.id for job in desk.take(9)] == [early, between, late]


def test_due_jobs_of_other_workers_are_queued_too(desk):
    other = desk.add("other", run_at=desk.now + 1)
    desk.clock.advance("1s")
    assert desk.take(9) == []
    assert desk.state(other) == "queued"


def test_a_claim_of_nothing_promotes(desk):
    jobs = [desk.add(run_at=desk.now + n) for n in (30, 10, 20)]
    desk.clock.advance("25ms")
    assert desk.take(0) == []
    assert [desk.state(job) for job in jobs] == ["scheduled", "queued", "queued"]


def test_more_due_jobs_than_one_claim_promotes_all_come(desk):
    desk.store.enqueue([draft(run_at=desk.now + 1) for _ in range(1_200)], desk.now)
    desk.clock.advance("1s")
    seen = []
    while jobs := desk.take(500):
        seen += [job.id for job in jobs]
    assert len(set(seen)) == len(seen) == 1_200


def test_a_claim_that_found_too_little_says_when_more_is_due(desk):
    assert desk.claim(5).wait is None
    desk.add(run_at=desk.now + HOUR)
    desk.add(run_at=desk.now + SECOND)
    assert desk.claim(5).wait == SECOND
    job = desk.run()
    desk.end(job, FAILED)
    desk.clock.advance("300ms")
    assert desk.claim(5).wait == 700


def test_a_clock_that_steps_back_does_not_stop_claims(desk):
    """Jobs enqueued by a clock that ran ahead are ready when they are queued, whatever the clock says then."""
    desk.clock.advance("1h")
    ids = [desk.add(), desk.add()]
    desk.clock.move_to(desk.now - HOUR)
    desk.join()
    assert [job.id for job in desk.take(9)] == ids


def test_notes_finishes_and_claims_are_one_step(desk):

    first, second = desk.run(), desk.run()
    third = desk.add()
    answer = desk.claim(5, finishing=[transition(job, COMPLETED, desk.now) for job in (first, second)])
    assert answer.verdicts == ["stored", "stored"]
    assert [job.id for job in answer.jobs] == [third]
    assert (desk.state(first.id), desk.state(second.id)) == ("completed", "completed")


def test_a_job_handed_back_can_be_taken_again_in_the_same_step(desk):

    job = desk.run()
    answer = desk.claim(1, finishing=[transition(job, RELEASED, desk.now)])
    assert answer.verdicts == ["stored"]
    assert [(again.id, again.token) for again in answer.jobs] == [(job.id, 2)]
