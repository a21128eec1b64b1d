"""Keys for ever: they outlive the end, the retention and the deletion of their job, move with it, and are freed by an operator."""

import pytest

from mainstay.core.clock import HOUR, SECOND
from mainstay.core.errors import DuplicateKey, UsageError
from mainstay.core.job import KeyInfo
from mainstay.core.keys import FOREVER, held
from mainstay.stores.move import move
from tests.contract.building import FINAL, WORKER, draft, keyed
from tests.contract.moving import SMALL, digests, silent


def ever(key="k", **given):
    """A draft that takes its key for ever."""
    return keyed(key, FOREVER, **given)


def answer(desk, asked):
    """What the store answers to one more draft."""
    ((job, created),) = desk.store.enqueue([asked], desk.now)
    return job, created


def gone(desk, how="pruned", **given):
    """The id of a job that took the key for ever and is no longer there."""
    job = desk.take_this(desk.send(ever(keep=SECOND, **given)))
    desk.end(job)
    if how == "deleted":
        desk.store.delete([job.id], desk.now, "me")
    else:
        desk.clock.move_to(desk.now + HOUR)
        assert desk.store.prune(desk.now, 99) == 1
    assert desk.store.get(job.id) is None
    return job.id


@pytest.mark.parametrize("state", ["queued", "running", "completed", "dead", "cancelled", "review"])
def test_a_key_for_ever_is_taken_whatever_becomes_of_its_job(desk, state):
    job = desk.bring(state, key="k", lock="work:k", lock_until=FOREVER)
    assert answer(desk, ever()) == (job, False)
    assert answer(desk, keyed()) == (job, False)
    assert answer(desk, keyed(until=0)) == (job, False)


@pytest.mark.parametrize("how", ["pruned", "deleted"])
def test_it_outlives_its_job(desk, how):
    job = gone(desk, how)
    for asked in (ever(), keyed(), keyed(until=0), ever(on_conflict="existing")):
        assert answer(desk, asked) == (job, False)
    assert desk.store.find("", 9) == []


def test_other_keys_and_types_and_periods_are_free(desk):
    gone(desk)
    assert answer(desk, ever("other"))[1]
    assert answer(desk, ever(type="mail"))[1]
    period = draft(key="k", lock="work:k\n1/2", lock_until=desk.now + HOUR)
    assert answer(desk, period)[1]
    assert answer(desk, draft())[1]


@pytest.mark.parametrize("on_conflict", ["raise", "replace"])
def test_the_error_names_a_job_that_is_gone_and_the_way_out(desk, on_conflict):
    job = gone(desk)
    with pytest.raises(DuplicateKey, match=rf"job {job} \(gone\).*'k'.*mainstay keys forget work k") as caught:
        answer(desk, ever(on_conflict=on_conflict))
    assert caught.value.existing == job
    assert desk.store.find("", 9) == []


def test_replace_while_the_job_waits_and_raise_afterwards(desk):
    job = desk.send(ever(payload='{"n":1}'))
    assert answer(desk, ever(payload='{"n":2}', on_conflict="replace")) == (job, False)
    assert desk.job(job).payload == '{"n":2}'
    desk.take_this(job)
    with pytest.raises(DuplicateKey, match=rf"job {job} \(running\) already has the key"):
        answer(desk, ever(on_conflict="replace"))


def test_a_job_that_is_replaced_takes_its_key_for_ever_then(desk):
    job = desk.send(keyed(payload='{"n":1}', keep=SECOND))
    assert desk.store.keys("", 9) == []
    assert answer(desk, ever(payload='{"n":2}', on_conflict="replace", keep=SECOND)) == (job, False)
    assert [(each.key, each.job) for each in desk.store.keys("", 9)] == [("k", job)]
    desk.end(desk.take_this(job))
    desk.store.delete([job], desk.now, "me")
    assert answer(desk, keyed()) == (job, False)


def test_a_draft_that_finds_an_alive_key_takes_nothing(desk):
    job = desk.take_this(desk.send(keyed()))
    assert answer(desk, ever()) == (job.id, False)
    desk.end(job)
    assert desk.store.keys("", 9) == []
    assert answer(desk, ever())[1]


def test_the_same_draft_sent_twice_is_one_job_and_not_refused(desk):
    asked = ever(on_conflict="raise")
    assert answer(desk, asked) == answer(desk, asked) == (asked.id, True)
    desk.store.delete([asked.id], desk.now, "me")
    assert answer(desk, asked) == (asked.id, True)
    assert desk.store.find("", 9) == []


def test_in_one_batch_the_first_takes_the_key(desk):
    drafts = [ever("a"), draft(), ever("a"), keyed("a"), ever("b"), keyed("c"), ever("c")]
    answers = desk.store.enqueue(drafts, desk.now)
    assert [created for _, created in answers] == [True, True, False, False, True, True, False]
    assert [job for job, _ in answers[:4]] == [drafts[0].id, drafts[1].id, drafts[0].id, drafts[0].id]
    assert [(each.key, each.job) for each in desk.store.keys("", 9)] == [("a", drafts[0].id), ("b", drafts[4].id)]


def test_a_batch_with_a_refused_draft_takes_no_key(desk):
    gone(desk)
    with pytest.raises(DuplicateKey):
        desk.store.enqueue([ever("new"), ever(on_conflict="raise")], desk.now)
    assert [each.key for each in desk.store.keys("", 9)] == ["k"]
    assert desk.store.find("", 9) == []


# retries -----------------------------------------------------------------------------------------------------------
def test_a_job_with_a_key_for_ever_can_be_retried(desk):
    job = desk.bring("dead", key="k", lock="work:k", lock_until=FOREVER)
    assert desk.store.retry([job], desk.now, "me") == {job: "queued"}
    assert answer(desk, ever()) == (job, False)
    desk.end(desk.take_this(job), FINAL)
    assert answer(desk, ever()) == (job, False)


def test_a_retry_that_would_double_the_work_names_the_job_that_did_it(desk):
    old = desk.bring("dead", key="k", lock="work:k")
    job = gone(desk)
    assert desk.store.retry([old], desk.now, "me") == {old: held(job, "k")}


# looking and forgetting --------------------------------------------------------------------------------------------
def test_keys_are_listed_in_order_and_by_prefix(desk):
    first = gone(desk, key="a/1")
    second = desk.send(ever("a/2"))
    third = desk.send(ever("a/2", type="mail"))
    desk.send(ever("b\N{SNOWMAN}"))
    now = desk.job(second).created_at
    found = desk.store.keys("a/", 9)
    assert [(each.key, each.type, each.job, each.there) for each in found] == [
        ("a/1", "work", first, False), ("a/2", "mail", third, True), ("a/2", "work", second, True)
    ]  # fmt: skip
    assert found[2] == KeyInfo("a/2", "work", second, now, there=True)
    assert [each.key for each in desk.store.keys("", 9)] == ["a/1", "a/2", "a/2", "b\N{SNOWMAN}"]
    assert desk.store.keys("", 2) == found[:2]
    assert desk.store.keys("", 1, "a/2\nmail")[0].type == "work"
    assert [each.key for each in desk.store.keys("b", 9)] == ["b\N{SNOWMAN}"]
    assert desk.store.keys("A", 9) == desk.store.keys("a/1x", 9) == []


def test_a_forgotten_key_is_free_and_the_audit_trail_says_by_whom(desk):
    job = gone(desk)
    assert desk.store.forget_key("work", "k", desk.now, "me", dry_run=True) == job
    assert answer(desk, ever()) == (job, False)
    assert desk.store.forget_key("work", "k", desk.now, "me") == job
    (line,) = [each for each in desk.store.actions(None, 9) if each.action == "forget_key"]
    assert (line.at, line.actor, line.job, line.detail) == (desk.now, "me", job, {"type": "work", "key": "k"})
    assert desk.store.keys("", 9) == []
    assert answer(desk, ever())[1]


def test_a_key_that_nobody_took_for_ever_cannot_be_forgotten(desk):
    desk.send(keyed())
    for dry_run in (True, False):
        assert desk.store.forget_key("work", "k", desk.now, "me", dry_run) is None
        assert desk.store.forget_key("mail", "k", desk.now, "me", dry_run) is None
    assert desk.store.actions(None, 9) == []


def test_a_job_that_is_alive_goes_on_holding_a_forgotten_key(desk):
    job = desk.take_this(desk.send(ever()))
    assert desk.store.forget_key("work", "k", desk.now, "me") == job.id
    assert answer(desk, ever()) == (job.id, False)
    desk.end(job)
    assert answer(desk, ever())[1]


@pytest.mark.parametrize("given", [("wo\0rk", "k", "me"), ("work", "k\0", "me"), ("work", "k", "m\0e")])
def test_a_nul_is_refused(desk, given):
    type, key, actor = given
    with pytest.raises(UsageError, match="NUL"):
        desk.store.forget_key(type, key, desk.now, actor)
    with pytest.raises(UsageError, match="NUL"):
        desk.store.keys("\0", 9)


# moving ------------------------------------------------------------------------------------------------------------
def test_keys_for_ever_move(desk, target):
    job = gone(desk)
    for n in range(2 * SMALL):
        desk.send(ever(f"n{n}"))
    desk.store.deregister(WORKER)
    before = digests(desk.store)
    assert before["keys"].rows == 2 * SMALL + 1
    assert move(desk.store, target, silent, batch=SMALL) == before
    assert target.keys("", 99) == desk.store.keys("", 99)
    assert target.enqueue([ever()], desk.now) == [(job, False)]
