"""Keys: unique while alive, until the start, or for a period; the one that is there is answered, replaced or named."""

import pytest

from mainstay.core import keys
from mainstay.core.clock import HOUR, SECOND
from mainstay.core.errors import DuplicateKey
from tests.contract.building import (
    BACKOFF,
    CANCELLED,
    FAILED,
    FINAL,
    REVIEW,
    checkpoint,
    draft,
    keyed,
    log,
    progress,
    transition,
)


def again(desk, asked):
    """What the store answers to one more draft."""
    (answer,) = desk.store.enqueue([asked], desk.now)
    return answer


def test_b21_a_taken_key_answers_the_job_that_has_it(desk):
    first = desk.send(keyed())
    assert again(desk, keyed()) == (first, False)
    assert len(desk.take(9)) == 1


def test_keys_of_other_types_and_other_keys_are_free(desk):
    desk.send(keyed("k"))
    desk.send(keyed("K"))
    desk.send(keyed("k", type="mail"))
    assert desk.send(draft()) != desk.send(draft())


@pytest.mark.parametrize("outcome", [FAILED, REVIEW])
def test_b20_a_key_holds_while_the_job_is_alive(desk, outcome):
    job = desk.take_this(desk.send(keyed()))
    assert again(desk, keyed()) == (job.id, False)
    assert desk.end(job, outcome) == "stored"  # its own key is not in its way
    assert again(desk, keyed()) == (job.id, False)


@pytest.mark.parametrize("state", ["completed", "dead", "cancelled"])
def test_a_key_is_free_once_its_job_has_ended(desk, state):
    desk.bring(state, key="k", lock="work:k")
    assert again(desk, keyed())[1] is True


def test_a_key_is_free_once_a_waiting_job_is_cancelled_or_deleted(desk):
    for verb in (desk.store.cancel, desk.store.delete):
        job = desk.send(keyed())
        verb([job], desk.now, "me")
        assert desk.send(keyed("k", on_conflict="raise")) != job
        desk.store.cancel([each.id for each in desk.store.get_many(desk.store.find("", 9))], desk.now, "me")


@pytest.mark.parametrize("approve", [True, False])
def test_a_key_is_free_once_a_review_is_decided(desk, approve):
    job = desk.bring("review", key="k", lock="work:k")
    desk.store.resolve_review(job, approve, desk.now, "me", "")
    assert again(desk, keyed())[1] is True


def test_a_key_until_the_start_is_free_once_the_job_runs(desk):
    first = desk.send(keyed(until=0))
    assert again(desk, keyed(until=0)) == (first, False)
    job = desk.take_this(first)
    second = desk.send(keyed(until=0))
    assert desk.end(job, FAILED) == "stored"  # a retry does not take the key back
    assert again(desk, keyed(until=0)) == (second, False)


def test_a_key_for_a_period_holds_beyond_the_end_of_its_job(desk):
    lock, until = keys.lock("work", "k", "alive", HOUR / 1000, desk.now)
    asked = {"key": "k", "lock": lock, "lock_until": until}
    first = desk.bring("completed", **asked)
    assert again(desk, draft(**asked)) == (first, False)
    desk.clock.move_to(until)
    lock, until = keys.lock("work", "k", "alive", HOUR / 1000, desk.now)
    assert again(desk, draft(key="k", lock=lock, lock_until=until))[1] is True


@pytest.mark.parametrize("end", ["completed", "cancelled", "approved", "cancelled while it waits"])
def test_a_key_for_a_period_holds_beyond_the_retention_of_its_job(desk, end):
    until = desk.now + HOUR
    asked = {"key": "k", "lock": "work:k@1", "lock_until": until, "keep": SECOND}
    if end == "approved":
        first = desk.bring("review", **asked)
        desk.store.resolve_review(first, True, desk.now, "me", "")
    elif end == "cancelled while it waits":
        first = desk.add(**asked)
        desk.store.cancel([first], desk.now, "me")
    else:
        first = desk.bring(end, **asked)
    desk.clock.move_to(until - 1)
    desk.store.prune(desk.now, 99)
    assert again(desk, draft(**asked)) == (first, False)
    desk.clock.move_to(until)
    assert desk.store.prune(desk.now, 99) == 1


# on conflict ------------------------------------------------------------------------------------------------------
def test_raise_names_the_job_that_is_there(desk):
    first = desk.send(keyed())
    with pytest.raises(DuplicateKey, match=first) as caught:
        again(desk, keyed(on_conflict="raise"))
    assert caught.value.existing == first


def test_replace_gives_the_waiting_job_what_is_asked_now(desk):
    first = desk.send(keyed(payload='{"n":1}', tags=("old", "both"), tenant="a", ref="r/1", run_at=desk.now + HOUR))
    newer = keyed(
        payload='{"n":2}', priority=3, max_attempts=7, timeout=9, keep=11, queue="other", tags=("new", "both"),
        tenant="b", ref="r/2", backoff=None, on_conflict="replace",
    )  # fmt: skip
    assert again(desk, newer) == (first, False)
    job = desk.job(first)
    assert (job.payload, job.priority, job.max_attempts, job.timeout, job.keep) == ('{"n":2}', 3, 7, 9, 11)
    assert (job.queue, set(job.tags), job.tenant, job.ref, job.backoff) == ("other", {"new", "both"}, "b", "r/2", None)
    assert (job.state, job.run_at) == ("queued", None)
    assert again(desk, keyed(on_conflict="replace", run_at=desk.now + 5)) == (first, False)
    assert desk.job(first).state == "scheduled"


def test_replace_forgets_how_far_the_old_work_was(desk):
    job = desk.run(key="k", lock="work:k")
    desk.store.finish([transition(job, FAILED, desk.now)], [log(job), progress(job, 3, 4, "read"), checkpoint(job)])
    assert again(desk, keyed(payload='{"n":2}', on_conflict="replace")) == (job.id, False)
    found = desk.job(job.id)
    assert (found.done, found.total, found.stage, desk.store.checkpoint(job.id)) == (None, None, None, None)
    assert len(desk.store.logs(job.id, 0, 9)) == len(desk.store.attempts(job.id)) == 1, "its history stays"
    desk.store.finish([], [checkpoint(job), progress(job)])
    assert desk.store.checkpoint(desk.take_this(job.id).id) is None
    assert desk.job(job.id).stage is None


def test_replace_starts_over_with_fresh_attempts(desk):
    job = desk.take_this(desk.send(keyed(max_attempts=2)))
    desk.end(job, FAILED)
    assert again(desk, keyed(max_attempts=2, on_conflict="replace")) == (job.id, False)
    found = desk.job(job.id)
    assert (found.attempt, found.crashes, found.token, found.reason) == (0, 0, 1, None)
    assert len(desk.store.attempts(job.id)) == 1  # what happened stays readable


@pytest.mark.parametrize("state", ["running", "review"])
def test_replace_leaves_a_job_alone_that_is_under_way_and_says_so(desk, state):
    job_id = desk.bring(state, payload='{"n":1}', key="k", lock="work:k")
    before = desk.job(job_id)
    with pytest.raises(DuplicateKey, match=state):
        again(desk, keyed(payload='{"n":2}', on_conflict="replace"))
    assert desk.job(job_id) == before


def test_keys_work_in_bulk(store, clock):
    drafts = [keyed(str(n % 10)) for n in range(100)]
    answers = store.enqueue(drafts, clock.now())
    assert sum(created for _, created in answers) == 10
    assert len({job_id for job_id, _ in answers}) == 10


# an operator's retry takes the key again ---------------------------------------------------------------------------
@pytest.mark.parametrize("state", ["dead", "cancelled"])
def test_a_retried_job_has_its_key_again(desk, state):
    job = desk.bring(state, key="k", lock="work:k")
    assert desk.store.retry([job], desk.now, "me") == {job: "queued"}
    assert again(desk, keyed()) == (job, False)


@pytest.mark.parametrize("until", [None, 0])
def test_a_job_is_not_retried_while_another_has_its_key(desk, until):
    old = desk.send(keyed(until=until))
    desk.store.cancel([old], desk.now, "me")
    new = desk.send(keyed(until=until))
    before = desk.job(old)
    assert desk.store.retry([old], desk.now, "me") == {old: keys.held(new, "k")}
    assert desk.job(old) == before
    desk.store.delete([new], desk.now, "me")
    assert desk.store.retry([old], desk.now, "me") == {old: "queued"}


def test_one_refused_retry_does_not_stop_the_others(desk):
    old, other = desk.bring("dead", key="k", lock="work:k"), desk.bring("dead")
    new = desk.send(keyed())
    assert desk.store.retry([old, other, "01NONE"], desk.now, "me") == {
        old: keys.held(new, "k"),
        other: "queued",
        "01NONE": "missing",
    }


def test_of_two_retried_jobs_with_one_key_the_second_names_the_first(desk):
    first, second = (desk.bring("dead", key="a b", lock="work:a b") for _ in range(2))
    assert desk.store.retry([first, second], desk.now, "me") == {first: "queued", second: keys.held(first, "a b")}


def test_a_started_job_is_run_at_once_though_another_waits_with_its_key(desk):
    job = desk.take_this(desk.send(keyed(until=0, backoff=BACKOFF)))
    desk.end(job, FAILED)
    desk.send(keyed(until=0))
    assert desk.store.retry([job.id], desk.now, "me") == {job.id: "queued"}


def test_a_cancelled_outcome_lets_the_key_go(desk):
    job = desk.take_this(desk.send(keyed()))
    desk.end(job, CANCELLED)
    other = desk.take_this(desk.send(keyed()))
    desk.end(other, FINAL)
    assert again(desk, keyed())[1] is True
