"""Accepting jobs: what was asked is kept, all or none, under an id that stays; a repeated request changes nothing."""

import pytest

from mainstay.core.clock import DAY, SECOND
from mainstay.core.draft import KEEP, TIMEOUT
from mainstay.core.errors import DuplicateKey
from mainstay.core.ids import LENGTH
from mainstay.core.job import TypeInfo
from tests.contract.building import BACKOFF, draft, keyed


def test_a_job_is_kept_as_it_was_asked(desk):
    asked = draft(
        "mail", '{"to":"ä → 🦆"}', queue="slow", priority=-7, max_attempts=9, timeout=5, keep=None, key="k",
        lock="mail:k", tenant="acme", ref="user/1", tags=("b", "a"), parent="01PARENT",
    )  # fmt: skip
    job = desk.job(desk.send(asked))
    assert (job.type, job.queue, job.priority, job.payload) == ("mail", "slow", -7, '{"to":"ä → 🦆"}')
    assert (job.max_attempts, job.timeout, job.keep, job.backoff) == (9, 5, None, BACKOFF)
    assert (job.key, job.tenant, job.ref, job.tags, job.parent) == ("k", "acme", "user/1", ("b", "a"), "01PARENT")
    assert (job.state, job.attempt, job.crashes, job.token) == ("queued", 0, 0, 0)
    assert (job.created_at, job.started_at, job.finished_at, job.worker) == (desk.now, None, None, None)


def test_what_was_not_asked_has_the_usual_policy(desk):
    job = desk.job(desk.add(backoff=None))
    assert (job.queue, job.priority, job.max_attempts, job.backoff) == ("default", 0, 3, None)
    assert (job.timeout, job.keep, job.run_at, job.tags) == (TIMEOUT, KEEP, None, ())


def test_an_id_is_given_to_the_draft_and_answered(store, clock):
    drafts = [draft() for _ in range(3)]
    answers = store.enqueue(drafts, clock.now())
    assert [(each.id, True) for each in drafts] == answers
    assert all(len(each.id) == LENGTH for each in drafts)
    assert [each.id for each in drafts] == sorted(each.id for each in drafts)


def test_an_id_that_is_there_already_is_kept(store, clock):
    assert store.enqueue([draft(id="01CHOSEN")], clock.now()) == [("01CHOSEN", True)]
    assert store.get("01CHOSEN").id == "01CHOSEN"


def test_nothing_is_accepted_when_nothing_is_asked(store, clock):
    assert store.enqueue([], clock.now()) == []


@pytest.mark.parametrize(("later", "state"), [(SECOND, "scheduled"), (0, "queued"), (-DAY, "queued")])
def test_a_job_for_later_waits_and_one_that_is_due_does_not(desk, later, state):
    job = desk.job(desk.add(run_at=desk.now + later))
    assert (job.state, job.run_at) == (state, desk.now + later)


def test_what_is_accepted_is_there_for_everyone(desk, another):
    job_id = desk.add(payload='{"n":1}')
    assert another.get(job_id) == desk.job(job_id)


@pytest.mark.engines("sqlite", "postgres", "redis")
def test_an_accepted_job_outlives_the_store_object(desk):
    job_id = desk.add()
    desk.store.close()
    assert desk.job(job_id).state == "queued"  # the store opens anew


# many at once -----------------------------------------------------------------------------------------------------
def test_many_jobs_are_answered_in_their_order(store, clock):
    drafts = [draft(payload=f'{{"n":{n}}}') for n in range(2_000)]
    answers = store.enqueue(drafts, clock.now())
    assert [created for _, created in answers] == [True] * 2_000
    jobs = store.get_many([job_id for job_id, _ in answers])
    assert [job.payload for job in jobs] == [each.payload for each in drafts]


def test_many_are_accepted_all_or_none(store, clock):
    store.enqueue([keyed("taken")], clock.now())
    drafts = [draft(), draft(tags=("t",)), keyed("taken", on_conflict="raise"), draft()]
    with pytest.raises(DuplicateKey):
        store.enqueue(drafts, clock.now())
    assert [store.get(each.id) for each in drafts if each.id] == [None] * 4


def test_a_batch_with_keys_and_tags_and_plain_jobs(store, clock):
    drafts = [draft(), keyed("a"), draft(tags=("x", "y")), keyed("a"), draft(run_at=clock.now() + 5)]
    answers = store.enqueue(drafts, clock.now())
    assert [created for _, created in answers] == [True, True, True, False, True]
    assert answers[3][0] == answers[1][0]
    assert store.get(answers[2][0]).tags == ("x", "y")
    assert store.get(answers[4][0]).state == "scheduled"


# the same request again -------------------------------------------------------------------------------------------
def test_a_draft_sent_twice_is_one_job(desk):
    asked = draft(payload='{"n":1}')
    first = desk.store.enqueue([asked], desk.now)
    assert desk.store.enqueue([asked], desk.now + 5) == first == [(asked.id, True)]
    assert [len(desk.take(9)) for _ in range(2)] == [1, 0]


def test_a_draft_sent_again_after_its_job_ran_does_not_run_again(desk):
    asked = draft()
    job = desk.take_this(desk.send(asked))
    desk.end(job)
    assert desk.store.enqueue([asked], desk.now) == [(job.id, True)]
    assert desk.state(job.id) == "completed"


@pytest.mark.parametrize("sent", [slice(0, 5), slice(0, 1), slice(4, 5), slice(1, 3)])
def test_a_batch_of_which_a_part_was_accepted_before(desk, sent):
    drafts = [draft(payload=f'{{"n":{n}}}') for n in range(5)]
    desk.store.enqueue(drafts[sent], desk.now)
    assert desk.store.enqueue(drafts, desk.now) == [(each.id, True) for each in drafts]
    assert sorted(job.payload for job in desk.take(99)) == [each.payload for each in drafts]


def test_a_batch_that_names_a_draft_twice_makes_one_job(desk):
    once, other = draft(), draft()
    answers = desk.store.enqueue([once, other, once], desk.now)
    assert [job_id for job_id, _ in answers] == [once.id, other.id, once.id]
    assert len(desk.take(9)) == 2


def test_a_batch_after_pruned_jobs_and_operator_actions(desk):
    """Numbers that the engine gave to other rows meanwhile must not end up as numbers of jobs."""
    old = [desk.bring("completed", keep=0) for _ in range(5)]
    desk.store.prune(desk.now, 99)
    desk.store.cancel([desk.add() for _ in range(3)], desk.now, "me")
    drafts = [draft(id=old[0]), *[draft() for _ in range(4)]]
    desk.store.enqueue(drafts[:1], desk.now)
    desk.store.enqueue(drafts, desk.now)
    assert sorted(job.id for job in desk.take(99)) == sorted(each.id for each in drafts)


# producers that lack the type -------------------------------------------------------------------------------------
DECLARED = {"queue": "slow", "priority": 4, "max_attempts": 8, "backoff": BACKOFF, "timeout": 1, "keep": None}


def test_a_producer_without_the_code_follows_what_a_worker_declared(desk):
    desk.store.register_types([TypeInfo("work", "slow", "work()", DECLARED, desk.now)])
    job = desk.job(desk.send(draft(undeclared=())))
    assert {name: getattr(job, name) for name in DECLARED} == DECLARED


def test_but_what_the_producer_chose_itself_stands(desk):
    desk.store.register_types([TypeInfo("work", "slow", "work()", DECLARED, desk.now)])
    job = desk.job(desk.send(draft(priority=-1, timeout=7, undeclared=("priority", "timeout"))))
    assert (job.priority, job.timeout, job.queue, job.max_attempts) == (-1, 7, "slow", 8)


def test_a_type_that_nobody_declared_has_the_usual_policy(desk):
    job = desk.job(desk.send(draft("unheard.of", undeclared=())))
    assert (job.queue, job.max_attempts) == ("default", 3)


def test_a_producer_with_the_code_is_not_overruled(desk):
    desk.store.register_types([TypeInfo("work", "slow", "work()", DECLARED, desk.now)])
    assert desk.job(desk.send(draft(queue="fast"))).queue == "fast"
