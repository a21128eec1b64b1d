"""A review is decided once: by a person who may, or by its deadline. What it asks is kept, moved, and seen by the next attempt."""

import json

import pytest

from mainstay import Conflict, Mainstay, NotAllowed, NotFound, Review, UsageError, ctx
from mainstay.core.clock import HOUR, MINUTE, SECOND
from mainstay.core.events import Events
from mainstay.core.outcome import Outcome
from mainstay.core.review import AGAIN, pack, terms, unpack
from mainstay.stores.move import move
from mainstay.upkeep.admit import Expire
from tests.contract.building import CANCELLED, draft
from tests.contract.moving import silent
from tests.contract.ruled import after, states

DECIDED = {"reject": ("dead", "reject"), "approve": ("completed", "approve"), "dead": ("dead", "expire")}


def ask(desk, expires=None, at_deadline="reject", deciders=(), remind=None, result='{"pay":7}', **given):
    """The id of a job that asks for a review."""
    job = desk.run(**given)
    asks = terms(expires, at_deadline, deciders, remind)
    assert desk.end(job, Outcome("review", reason="is this right?", result=result, review=asks)) == "stored"
    return job.id


class Chore:
    """What every worker does each second, with the events that it has emitted."""

    def __init__(self, desk, store=None):
        self.events, self.told = Events(), []
        for name in ("review_reminder", "review_expired"):
            self.events.on(name, lambda name=name, **facts: self.told.append((name, facts["job"])))
        self._step, self._desk = Expire(store or desk.store, self.events).step, desk

    def run(self):
        self._step(self._desk.now)
        told, self.told[:] = list(self.told), []
        return told


def asked(desk, job):
    return unpack(desk.job(job).review)


def test_what_a_review_asks_is_kept(desk):
    job = ask(desk, "2d", "approve", ["ada", "role:editor"], "1h")
    found = asked(desk, job)
    assert (found.question, found.token, found.at) == ("is this right?", 1, desk.now)
    assert (found.expires_at, found.at_deadline) == (desk.now + 48 * HOUR, "approve")
    assert (found.deciders, found.remind, found.remind_at) == (("ada", "role:editor"), HOUR, desk.now + HOUR)
    assert pack(found) == desk.job(job).review


def test_a_job_that_never_asked_has_no_review(desk):
    assert desk.job(desk.add()).review is None


@pytest.mark.parametrize("policy", DECIDED)
def test_the_deadline_decides_once_by_its_policy(desk, another, policy):
    job, chores = ask(desk, "10s", policy), [Chore(desk), Chore(desk, another)]
    desk.clock.advance("9s")
    assert [chore.run() for chore in chores] == [[], []]
    assert desk.state(job) == "review"
    desk.clock.advance("2s")
    assert chores[0].run() + chores[1].run() == [("review_expired", job)]
    state, action = DECIDED[policy]
    (line,) = desk.store.actions(job, 9)
    assert (desk.state(job), line.actor, line.action) == (state, "deadline", action)
    assert "nobody decided by 20" in desk.job(job).reason
    assert desk.store.result(job) == '{"pay":7}'
    assert desk.store.due_reviews(desk.now, 9) == []


def test_rejected_at_the_deadline_says_so_and_dead_does_not(desk):
    jobs = [ask(desk, "1s", policy) for policy in ("reject", "dead")]
    desk.clock.advance("2s")
    Chore(desk).run()
    assert [desk.job(job).reason.startswith("rejected: nobody") for job in jobs] == [True, False]


@pytest.mark.parametrize("verb", ["approve", "reject", "cancel", "retry", "delete"])
def test_a_deadline_does_nothing_to_a_review_that_is_over(desk, verb):
    job = ask(desk, "10s", "dead")
    if verb in ("approve", "reject"):
        desk.store.resolve_review(job, verb == "approve", desk.now, "ada", "")
    else:
        getattr(desk.store, verb)([job], desk.now, "ada")
    before = desk.state(job)
    desk.clock.advance("1h")
    chore = Chore(desk)
    assert chore.run() == [] == chore.run()
    assert desk.state(job) == before
    assert desk.store.due_reviews(desk.now, 9) == []


def test_the_deadline_of_an_earlier_review_does_not_decide_a_later_one(desk):
    job = ask(desk, "10s", "approve")
    desk.store.retry([job], desk.now, "ada")
    desk.end(desk.take_this(job), Outcome("review", reason="and now?"))
    desk.clock.advance("1h")
    assert Chore(desk).run() == []
    assert (desk.state(job), asked(desk, job).question) == ("review", "and now?")


def test_a_decision_about_an_earlier_attempt_is_refused(desk):
    job = ask(desk)
    desk.store.retry([job], desk.now, "ada")
    desk.end(desk.take_this(job), Outcome("review", reason="and now?"))
    assert desk.store.resolve_review(job, True, desk.now, "ada", "", token=1) == AGAIN
    assert desk.store.resolve_review(job, True, desk.now, "ada", "", token=2) == "approved"


def test_a_reminder_comes_once_a_period_from_one_process(desk, another):
    job, chores = ask(desk, "1d", remind="1h"), [Chore(desk), Chore(desk, another)]
    reminder = [("review_reminder", job)]
    for _ in range(3):
        desk.clock.advance("59m")
        assert chores[0].run() + chores[1].run() == []
        desk.clock.advance("1m")
        assert chores[1].run() + chores[0].run() == reminder
    desk.clock.advance("5h30m")  # nobody was there: one reminder, and the next at the full hour
    assert chores[0].run() + chores[1].run() == reminder
    desk.clock.advance("30m")
    assert chores[0].run() == reminder
    desk.clock.advance("1d")
    assert chores[0].run() == [("review_expired", job)]


def test_only_one_of_two_that_have_read_the_same_reminds(desk):
    job = ask(desk, remind="1h")
    was = desk.job(job).review
    then = pack(unpack(was).reminded(desk.now + HOUR))
    assert desk.store.set_review(job, was, then, desk.now + 2 * HOUR)
    assert not desk.store.set_review(job, was, then, desk.now + 2 * HOUR)
    assert desk.store.due_reviews(desk.now + HOUR, 9) == []
    assert [due.id for due in desk.store.due_reviews(desk.now + 2 * HOUR, 9)] == [job]


def test_no_more_are_looked_at_than_asked_for_the_longest_due_first(desk):
    second, first, third = (ask(desk, f"{n}s") for n in (2, 1, 3))
    desk.clock.advance("10s")
    assert [due.id for due in desk.store.due_reviews(desk.now, 2)] == [first, second]
    assert all(due.open and due.now == desk.now for due in desk.store.due_reviews(desk.now, 3))
    Chore(desk).run()
    assert states(desk, first, second, third) == "ddd"


def test_approved_at_the_deadline_children_are_enqueued_and_a_parent_is_completed(desk):
    job = desk.run()
    asks = terms("1s", "approve", (), None)
    desk.end(job, Outcome("review", reason="?", review=asks, children=(draft("child"),)))
    waits = desk.send(after(job.id))
    assert states(desk, waits) == "b"
    desk.clock.advance("2s")
    Chore(desk).run()
    assert (states(desk, job.id, waits), len(desk.children())) == ("cq", 1)


def test_what_waits_for_a_review_goes_on_once_it_is_approved_only(desk):
    approved, rejected = ask(desk), ask(desk)
    children = [desk.send(after(job)) for job in (approved, rejected)]
    assert states(desk, *children) == "bb"
    desk.store.resolve_review(approved, True, desk.now, "ada", "")
    desk.store.resolve_review(rejected, False, desk.now, "ada", "")
    assert states(desk, *children)[0] == "q"
    assert states(desk, *children)[1] in "xd"


def test_reviews_are_listed_oldest_first_page_by_page(desk):
    jobs = [ask(desk) for _ in range(5)]
    desk.add()
    assert desk.store.reviews(9) == jobs
    assert desk.store.reviews(2) == jobs[:2]
    assert desk.store.reviews(2, jobs[1]) == jobs[2:4]
    desk.store.resolve_review(jobs[3], True, desk.now, "ada", "")
    assert desk.store.reviews(9, jobs[3]) == jobs[4:]
    assert desk.store.reviews(9, jobs[4]) == []


# what a decision does -------------------------------------------------------------------------------------------------
def test_an_output_can_be_replaced_and_the_audit_trail_says_what_it_was(desk):
    job = ask(desk)
    reply = desk.store.resolve_review(job, True, desk.now, "ada", "ok", output='{"pay":8}', declared=True)
    assert (reply, desk.store.result(job)) == ("approved", '{"pay":8}')
    (line,) = desk.store.actions(job, 9)
    assert line.detail == {"note": "ok", "declared": True, "before": '{"pay":7}', "after": '{"pay":8}'}


def test_an_output_can_be_given_where_none_was_proposed(desk):
    job = ask(desk, result=None)
    desk.store.resolve_review(job, True, desk.now, "ada", "", output="[1]")
    assert desk.store.result(job) == "[1]"


def test_of_a_large_output_the_audit_trail_keeps_the_ends(desk):
    job = ask(desk, result=json.dumps("ü" * 500_000))
    desk.store.resolve_review(job, True, desk.now, "ada", "", output=json.dumps("x" * 500_000))
    (line,) = desk.store.actions(job, 9)
    assert len(line.detail["before"]) <= 2_000
    assert len(line.detail["after"]) <= 2_000
    assert len(desk.store.result(job)) == 500_002


def test_a_refused_decision_leaves_the_output(desk):
    job = ask(desk)
    desk.store.cancel([job], desk.now, "ada")
    assert desk.store.resolve_review(job, True, desk.now, "ada", "", output="1") == "cancelled"
    assert desk.store.result(job) == '{"pay":7}'


def test_a_retry_keeps_the_note_in_the_audit_trail(desk):
    job = ask(desk)
    desk.store.retry([job], desk.now, "ada", note="use the other account", declared=True)
    (line,) = desk.store.actions(job, 9)
    assert line.detail == {"from": "review", "note": "use the other account", "declared": True}


def test_notes_of_many_are_one_line(desk):
    jobs = [ask(desk), ask(desk)]
    desk.store.retry(jobs, desk.now, "ada", note="again", declared=True)
    (line,) = desk.store.actions(jobs[0], 9)
    assert line.detail == {"jobs": 2, "from": {"review": 2}, "note": "again", "declared": True}


def test_a_nul_in_a_note_changes_nothing(desk):
    job = ask(desk)
    for act in (
        lambda: desk.store.resolve_review(job, True, desk.now, "ada", "a\0b"),
        lambda: desk.store.retry([job], desk.now, "ada", note="a\0b"),
    ):
        with pytest.raises(UsageError, match="NUL"):
            act()
    assert desk.state(job) == "review"
    assert desk.store.actions(None, 9) == []


def test_a_review_survives_a_move(elsewhere, store):
    job = ask(elsewhere, "2d", "approve", ["ada"], "1h")
    over = ask(elsewhere, "1h")
    elsewhere.store.resolve_review(over, True, elsewhere.now, "ada", "")
    elsewhere.store.deregister("w-first")
    move(elsewhere.store, store, silent)
    assert store.get(job) == elsewhere.store.get(job)
    assert store.reviews(9) == [job]
    assert [(due.id, due.open) for due in store.due_reviews(elsewhere.now + HOUR, 9)] == [(job, True), (over, False)]


def test_a_deleted_job_leaves_nothing_of_its_review(desk):
    job = ask(desk, "1h")
    desk.store.delete([job], desk.now, "ada")
    assert desk.store.due_reviews(desk.now + 9 * HOUR, 9) == []


def test_a_cancelled_attempt_asks_nothing(desk):
    job = desk.run()
    desk.store.cancel([job.id], desk.now, "ada")
    assert desk.end(job, Outcome("review", reason="?", review=terms("1s", "approve", (), None))) == "cancelling"
    desk.end(job, CANCELLED)
    assert desk.job(job.id).review is None
    desk.clock.advance("1m")
    assert Chore(desk).run() == []


# the application ------------------------------------------------------------------------------------------------------
@pytest.fixture
def app(store, clock):
    return Mainstay(clock=clock, store=store)


@pytest.fixture
def run(app):
    from mainstay.testing.kit import InlineWorker

    return lambda: InlineWorker(app).drain()


def paying(app, **given):
    """A type that asks before it pays, and pays what the note of the decision says."""
    seen = []

    @app.job
    def pay(amount: int) -> dict[str, int]:
        seen.append(ctx.review)
        if ctx.review is None or ctx.review.note == "":
            raise Review(f"pay {amount}?", output={"paid": amount}, **given)
        return {"paid": int(ctx.review.note)}

    return pay, seen


def test_an_approved_job_has_the_edited_output(app, run):
    handle = paying(app)[0].enqueue(7)
    run()
    assert handle.job().review.question == "pay 7?"
    assert app.approve(handle, "less", output={"paid": 6}, actor="ada") == "approved"
    assert handle.result(0) == {"paid": 6}


@pytest.mark.parametrize("output", [{"paid": "much"}, [1], "x", object()], ids=["value", "list", "text", "object"])
def test_an_output_that_the_return_type_refuses_changes_nothing(app, run, output):
    from mainstay import InvalidPayload

    handle = paying(app)[0].enqueue(7)
    run()
    with pytest.raises(InvalidPayload):
        app.approve(handle, output=output)
    assert (handle.state, handle.job().result) == ("review", {"paid": 7})
    assert app.actions(handle) == []


def test_a_handler_that_runs_again_sees_who_let_it_and_why(app, run):
    pay, seen = paying(app)
    handle = pay.enqueue(7)
    run()
    assert app.retry(handle, "5", actor="ada") == "queued"
    run()
    assert seen == [None, ("pay 7?", "ada", "5")]
    assert (seen[1].question, seen[1].actor, seen[1].note) == seen[1]
    assert handle.result(0) == {"paid": 5}


@pytest.mark.parametrize("verb", ["approve", "reject", "retry"])
def test_only_deciders_decide(app, run, verb):
    handle = paying(app, deciders=["ada", "role:editor"])[0].enqueue(7)
    run()
    decide = getattr(app, verb)
    for who in ({}, {"actor": "bob", "roles": ["reader"]}, {"actor": "role:editor"}, {"actor": "editor"}):
        with pytest.raises(NotAllowed, match="ada or role:editor"):
            decide(handle, **who)
    assert (handle.state, list(app.actions(handle))) == ("review", [])
    assert decide(handle, actor="bob", roles=["editor"]) in ("approved", "rejected", "queued")


@pytest.mark.parametrize(
    ("state", "fix"), [("completed", "copy"), ("dead", "retry"), ("queued", "may ask"), ("running", "may ask")]
)
@pytest.mark.parametrize("verb", ["approve", "reject"])
def test_a_job_that_is_not_in_review_is_not_decided(app, desk, state, fix, verb):
    job = desk.bring(state)
    with pytest.raises(Conflict, match=f"is {state}, not in review: there is nothing to decide; .*{fix}"):
        getattr(app, verb)(job)
    assert desk.state(job) == state
    assert app.actions() == []


def test_reviews_as_data(app, run):
    pay = paying(app, expires="2d", deciders="ada", remind="1h")[0]
    handles = [pay.enqueue(n) for n in range(3)]
    run()
    first, second = app.reviews(2)
    assert [each.id for each in (first, second)] == [handle.id for handle in handles[:2]]
    assert (first.type, first.question, first.deciders, first.at_deadline) == ("pay", "pay 0?", ("ada",), "reject")
    assert (first.expires_at - first.asked_at).days == 2
    assert first.remind.total_seconds() == HOUR / SECOND
    assert [each.id for each in app.reviews(2, after=second.id)] == [handles[2].id]
    with pytest.raises(NotFound, match="without after="):
        app.reviews(2, after="01NONE")


def test_why_says_who_may_decide_and_until_when(app, run):
    handle = paying(app, expires="2d", at_deadline="approve", deciders=["ada", "role:editor"])[0].enqueue(7)
    run()
    (reason,) = app.why(handle).reasons
    assert reason.text.startswith("ada or role:editor decides: pay 7?; approve or reject it by 20")
    assert reason.text.endswith(", otherwise it is approved")
    assert (reason.details["deciders"], reason.details["at_deadline"]) == (("ada", "role:editor"), "approve")


def test_a_reminder_and_a_deadline_come_while_the_kit_drains(app, run, clock):
    told = []
    app.events.on("review_reminder", lambda **facts: told.append(facts["deciders"]))
    handle = paying(app, expires="2h", at_deadline="approve", deciders="ada", remind="1h")[0].enqueue(7)
    run()
    clock.advance(HOUR / SECOND)
    run()
    assert told == [("ada",)]
    clock.advance(HOUR / SECOND + MINUTE / SECOND)
    run()
    assert handle.result(0) == {"paid": 7}
