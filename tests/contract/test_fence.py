"""The fence: an outcome counts only under the job's current token, so no worker of the past can write over the present."""

import pytest

from mainstay.core.outcome import COMPLETED, CRASHED, RELEASED
from mainstay.core.verdict import LOST
from mainstay.upkeep.sweep import Sweep
from tests.contract.building import CANCELLED, FAILED, FINAL, REVIEW, draft, transition
from tests.contract.invariants import raw

EVERY = [COMPLETED, FAILED, FINAL, RELEASED, CRASHED, REVIEW, CANCELLED]


class Quiet:
    """Events that nobody listens to."""

    def emit(self, name, **fields):
        pass


def orphaned(desk):
    """A job whose worker is gone, as a sweep would see it."""
    desk.join("dying")
    job = desk.run(worker="dying")
    desk.store.deregister("dying")
    return job


def test_b01_a_sweep_does_not_undo_a_completion_that_came_first(desk):
    job = orphaned(desk)
    (orphan,) = desk.store.orphans(desk.now, 0, 9)
    assert desk.end(job, COMPLETED) == "stored"  # the worker was alive after all, and came first
    before = desk.job(job.id)
    assert desk.end(orphan.job, CRASHED) == LOST
    assert desk.job(job.id) == before


@pytest.mark.parametrize("outcome", EVERY, ids=lambda outcome: outcome.kind)
def test_b02_a_worker_that_lost_its_job_cannot_end_it(desk, outcome):
    old = orphaned(desk)
    Sweep(desk.store, lambda: 0.0, Quiet(), 1).step(desk.now)
    new = desk.take_this(old.id)
    before = desk.job(old.id)
    assert desk.end(old, outcome) == LOST
    assert desk.job(old.id) == before
    assert desk.end(new, COMPLETED) == "stored"


@pytest.mark.parametrize("outcome", EVERY, ids=lambda outcome: outcome.kind)
def test_b04_an_ended_job_ends_once(desk, outcome):
    """One terminal state per job: after the sweep has freed it and it completed, nothing of the past counts."""
    old = orphaned(desk)
    Sweep(desk.store, lambda: 0.0, Quiet(), 1).step(desk.now)
    desk.end(desk.take_this(old.id), COMPLETED)
    before = desk.job(old.id)
    assert desk.end(old, outcome) == LOST
    assert desk.job(old.id) == before
    first, second = (attempt.outcome for attempt in desk.store.attempts(old.id))
    assert first in ("crashed", "lost_unknown")  # the second where a worker that has left keeps no word on what it ran
    assert second == "completed"


def test_b03_a_completed_job_is_no_orphan(desk):
    job = orphaned(desk)
    desk.end(job, COMPLETED)
    assert desk.store.orphans(desk.now, 0, 9) == []


def test_b05_a_removed_job_is_not_brought_back(desk):
    job = orphaned(desk)
    (orphan,) = desk.store.orphans(desk.now, 0, 9)
    desk.end(job, COMPLETED)
    desk.store.delete([job.id], desk.now, "me")
    assert desk.end(orphan.job, CRASHED) == LOST
    assert desk.store.get(job.id) is None


def test_b05_a_pruned_job_is_not_brought_back(desk):
    desk.join("dying")
    job = desk.run(worker="dying", keep=0)
    desk.end(job, COMPLETED)
    assert desk.store.prune(desk.now, 9) == 1
    assert desk.end(job, FAILED) == LOST
    assert desk.store.get(job.id) is None


def test_the_number_of_a_removed_job_is_never_given_to_another(desk):
    """A late write goes by the store's own number: it must not hit a job that came later."""
    old = desk.run()
    desk.end(old, COMPLETED)
    desk.store.delete([old.id], desk.now, "me")
    new = desk.run()
    assert new.seq != old.seq
    assert desk.end(old, FINAL) == LOST
    assert desk.state(new.id) == "running"


@pytest.mark.parametrize("token", [0, 1, 3, 99])
def test_only_the_current_token_counts(desk, token):
    desk.end(desk.run(), RELEASED)
    (job,) = desk.take()
    assert job.token == 2
    before = desk.job(job.id)
    assert desk.end(job._replace(token=token), COMPLETED) == LOST
    assert desk.job(job.id) == before


def test_the_token_is_never_lowered(desk):
    tokens = []
    job = desk.run(max_attempts=99)
    for outcome in (RELEASED, FAILED, CRASHED, FINAL, CANCELLED, REVIEW):
        tokens.append(job.token)
        desk.end(job, outcome)
        desk.store.retry([job.id], desk.now, "me")
        job = desk.take_this(job.id)
    assert tokens == sorted(set(tokens))


def test_b02_what_an_old_attempt_leaves_behind_counts_for_nothing(desk):
    old = orphaned(desk)
    Sweep(desk.store, lambda: 0.0, Quiet(), 1).step(desk.now)
    child = draft("child")
    stale = COMPLETED._replace(result='"stale"', children=(child,))
    assert desk.end(old, stale) == LOST
    assert desk.store.result(old.id) is None
    assert desk.store.get(child.id or "01NONE") is None


def test_b11_stale_outcomes_in_a_claim_are_refused_and_the_claim_goes_on(desk):
    old = orphaned(desk)
    Sweep(desk.store, lambda: 0.0, Quiet(), 1).step(desk.now)
    desk.take_this(old.id)
    waiting = desk.add()
    answer = desk.claim(1, finishing=[transition(old, COMPLETED, desk.now)])
    assert answer.verdicts == [LOST]
    assert [job.id for job in answer.jobs] == [waiting]


def test_a_retried_job_is_out_of_reach_for_its_old_worker(desk):
    job = desk.run()
    desk.end(job, FINAL)
    desk.store.retry([job.id], desk.now, "me")
    assert desk.end(job, COMPLETED) == LOST
    assert desk.state(job.id) == "queued"


def test_b01_the_sweep_itself_leaves_alone_what_was_finished_meanwhile(desk):
    """The same through the real chore, with the completion between its look and its write."""
    job = orphaned(desk)
    heard = []

    class Between:
        """The store, where a worker finishes its job just after the sweep has looked."""

        def __getattr__(self, name):
            return getattr(desk.store, name)

        def orphans(self, now, grace, limit):
            found = desk.store.orphans(now, grace, limit)
            assert desk.end(job, COMPLETED) == "stored"
            return found

    class Listening:
        def emit(self, name, **fields):
            heard.append(name)

    Sweep(Between(), lambda: 0.0, Listening(), 1).step(desk.now)
    assert desk.state(job.id) == "completed"
    assert "swept" not in heard


COPY = "redis.call('HSET', KEYS[1] .. ARGV[2], ARGV[3], redis.call('HGET', KEYS[1] .. ARGV[1], ARGV[3]))"


@pytest.mark.engines("redis")
@pytest.mark.parametrize("outcome", EVERY, ids=lambda outcome: outcome.kind)
def test_a_token_that_was_given_twice_belongs_to_the_worker_that_has_the_job(desk, outcome):
    """A replica that lagged behind became the primary: the first claim is forgotten there, and its token is given again."""
    job_id = desk.add()
    server = desk.store.server
    (lane,) = server.read("SMEMBERS", "lanes")
    server.command("EVAL", COPY, 1, server.prefix, "job", "before", job_id)
    first = desk.take_this(job_id)
    server.command("EVAL", COPY, 1, server.prefix, "before", "job", job_id)
    server.on_keys([
        ("DEL", "before"), ("ZREM", f"run:{first.worker}", job_id), ("ZADD", f"queue:{lane}", 0, first.seq),
        ("SADD", "lanes", lane),
    ])  # fmt: skip
    desk.join("second")
    (second,) = desk.claim(worker="second").jobs
    assert (second.id, second.token) == (first.id, first.token)
    before = desk.job(job_id)
    assert desk.end(first, outcome) == LOST
    assert desk.job(job_id) == before
    assert desk.end(second, COMPLETED) == "stored"


@pytest.mark.engines("sqlite", "memory", "postgres")
@pytest.mark.parametrize("outcome", EVERY, ids=lambda outcome: outcome.kind)
@pytest.mark.parametrize("cancelling", [False, True])
def test_a_token_given_again_by_a_stale_copy_belongs_to_its_new_worker(desk, outcome, cancelling):
    """After a failover to a replica that lagged behind, the last claim is forgotten, and its token is given once more."""
    first = desk.run()
    raw(desk.store).forget_claim(desk.store, first)
    desk.join("second")
    if hasattr(desk.store, "cursors"):
        desk.store.cursors.forget()  # another process claims
    second = desk.take_this(first.id, worker="second")
    assert second.token == first.token
    if cancelling:
        desk.store.cancel([first.id], desk.now, "me")
    before = desk.job(first.id)
    assert desk.end(first, outcome) == LOST
    assert desk.job(first.id) == before
    assert desk.end(second, CANCELLED) == "stored"
