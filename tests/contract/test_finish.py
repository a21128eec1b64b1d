"""The one door out of `running`: every outcome is stored as `decide` says, with its effects, and exactly once."""

import pytest

from mainstay.core.clock import DAY, SECOND
from mainstay.core.outcome import COMPLETED, CRASHED, RELEASED, Outcome
from tests.contract.building import BACKOFF, CANCELLED, FAILED, FINAL, REVIEW, draft, keyed, transition

SNOOZED = Outcome("snoozed", reason="later", delay=5 * SECOND)
RETURNED = Outcome("completed", result='{"n":1}')


# how it ends ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("outcome", "state", "attempt", "run_at", "reason"),
    [
        (COMPLETED, "completed", 1, None, None),
        (RETURNED, "completed", 1, None, None),
        (FAILED, "scheduled", 1, SECOND, None),
        (FINAL, "dead", 1, None, "permanent"),
        (CRASHED, "queued", 1, 0, None),
        (RELEASED, "queued", 0, 0, None),
        (SNOOZED, "scheduled", 0, 5 * SECOND, "later"),
        (REVIEW, "review", 1, None, "look at this"),
        (CANCELLED, "cancelled", 1, None, "not wanted any more"),
    ],
    ids=lambda value: value.kind if isinstance(value, Outcome) else "",
)
def test_each_outcome_is_stored_as_decided(desk, outcome, state, attempt, run_at, reason):
    job = desk.run()
    desk.clock.advance("2s")
    assert desk.end(job, outcome) == "stored"
    found = desk.job(job.id)
    assert (found.state, found.attempt, found.token, found.worker) == (state, attempt, 1, None)
    assert found.run_at == (None if run_at is None else desk.now + run_at)
    assert found.reason == reason
    assert found.started_at == job.started_at


@pytest.mark.parametrize(
    ("state", "keep"), [("completed", DAY), ("cancelled", DAY), ("completed", None), ("completed", 0)]
)
def test_an_ended_job_is_kept_as_long_as_its_policy_says(desk, state, keep):
    found = desk.job(desk.bring(state, keep=keep))
    assert (found.finished_at, found.expires_at) == (desk.now, None if keep is None else desk.now + keep)


def test_the_dead_are_kept_until_someone_decides(desk):
    found = desk.job(desk.bring("dead", keep=0))
    assert (found.finished_at, found.expires_at) == (desk.now, None)


def test_the_last_attempt_that_fails_ends_the_job(desk):
    job = desk.run(max_attempts=2)
    desk.end(job, FAILED)
    desk.clock.advance("1s")
    desk.end(desk.take_this(job.id), FAILED)
    found = desk.job(job.id)
    assert (found.state, found.reason, found.error) == ("dead", "attempts used up", "ValueError: no")


def test_crashes_before_a_run_that_came_to_its_end_do_not_make_a_job_poison(desk):
    """A job that snoozes for months meets many deaths of workers, and causes none."""
    job = desk.run(max_attempts=99)
    for ended in (SNOOZED, REVIEW, SNOOZED, SNOOZED):
        desk.end(job, CRASHED)
        job = desk.take_this(job.id)
        desk.end(job, ended)
        assert desk.job(job.id).crashes == 0
        desk.clock.advance("5s")
        desk.join()
        desk.store.retry([job.id] if ended is REVIEW else [], desk.now, "someone")
        job = desk.take_this(job.id)
    desk.end(job, CRASHED)
    assert desk.job(job.id).state == "queued"


def test_b39_three_crashes_end_a_job_whatever_attempts_remain(desk):
    job = desk.run(max_attempts=99)
    for _ in range(2):
        assert desk.end(job, CRASHED) == "stored"
        job = desk.take_this(job.id)
    desk.end(job, CRASHED)
    found = desk.job(job.id)
    assert (found.state, found.crashes) == ("dead", 3)
    assert found.reason.startswith("poison")


def test_a_snoozed_job_spends_no_attempt_however_often(desk):
    job = desk.run(max_attempts=1)
    for n in range(5):
        assert desk.end(job, SNOOZED) == "stored"
        desk.clock.advance("5s")
        desk.join()
        job = desk.take_this(job.id)
        assert (job.attempt, job.token) == (1, n + 2)


def test_b70_retries_are_never_earlier_than_the_wait(desk):
    job = desk.run()
    desk.end(job, FAILED)
    desk.clock.advance("999ms")
    assert desk.take() == []
    desk.clock.advance("1ms")
    assert desk.take_this(job.id).attempt == 2


# what it leaves behind --------------------------------------------------------------------------------------------
def test_a_result_is_kept(desk):
    job = desk.run()
    desk.end(job, RETURNED)
    assert desk.store.result(job.id) == '{"n":1}'


def test_no_result_is_none(desk):
    assert desk.store.result(desk.bring("completed")) is None
    assert desk.store.result("01NONE") is None


def test_a_proposed_result_is_that_of_the_approved_job(desk):
    job = desk.bring("review")
    desk.store.resolve_review(job, True, desk.now, "me", "")
    assert desk.store.result(job) == '{"proposed":1}'


def test_a_proposed_result_is_gone_when_the_job_runs_again(desk):
    job = desk.bring("review")
    desk.store.retry([job], desk.now, "me")
    assert desk.store.result(job) is None
    desk.end(desk.take_this(job), COMPLETED)
    assert desk.store.result(job) is None


def test_a_later_result_takes_the_place_of_an_earlier_one(desk):
    job = desk.bring("review")
    desk.store.retry([job], desk.now, "me")
    desk.end(desk.take_this(job), RETURNED)
    assert desk.store.result(job) == '{"n":1}'


def test_children_exist_if_and_only_if_the_parent_completed(desk):
    for outcome, born in (
        (COMPLETED, True),
        (FAILED, False),
        (CANCELLED, False),
        (RELEASED, False),
        (REVIEW, False),
    ):
        child, job = draft("child", id=f"01CHILD{outcome.kind.upper()}"), desk.run()
        assert desk.end(job, outcome._replace(children=(child,))) == "stored"
        assert (desk.state(child.id) == "queued") is born, outcome
        desk.store.cancel([job.id], desk.now, "me")


def in_review(desk, *children, **given):
    """The id of a job in review that would enqueue these."""
    job = desk.run(**given)
    assert desk.end(job, REVIEW._replace(children=children)) == "stored"
    return job.id


def test_children_of_a_job_in_review_exist_once_it_is_approved(desk):
    taken = desk.send(keyed("taken", type="child"))
    children = (
        keyed("taken", type="child", on_conflict="raise"), draft("child", '{"n":"é"}', tags=("x",), parent="01P"),
        draft("child", run_at=desk.now + 5), keyed("new", type="child", tenant="acme"),
    )  # fmt: skip
    job = in_review(desk, *children)
    assert desk.children() == [taken]
    assert desk.store.resolve_review(job, True, desk.now, "me", "") == "approved"
    assert desk.store.resolve_review(job, True, desk.now, "me", "") == "completed"
    *born, was_there = map(desk.job, desk.children())
    assert was_there.id == taken
    assert sorted((each.state, each.tags, each.tenant, each.parent) for each in born) == [
        ("queued", (), "acme", None), ("queued", ("x",), None, "01P"), ("scheduled", (), None, None),
    ]  # fmt: skip
    assert {each.payload for each in born} == {"{}", '{"n":"é"}'}
    assert desk.store.result(job) == REVIEW.result


def test_a_child_of_a_job_in_review_may_have_the_key_that_its_parent_gives_up(desk):
    job = in_review(desk, keyed("same", on_conflict="raise"), key="same", lock="work:same")
    assert desk.store.resolve_review(job, True, desk.now, "me", "") == "approved"
    assert desk.take()[0].id != job


def test_a_job_in_review_that_proposes_no_result_keeps_its_children(desk):
    job = desk.run()
    desk.end(job, Outcome("review", reason="look", children=(draft("child"),)))
    desk.store.resolve_review(job.id, True, desk.now, "me", "")
    assert len(desk.children()) == 1


@pytest.mark.parametrize("verb", ["reject", "retry", "cancel", "delete"])
def test_children_of_a_job_in_review_that_is_not_approved_never_exist(desk, verb):
    job = in_review(desk, draft("child"))
    if verb == "reject":
        desk.store.resolve_review(job, False, desk.now, "me", "")
    else:
        getattr(desk.store, verb)([job], desk.now, "me")
    if verb != "delete":
        desk.store.retry([job], desk.now, "me")
        desk.end(desk.take_this(job), REVIEW)
        desk.store.resolve_review(job, True, desk.now, "me", "")
    assert desk.children() == []


def test_children_with_keys_and_tags_and_delays(desk):
    taken = desk.send(keyed("taken", type="child"))
    children = (
        keyed("taken", type="child"), draft("child", tags=("x",), parent="01P"), draft("child", run_at=desk.now + 5),
    )  # fmt: skip
    assert desk.end(desk.run(), COMPLETED._replace(children=children)) == "stored"
    assert desk.state(taken) == "queued"
    assert desk.store.get(children[0].id) is None
    assert desk.job(children[1].id).tags == ("x",)
    assert desk.state(children[2].id) == "scheduled"


@pytest.mark.parametrize("on_conflict", ["raise", "replace"])
def test_a_child_whose_key_is_taken_does_not_stop_its_parent_from_ending(desk, on_conflict):
    """The handler is through: there is nobody left to raise to, and the other jobs of the batch must be stored too."""
    desk.run(type="work", key="taken", lock="child:taken")
    parent, other = desk.run(), desk.run()
    child = keyed("taken", type="child", on_conflict=on_conflict)
    verdicts = desk.store.finish([
        transition(parent, COMPLETED._replace(children=(child,)), desk.now), transition(other, COMPLETED, desk.now)
    ])  # fmt: skip
    assert verdicts == ["stored", "stored"]
    assert (desk.state(parent.id), desk.state(other.id)) == ("completed", "completed")


# attempts ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "outcome", [FAILED, FINAL, CRASHED, REVIEW, CANCELLED, SNOOZED], ids=lambda outcome: outcome.kind
)
def test_an_attempt_stays_on_record(desk, outcome):
    job = desk.run()
    desk.clock.advance("3s")
    desk.end(job, outcome)
    (attempt,) = desk.store.attempts(job.id)
    assert (attempt.number, attempt.token, attempt.worker, attempt.outcome) == (1, 1, job.worker, outcome.kind)
    assert (attempt.started_at, attempt.ended_at) == (job.started_at, desk.now)
    assert (attempt.error, attempt.traceback) == (outcome.error, outcome.traceback)


def test_every_attempt_of_a_long_story_is_readable(desk):
    job = desk.run(max_attempts=9)
    for outcome in (FAILED, CRASHED, SNOOZED, FAILED):
        desk.end(job, outcome)
        desk.clock.advance("5s")
        desk.join()
        job = desk.take_this(job.id)
    desk.end(job, COMPLETED)
    found = desk.store.attempts(job.id)
    assert [a.outcome for a in found] == ["failed", "crashed", "snoozed", "failed", "completed"]
    assert [a.number for a in found] == [1, 2, 3, 3, 4]


@pytest.mark.parametrize("outcome", [COMPLETED, RELEASED], ids=lambda outcome: outcome.kind)
def test_an_attempt_that_a_cancel_overruled_stays_on_record(desk, outcome):
    """Whatever the handler said last, the job ends as cancelled; that an attempt was made must not be lost."""
    job = desk.run()
    desk.store.cancel([job.id], desk.now, "me")
    assert desk.end(job._replace(cancelling=True), outcome) == "stored"
    assert desk.state(job.id) == "cancelled"
    assert len(desk.store.attempts(job.id)) == 1


# verdicts ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "outcome", [COMPLETED, RETURNED, FAILED, FINAL, CRASHED, RELEASED, SNOOZED, REVIEW, CANCELLED],
    ids=lambda outcome: outcome.kind,
)  # fmt: skip
def test_what_is_sent_again_was_applied_already(desk, outcome):
    """The answer was lost, not the write: the second time nothing changes, and nothing is doubled."""
    child = draft("child")
    decided = transition(desk.run(), outcome._replace(children=(child,)), desk.now)
    assert desk.store.finish([decided]) == ["stored"]
    before, attempts = desk.job(decided.id), desk.store.attempts(decided.id)
    assert desk.store.finish([decided]) == ["already"]
    assert desk.job(decided.id) == before
    assert desk.store.attempts(decided.id) == attempts
    assert len(desk.take(9, wants={"default": ["child"]})) == (outcome.kind == "completed")


def test_b05_what_is_sent_again_brings_no_removed_child_back(desk):
    child = draft("child")
    decided = transition(desk.run(), COMPLETED._replace(children=(child,)), desk.now)
    assert desk.store.finish([decided]) == ["stored"]
    desk.store.delete([child.id], desk.now, "me")
    assert desk.store.finish([decided]) == ["already"]
    assert desk.store.get(child.id) is None


def test_a_retry_that_is_due_by_the_time_it_is_sent_again(desk):
    decided = transition(desk.run(), FAILED, desk.now)
    desk.store.finish([decided])
    desk.clock.advance("1s")
    desk.promote()
    assert desk.store.finish([decided]) == ["already"]


def test_a_cancel_that_came_meanwhile_is_heard(desk):
    job = desk.run()
    desk.store.cancel([job.id], desk.now, "me")
    for outcome in (COMPLETED, FAILED, RELEASED, SNOOZED, REVIEW):
        assert desk.end(job, outcome) == "cancelling"
    assert desk.state(job.id) == "running"
    assert desk.end(job, CANCELLED) == "stored"


def test_a_job_that_is_to_be_cancelled_may_still_die(desk):
    job = desk.run()
    desk.store.cancel([job.id], desk.now, "me")
    assert desk.end(job, FINAL) == "stored"
    assert desk.state(job.id) == "dead"


def test_each_of_a_mixed_batch_has_its_own_verdict(desk):
    jobs = [desk.run() for _ in range(5)]
    lost, cancelling, already, twice, fine = jobs
    desk.store.cancel([cancelling.id], desk.now, "me")
    decided = [transition(job, COMPLETED, desk.now) for job in jobs]
    desk.store.finish([decided[2]])
    decided[0] = decided[0]._replace(token=99)
    verdicts = desk.store.finish([*decided, decided[3]])
    assert verdicts == ["lost", "cancelling", "already", "stored", "stored", "already"]
    states = [desk.state(job.id) for job in (lost, cancelling, already, twice, fine)]
    assert states == ["running", "running", "completed", "completed", "completed"]


def test_a_mixed_batch_leaves_each_effect_once(desk):
    jobs = [desk.run() for _ in range(3)]
    outcomes = [Outcome("completed", result=f'"{n}"', children=(draft("child"),)) for n in range(3)]
    decided = [transition(job, outcome, desk.now) for job, outcome in zip(jobs, outcomes, strict=True)]
    desk.store.finish(decided[1:2])
    assert desk.store.finish(decided) == ["stored", "already", "stored"]
    assert [desk.store.result(job.id) for job in jobs] == ['"0"', '"1"', '"2"']
    assert len(desk.take(9, wants={"default": ["child"]})) == 3


def test_many_at_once(desk):
    desk.store.enqueue([draft() for _ in range(1_000)], desk.now)
    jobs = desk.take(1_000)
    outcomes = (COMPLETED, FAILED, RETURNED, FINAL)
    decided = [transition(job, outcomes[n % 4], desk.now) for n, job in enumerate(jobs)]
    assert desk.store.finish(decided) == ["stored"] * 1_000
    assert [desk.state(job.id) for job in jobs[:4]] == ["completed", "scheduled", "completed", "dead"]


def test_nothing_is_finished_when_nothing_is_sent(store):
    assert store.finish([]) == []


def test_a_job_without_backoff_of_its_own_waits_as_usual(desk):
    job = desk.run(backoff=None)
    desk.end(job, FAILED)
    assert desk.job(job.id).run_at == desk.now + SECOND
    assert desk.job(job.id).backoff != BACKOFF
