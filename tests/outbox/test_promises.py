"""What `tx=` promises, for every kind of connection that it takes: one table of users, one test for each promise."""

import json

import pytest

from mainstay import DuplicateKey, InvalidPayload, LeaseLost, NotFound, QueueFull
from mainstay.core.job import TypeInfo
from mainstay.core.outcome import COMPLETED
from tests.contract.building import transition, worker


def claim(app, worker_id="w-first"):
    """The one job that waits, as a worker has it."""
    now = app.clock.now()
    if worker_id not in [each.id for each in app.store.workers()]:
        app.store.register(worker(worker_id, now, 600_000))
    (job,) = app.store.claim(worker_id, {"default": ["work"]}, 1, now).jobs
    return job


# enqueue --------------------------------------------------------------------------------------------------------------
def test_a_commit_shows_the_job_and_not_before(app, user, place):
    user.insert(1)
    handle = user.enqueue(app, "work", {"n": 1}, tags=["a", "b"], delay="1h", priority=5, tenant="acme", ref="order/1")
    assert handle.created
    assert app.store.get(handle.id) is None
    user.commit()
    job = handle.job()
    assert (job.state, job.payload, job.tags, job.priority) == ("scheduled", '{"n":1}', ("a", "b"), 5)
    assert (job.tenant, job.ref) == ("acme", "order/1")
    assert place.rows() == {1}


def test_a_rollback_leaves_nothing(app, user, place):
    user.insert(1)
    handle = user.enqueue(app, "work", key="k")
    user.rollback()
    assert app.store.get(handle.id) is None
    assert place.rows() == set()
    assert app.enqueue("work", key="k").created


def test_an_enqueue_can_be_the_first_statement(app, user):
    handle = user.enqueue(app, "work")
    assert app.store.get(handle.id) is None
    user.commit()
    assert handle.state == "queued"


def test_one_transaction_after_another(app, user, place):
    """A connection is known after the first: nothing is asked again, and all still holds."""
    lost = user.enqueue(app, "work")
    user.rollback()
    for number in (1, 2, 3):
        user.begin()
        user.insert(number)
        handle = user.enqueue(app, "work")
        user.commit()
        assert handle.state == "queued"
    assert app.store.get(lost.id) is None
    assert place.rows() == {1, 2, 3}


@pytest.mark.parametrize("count", [2, 2_345])
def test_many_jobs_come_with_one_commit(app, user, count):
    drafts = [app.work.prepare(n) for n in range(count)]
    handles = user.enqueue_many(app, drafts)
    assert app.store.get(handles[-1].id) is None
    user.commit()
    assert [handle.id for handle in handles] == [draft.id for draft in drafts]
    assert [job.payload for job in app.store.get_many([handles[0].id, handles[-1].id])] == [
        '{"n":0}',
        f'{{"n":{count - 1}}}',
    ]
    assert app.store.counts(9_999)[0].jobs == count


def test_many_jobs_of_every_sort(app, user):
    options = [{"key": "k"}, {"tags": ["x", "y"]}, {"delay": "1h"}, {"timeout": None, "keep": None}, {"retry": 7}]
    drafts = [app.work.options(**given).prepare(n) for n, given in enumerate(options)]
    handles = user.enqueue_many(app, drafts)
    user.commit()
    jobs = app.store.get_many([handle.id for handle in handles])
    assert [job.key for job in jobs] == ["k", None, None, None, None]
    assert [job.tags for job in jobs] == [(), ("x", "y"), (), (), ()]
    assert [job.state for job in jobs] == ["queued", "queued", "scheduled", "queued", "queued"]
    assert (jobs[3].timeout, jobs[3].keep, jobs[4].max_attempts) == (None, None, 7)


def test_what_is_hard_to_quote(app, user):
    """Percent signs, placeholders, quotes, backslashes, the other planes: bound, never put into a text."""
    text = "100%% %s %(p1)s $1 :name ? '\" \\ {} \U0001f41f é"
    handle = user.enqueue(app, "elsewhere", {"text": text}, key=text, ref="50% $2 'ü'")
    user.commit()
    job = handle.job()
    assert (json.loads(job.payload), job.key, job.ref) == ({"text": text}, text, "50% $2 'ü'")
    assert app.enqueue("elsewhere", key=text).id == handle.id


# keys -----------------------------------------------------------------------------------------------------------------
def test_a_taken_key_answers_the_job_that_has_it(app, user):
    first = app.enqueue("work", key="k")
    handle = user.enqueue(app, "work", key="k")
    user.commit()
    assert (handle.id, handle.created) == (first.id, False)


def test_a_taken_key_replaces(app, user):
    first = app.enqueue("work", {"n": 1}, key="k", tags=["old"])
    handle = user.enqueue(app, "work", {"n": 2}, key="k", tags=["new", "newer"], on_conflict="replace")
    assert (first.job().payload, handle.id) == ('{"n":1}', first.id)
    user.commit()
    assert (first.job().payload, first.job().tags) == ('{"n":2}', ("new", "newer"))
    assert [job.id for job in app.list("tag:newer")] == [first.id]
    assert app.list("tag:old") == []


def test_a_refused_key_leaves_the_transaction_as_it_was(app, user, place):
    first = app.enqueue("work", key="k")
    user.insert(1)
    drafts = [app.work.prepare(1), app.work.options(key="k", on_conflict="raise").prepare(2)]
    with pytest.raises(DuplicateKey) as refusal:
        user.enqueue_many(app, drafts)
    assert refusal.value.existing == first.id
    user.insert(2)
    kept = user.enqueue(app, "work")
    user.commit()
    assert (app.store.get(drafts[0].id), kept.state, place.rows()) == (None, "queued", {1, 2})


def test_a_key_in_the_same_transaction(app, user):
    first = user.enqueue(app, "work", {"n": 1}, key="k")
    again = user.enqueue(app, "work", {"n": 2}, key="k")
    replaced = user.enqueue(app, "work", {"n": 3}, key="k", on_conflict="replace")
    assert (again.id, again.created, replaced.id) == (first.id, False, first.id)
    with pytest.raises(DuplicateKey):
        user.enqueue(app, "work", {"n": 4}, key="k", on_conflict="raise")
    user.commit()
    assert first.job().payload == '{"n":3}'


# cancel and complete --------------------------------------------------------------------------------------------------
def test_a_cancel_holds_with_the_commit(app, user):
    waiting = app.enqueue("work")
    assert user.cancel(app, waiting) == "cancelled"
    assert waiting.state == "queued"
    user.commit()
    assert waiting.state == "cancelled"
    assert [action.action for action in app.actions(waiting)] == ["cancel"]


def test_a_rolled_back_cancel_never_was(app, user):
    waiting = app.enqueue("work")
    user.cancel(app, waiting)
    user.rollback()
    assert (waiting.state, app.actions(waiting)) == ("queued", [])


def test_a_running_job_is_asked_to_stop(app, user):
    running = app.enqueue("work")
    claim(app)
    assert user.cancel(app, running) == "cancelling"
    user.commit()
    assert running.job().label == "cancelling"


def test_a_job_of_the_same_transaction_can_be_cancelled(app, user):
    handle = user.enqueue(app, "work")
    assert user.cancel(app, handle) == "cancelled"
    user.commit()
    assert handle.state == "cancelled"


def test_a_job_completes_with_the_commit(app, user, place):
    handle = app.enqueue("work", key="k")
    child = app.work.options(tags=["born"]).prepare(1)
    outcome = COMPLETED._replace(result='"done"', children=(child,))
    job = claim(app)
    user.insert(1)
    user.finish(app.store, transition(job, outcome, app.clock.now()))
    assert handle.state == "running"
    user.commit()
    assert (handle.state, handle.result(), place.rows()) == ("completed", "done", {1})
    assert app.get(child.id).tags == ("born",)
    assert app.enqueue("work", key="k").created


def test_a_rollback_leaves_the_job_running(app, user, place):
    handle = app.enqueue("work")
    job = claim(app)
    user.insert(1)
    user.finish(app.store, transition(job, COMPLETED._replace(result='"done"'), app.clock.now()))
    user.rollback()
    assert (handle.state, app.store.result(handle.id), place.rows()) == ("running", None, set())


def test_b02_an_attempt_that_lost_its_job_cannot_complete_it(app, user, place):
    handle = app.enqueue("work")
    job = claim(app)
    app.store.finish([transition(job, COMPLETED, app.clock.now())])
    user.insert(1)
    with pytest.raises(LeaseLost, match=handle.id):
        user.finish(app.store, transition(job, COMPLETED, app.clock.now()))
    user.rollback()
    assert place.rows() == set()


# refusals that leave the caller's transaction alone ---------------------------------------------------------------------
def test_an_error_leaves_the_callers_transaction_usable(app, user, place):
    user.insert(1)
    with pytest.raises(NotFound):
        user.cancel(app, "0" * 26)
    user.insert(2)
    user.commit()
    assert place.rows() == {1, 2}


# keys -----------------------------------------------------------------------------------------------------------------
def test_a_key_for_ever_is_taken_with_the_commit(app, user):
    user.enqueue(app, "work", key="k", unique="forever")
    user.rollback()
    assert app.store.keys("", 9) == []
    user.begin()
    first = user.enqueue(app, "work", key="k", unique="forever")
    again = user.enqueue(app, "work", key="k", unique="forever")
    assert (again.id, again.created) == (first.id, False)
    user.commit()
    app.delete(first.id)
    assert [(each.key, each.job, each.there) for each in app.store.keys("", 9)] == [("k", first.id, False)]
    user.begin()
    assert user.enqueue(app, "work", key="k").id == first.id
    with pytest.raises(DuplicateKey, match=r"\(gone\).*mainstay keys forget work k"):
        user.enqueue(app, "work", key="k", on_conflict="raise")
    user.commit()


def test_the_key_that_a_type_declares_is_followed(app, user):
    policy = {"key_rule": {"by": ["n"], "on_conflict": "existing", "unique": "forever"}}
    app.store.register_types([TypeInfo("invoice", "default", "invoice(n)", policy, 0)])
    user.insert(1)
    first = user.enqueue(app, "invoice", {"n": 7})
    assert user.enqueue(app, "invoice", {"n": 7}).id == first.id
    with pytest.raises(InvalidPayload, match=r"by\('n'\).*missing"):
        user.enqueue(app, "invoice", {})
    user.commit()
    assert first.job().key == "7"
    assert [each.key for each in app.store.keys("", 9)] == ["7"]


# a full queue ---------------------------------------------------------------------------------------------------------
def test_a_full_queue_that_samples_keeps_some_jobs_in_a_transaction_too(app, user):
    app.work.enqueue()
    app.set_queue("default", max_depth=1, when_full="sample", one_in=2)
    while not taken(app, user):  # a refusal is undone with the transaction, and so is what it counted
        user.rollback()
        user.begin()
    user.commit()
    assert len(app.list("state:queued")) == 2


def test_a_queue_takes_as_many_jobs_in_transactions_as_it_may_have(app, user):
    app.work.enqueue()
    app.set_queue("default", max_depth=4)
    app.work.enqueue()  # its depth is counted from now on
    for _ in range(2):
        assert taken(app, user)
        user.commit()
        user.begin()
    assert not taken(app, user)
    user.rollback()
    assert len(app.list("state:queued")) == 4


def test_a_rollback_gives_the_room_in_a_queue_back(app, user):
    app.work.enqueue()
    app.set_queue("default", max_depth=2)
    for _ in range(3):
        assert taken(app, user)
        user.rollback()
        user.begin()


def taken(app, user):
    """Whether the queue takes a job."""
    try:
        return user.enqueue(app, "work").created
    except QueueFull:
        return False
