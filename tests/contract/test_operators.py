"""What operators may do, in every state: the table of `core.states`, pair by pair, and the audit of it."""

from functools import partial

import pytest

from mainstay.core import states
from mainstay.core.clock import SECOND
from mainstay.core.errors import DuplicateKey, UsageError
from mainstay.core.outcome import COMPLETED, CRASHED
from tests.contract.building import (
    CANCELLED,
    FAILED,
    FINAL,
    REVIEW,
    checkpoint,
    draft,
    log,
    progress,
    transition,
)  # fmt: skip
from tests.contract.ruled import Operator, after, limited, rated, send

# What each verb answers, and the state that follows, by the state it meets; None: the job is gone.
CANCEL = {
    "queued": ("cancelled", "cancelled"), "scheduled": ("cancelled", "cancelled"), "blocked": ("cancelled", "cancelled"),
    "running": ("cancelling", "running"), "review": ("cancelled", "cancelled"), "completed": ("ended", "completed"),
    "cancelled": ("ended", "cancelled"), "dead": ("ended", "dead"),
}  # fmt: skip
RETRY = {
    "queued": ("queued", "queued"), "scheduled": ("queued", "queued"), "blocked": ("blocked", "blocked"),
    "running": ("running", "running"), "review": ("queued", "queued"), "completed": ("completed", "completed"),
    "cancelled": ("queued", "queued"), "dead": ("queued", "queued"),
}  # fmt: skip
APPROVE = {state: (state, state) for state in states.STATES} | {"review": ("approved", "completed")}
REJECT = {state: (state, state) for state in states.STATES} | {"review": ("rejected", "dead")}
DELETE = dict.fromkeys(states.STATES, ("deleted", None)) | {"running": ("running", "running")}
TABLES = {"cancel": CANCEL, "retry": RETRY, "approve": APPROVE, "reject": REJECT, "delete": DELETE}


def operate(desk, verb, job_id, actor="ada"):
    if verb in ("approve", "reject"):
        return desk.store.resolve_review(job_id, verb == "approve", desk.now, actor, "because")
    return getattr(desk.store, verb)([job_id], desk.now, actor)[job_id]


@pytest.mark.parametrize("state", states.STATES)
@pytest.mark.parametrize("verb", TABLES)
def test_every_verb_in_every_state(desk, verb, state):
    job_id = desk.bring(state)
    before = desk.job(job_id)
    desk.clock.advance("500ms")
    answer, after = TABLES[verb][state]
    assert operate(desk, verb, job_id) == answer
    assert desk.state(job_id) == after
    acted = after != state or answer == "cancelling"
    if after not in (state, None):
        assert (state, after) in states.MOVES
    if not acted:
        assert desk.job(job_id) == before
    assert [action.action for action in desk.store.actions(job_id, 9)] == [verb] * acted


@pytest.mark.parametrize("verb", TABLES)
def test_every_verb_on_a_job_that_is_not_there(desk, verb):
    assert operate(desk, verb, "01NONE") == "missing"
    assert desk.store.actions(None, 9) == []


@pytest.mark.parametrize("state", states.STATES)
def test_only_what_is_queued_can_be_claimed(desk, state):
    job_id = desk.bring(state)
    assert [job.id for job in desk.take(9)] == [job_id] * (state == "queued")


@pytest.mark.parametrize("state", states.STATES)
def test_only_what_is_scheduled_can_be_promoted(desk, state):
    job_id = desk.bring(state)
    desk.clock.advance("5s")  # less than the lease
    desk.promote()
    assert desk.state(job_id) == ("queued" if state == "scheduled" else state)


def moved(desk, before, after):
    """Move a job from one state to another by the verb that does so; answers its id."""
    if before == "":
        return desk.bring(after)
    outcomes = {"completed": COMPLETED, "queued": CRASHED, "scheduled": FAILED, "review": REVIEW, "cancelled": CANCELLED,
                "dead": FINAL}  # fmt: skip
    job_id = desk.bring(before, key="k", lock="work:k") if before != "running" else ""
    if before == "running":
        job = desk.run()
        desk.end(job, outcomes[after])
        return job.id
    if (before, after) == ("queued", "running"):
        desk.take_this(job_id)
    elif (before, after) == ("queued", "scheduled"):
        newer = draft(key="k", lock="work:k", run_at=desk.now + SECOND, on_conflict="replace")
        desk.store.enqueue([newer], desk.now)
    elif (before, after) == ("scheduled", "queued"):
        desk.clock.advance("1s")
        desk.promote()
    elif after == "scheduled":
        desk.store.retry([job_id], desk.now, "ada", times=[desk.now + SECOND])
    elif before == "review" and after in ("completed", "dead"):
        desk.store.resolve_review(job_id, after == "completed", desk.now, "ada", "")
    else:
        getattr(desk.store, "cancel" if after == "cancelled" else "retry")([job_id], desk.now, "ada")
    return job_id


def displaced(desk):
    """A queued job that gives its slot to a higher priority."""
    job = desk.send(limited())
    desk.send(limited(priority=1))
    return job


def due(desk):
    """A scheduled job that is due while another has its slot."""
    job, _ = send(desk, limited(run_at=desk.now + SECOND), limited())
    desk.clock.advance("1s")
    desk.promote()
    return job


def let_in(desk):
    """A blocked job whose slot becomes free."""
    first, job = send(desk, limited(), limited())
    desk.end(desk.take_this(first))
    return job


def taken_in_line(desk):
    """A blocked job that the claim takes which frees its slot."""
    first, job = send(desk, limited(), limited())
    desk.claim(finishing=[transition(desk.take_this(first), COMPLETED, desk.now)])
    return job


def first_in_line(desk):
    """A blocked job that becomes the next of its rate."""
    first, job = send(desk, rated(), rated())
    desk.take_this(first)
    return job


def orphaned(desk):
    """A blocked job whose parent dies."""
    parent = desk.run()
    job = desk.send(after(parent.id, then="dead"))
    desk.end(parent, FINAL)
    return job


def paused(outcome, desk):
    """A job that comes back while its type is paused."""
    job = desk.send(limited())
    running = desk.take_this(job)
    if outcome == CRASHED:
        Operator(desk).pause("all")
    desk.end(running, outcome)
    if outcome != CRASHED:
        Operator(desk).pause("all")
        desk.store.retry([job], desk.now, "ada")
    return job


BY_RULES = {
    ("blocked", "running"): taken_in_line, ("scheduled", "blocked"): due, ("queued", "blocked"): displaced, ("blocked", "queued"): let_in,
    ("blocked", "scheduled"): first_in_line, ("blocked", "dead"): orphaned, ("running", "blocked"): partial(paused, CRASHED),
    ("review", "blocked"): partial(paused, REVIEW), ("dead", "blocked"): partial(paused, FINAL),
    ("cancelled", "blocked"): partial(paused, CANCELLED),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after"), states.MOVES)
def test_every_legal_move_can_be_made(desk, before, after):
    by_rules = BY_RULES.get((before, after))
    assert desk.state(by_rules(desk) if by_rules else moved(desk, before, after)) == after


# what a verb does besides -----------------------------------------------------------------------------------------
def test_a_cancelled_job_says_who_and_when(desk):
    job_id = desk.add(keep=5)
    desk.store.cancel([job_id], desk.now, "ada")
    job = desk.job(job_id)
    assert (job.reason, job.finished_at, job.expires_at) == ("cancelled by ada", desk.now, desk.now + 5)
    assert (job.run_at, job.cancel_at) == (None, desk.now)


def test_a_cancel_of_a_running_job_is_told_to_its_worker(desk):
    job, other = desk.run(), desk.run()
    desk.store.cancel([job.id], desk.now, "ada")
    assert desk.store.renew(job.worker, desk.now, 9).cancelling == [(job.id, job.token)]
    assert desk.job(job.id).label == "cancelling"
    assert desk.job(other.id).label == "running"


def test_a_cancelled_job_keeps_when_it_was_asked_until_it_runs_again(desk):
    job, asked = desk.run(), desk.now
    desk.store.cancel([job.id], asked, "ada")
    desk.clock.advance("1300ms")
    desk.store.finish([transition(job._replace(cancelling=True), COMPLETED, desk.now)])
    ended = desk.job(job.id)
    assert (ended.state, ended.cancel_at, ended.finished_at) == ("cancelled", asked, asked + 1_300)
    desk.store.retry([job.id], desk.now, "ada")
    assert desk.job(job.id).cancel_at is None


def test_a_second_cancel_changes_nothing_but_is_noted(desk):
    job = desk.run()
    desk.store.cancel([job.id], desk.now, "ada")
    first = desk.job(job.id)
    desk.clock.advance("1s")
    assert desk.store.cancel([job.id], desk.now, "bob") == {job.id: "cancelling"}
    assert desk.job(job.id) == first
    assert [action.actor for action in desk.store.actions(job.id, 9)] == ["bob", "ada"]


def test_a_cancelled_orphan_ends_as_cancelled(desk):
    desk.join("dying")
    job = desk.run(worker="dying")
    desk.store.cancel([job.id], desk.now, "ada")
    desk.store.deregister("dying")
    (orphan,) = desk.store.orphans(desk.now, 0, 9)
    assert orphan.job.cancelling
    assert desk.end(orphan.job, CRASHED) == "stored"
    assert desk.state(job.id) == "cancelled"


@pytest.mark.parametrize("state", ["dead", "cancelled", "review", "scheduled"])
def test_a_retried_job_starts_afresh(desk, state):
    job_id = desk.bring(state, max_attempts=2)
    desk.clock.advance("500ms")
    desk.store.retry([job_id], desk.now, "ada")
    job = desk.job(job_id)
    assert (job.attempt, job.crashes, job.reason, job.cancel_at, job.finished_at, job.expires_at) == (0, 0, *[None] * 4)
    assert desk.take_this(job_id).attempt == 1


def test_a_job_that_was_cancelled_while_running_can_run_again(desk):
    job = desk.run()
    desk.store.cancel([job.id], desk.now, "ada")
    desk.end(job, CANCELLED)
    desk.store.retry([job.id], desk.now, "ada")
    assert desk.end(desk.take_this(job.id), COMPLETED) == "stored"


def test_a_review_ends_with_the_note_of_the_judge(desk):
    for approve, state, keep in ((True, "completed", desk.now + 5), (False, "dead", None)):
        job_id = desk.bring("review", keep=5)
        desk.store.resolve_review(job_id, approve, desk.now, "ada", "looked at it")
        job = desk.job(job_id)
        assert (job.state, job.reason, job.finished_at, job.expires_at) == (state, "looked at it", desk.now, keep)


def test_a_review_without_a_note_names_the_judge(desk):
    job_id = desk.bring("review")
    desk.store.resolve_review(job_id, False, desk.now, "ada", "")
    assert desk.job(job_id).reason == "rejected by ada"


def test_a_deleted_job_leaves_nothing_but_the_audit(desk):
    job = desk.run(tags=("a", "b"), tenant="t", key="k", lock="work:k")
    desk.store.finish([transition(job, REVIEW, desk.now)], [log(job), progress(job), checkpoint(job)])
    assert desk.store.delete([job.id], desk.now, "ada") == {job.id: "deleted"}
    store = desk.store
    assert (store.get(job.id), store.result(job.id), store.checkpoint(job.id)) == (None, None, None)
    assert (store.attempts(job.id), store.logs(job.id, 0, 9), store.find(job.id, 9)) == ([], [], [])
    (action,) = store.actions(job.id, 9)
    assert (action.action, action.detail["type"], action.detail["from"]) == ("delete", "work", "review")


def test_many_at_once_each_with_its_own_answer(desk):
    queued, running, done = desk.add(priority=-1), desk.bring("running"), desk.bring("completed", priority=1)
    ids = [queued, running, done, "01NONE"]
    assert list(desk.store.cancel(ids, desk.now, "ada").items()) == [
        (queued, "cancelled"), (running, "cancelling"), (done, "ended"), ("01NONE", "missing"),
    ]  # fmt: skip


def test_the_audit_tells_who_did_what_newest_first(desk):
    first, second = desk.add(), desk.add()
    desk.store.cancel([first], desk.now, "ada")
    desk.store.cancel([second], desk.now, "ada")
    desk.clock.advance("1s")
    desk.store.retry([first], desk.now, "bob")
    lines = desk.store.actions(None, 9)
    assert [(line.actor, line.action, line.job) for line in lines] == [
        ("bob", "retry", first), ("ada", "cancel", second), ("ada", "cancel", first),
    ]  # fmt: skip
    assert lines[0].at == desk.now
    assert lines[0].detail == {"from": "cancelled"}
    assert desk.store.actions(None, 1) == lines[:1]
    assert desk.store.actions(first, 9) == [lines[0], lines[2]]


@pytest.mark.parametrize("state", ["running", "review"])
def test_replacing_a_draft_of_a_job_that_has_started_is_refused_loudly(desk, state):
    desk.bring(state, key="k", lock="work:k")
    with pytest.raises(DuplicateKey):
        desk.store.enqueue([draft(key="k", lock="work:k", on_conflict="replace")], desk.now)


@pytest.mark.parametrize("verb", TABLES)
def test_a_nul_in_the_name_of_who_acts_is_refused(desk, verb):
    job = desk.bring("review")
    before = desk.job(job)
    with pytest.raises(UsageError, match="actor= has a NUL character"):
        operate(desk, verb, job, "a\0b")
    assert (desk.job(job), desk.store.actions(job, 9)) == (before, [])


def test_a_nul_in_a_note_is_refused(desk):
    job = desk.bring("review")
    with pytest.raises(UsageError, match="note= has a NUL character"):
        desk.store.resolve_review(job, True, desk.now, "ada", "no\0te")
    assert desk.state(job) == "review"
