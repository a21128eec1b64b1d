"""Parents: a job waits until all of them have completed, and does what it asked for if one does not."""

import pytest

from mainstay.core.admission import Known
from mainstay.core.clock import SECOND
from mainstay.core.errors import NotFound
from mainstay.core.outcome import COMPLETED
from tests.contract.building import CANCELLED, FAILED, FINAL, REVIEW, draft, keyed
from tests.contract.ruled import after, limited, ruled, send, states

OTHER = {"default": ["other"]}


def child(*parents, then="cancel", **given):
    return after(*parents, then=then, type="other", **given)


def test_a_child_waits_for_its_parent(desk):
    parent = desk.add()
    job = desk.send(child(parent))
    assert (states(desk, job), desk.job(job).waits) == ("b", "|parents")
    assert desk.take(9, wants=OTHER) == []
    running = desk.take_this(parent)
    assert states(desk, job) == "b"
    desk.end(running)
    assert (states(desk, job), desk.job(job).waits) == ("q", None)
    assert [found.id for found in desk.take(9, wants=OTHER)] == [job]


def test_a_claim_that_finishes_the_parent_takes_the_child(desk):
    from tests.contract.building import transition

    running = desk.run()
    job = desk.send(child(running.id))
    claims = desk.claim(1, wants=OTHER, finishing=[transition(running, COMPLETED, desk.now)])
    assert [found.id for found in claims.jobs] == [job]


def test_a_child_waits_for_all_its_parents(desk):
    parents = [desk.run() for _ in range(3)]
    job = desk.send(child(*(parent.id for parent in parents)))
    for parent in parents[::-1]:
        assert states(desk, job) == "b"
        desk.end(parent)
    assert states(desk, job) == "q"


def test_a_parent_that_retries_has_not_ended(desk):
    parent = desk.run()
    job = desk.send(child(parent.id))
    desk.end(parent, FAILED)
    assert states(desk, job) == "b"
    desk.clock.advance("2s")
    desk.end(desk.take_this(parent.id), REVIEW)
    assert states(desk, job) == "b"
    desk.store.resolve_review(parent.id, approve=True, now=desk.now, actor="me", note="")
    assert states(desk, job) == "q"


def test_a_parent_that_has_completed_holds_nobody_back(desk):
    parent = desk.run()
    desk.end(parent)
    assert states(desk, desk.send(child(parent.id))) == "q"


@pytest.mark.parametrize(("then", "state"), [("cancel", "x"), ("dead", "d"), ("run", "q")])
@pytest.mark.parametrize("how", ["dead", "cancelled", "cancelled by an operator", "deleted", "rejected", "before"])
def test_a_child_does_what_it_asked_for_if_a_parent_does_not_complete(desk, then, state, how):
    if how == "before":
        parent = desk.run()
        desk.end(parent, FINAL)
        job = desk.send(child(parent.id, then=then))
    else:
        parent = desk.add()
        job = desk.send(child(parent, then=then))
        end_otherwise(desk, parent, how)
    assert states(desk, job) == state
    if state != "q":
        known = {"deleted": "deleted", "dead": "dead", "rejected": "dead", "before": "dead"}.get(how, "cancelled")
        parent = parent if isinstance(parent, str) else parent.id
        assert desk.job(job).reason == f"its parent {parent} is {known}"
        assert (desk.job(job).finished_at, desk.job(job).waits) == (desk.now, None)


def end_otherwise(desk, parent, how):
    if how == "deleted":
        desk.store.delete([parent], desk.now, "me")
    elif how == "cancelled by an operator":
        desk.store.cancel([parent], desk.now, "me")
    else:
        running = desk.take_this(parent)
        desk.end(running, {"dead": FINAL, "cancelled": CANCELLED, "rejected": REVIEW}[how])
        if how == "rejected":
            desk.store.resolve_review(parent, approve=False, now=desk.now, actor="me", note="")


def test_a_child_ends_with_the_first_parent_that_does_not_complete(desk):
    one, two = desk.run(), desk.run()
    job = desk.send(child(one.id, two.id))
    desk.end(one, FINAL)
    assert states(desk, job) == "x"
    desk.end(two)
    assert states(desk, job) == "x"


def test_an_end_is_passed_on_from_child_to_child(desk):
    root = desk.add()
    ids = [root]
    for _ in range(6):
        ids.append(desk.send(child(ids[-1])))
    desk.store.cancel([root], desk.now, "me")
    assert states(desk, *ids) == "x" * 7
    assert desk.job(ids[-1]).reason == f"its parent {ids[-2]} is cancelled"


def test_many_children_are_all_let_in(desk):
    parent = desk.run()
    ids = send(desk, *(child(parent.id) for _ in range(700)))
    desk.end(parent)
    taken = [job.id for _ in range(20) for job in desk.take(100, wants=OTHER)]
    assert sorted(taken) == sorted(ids)


def test_many_children_that_wait_for_another_parent_do_not_hide_the_rest(desk):
    first, second = desk.run(), desk.run()
    both = send(desk, *(child(first.id, second.id) for _ in range(600)))
    alone = send(desk, *(child(first.id) for _ in range(600)))
    desk.end(first)
    taken = [job.id for _ in range(20) for job in desk.take(100, wants=OTHER)]
    assert sorted(taken) == sorted(alone)
    assert set(states(desk, *both)) == {"b"}


def test_a_parent_that_does_not_exist_is_refused_and_nothing_is_written(desk):
    good = draft()
    with pytest.raises(NotFound, match="no-such-job"):
        desk.store.enqueue([good, child(desk.add(), "no-such-job")], desk.now)
    assert desk.store.get(good.id) is None
    assert desk.children() == []


def test_a_child_can_be_sent_together_with_its_parent(desk):
    parent = draft()
    parent.id = desk.add()  # an id as producers make them
    desk.store.delete([parent.id], desk.now, "me")
    job = child(parent.id)
    send(desk, parent, job)
    assert states(desk, parent.id, job.id) == "qb"
    desk.end(desk.take_this(parent.id))
    assert states(desk, job.id) == "q"


@pytest.mark.engines("sqlite", "memory", "postgres")
def test_the_end_of_a_parent_looks_at_a_child_only_if_it_may_go_on(desk, monkeypatch):
    """A thousand parents that end one by one would be read half a million times otherwise."""
    parents = [desk.run() for _ in range(60)]
    job = desk.send(child(*(parent.id for parent in parents)))
    looked, look = [], Known._parents
    monkeypatch.setattr(Known, "_parents", lambda *given: looked.append(1) or look(*given))
    for parent in parents[:30]:
        desk.end(parent)
    assert looked == []
    for parent in parents[30:]:
        assert states(desk, job) == "b"
        desk.end(parent)
    assert states(desk, job) == "q"


@pytest.mark.parametrize(("then", "state"), [("cancel", "x"), ("dead", "d")])
def test_the_first_of_many_parents_that_does_not_complete_ends_the_child_at_once(desk, then, state):
    parents = [desk.run() for _ in range(60)]
    job = desk.send(child(*(parent.id for parent in parents), then=then))
    for parent in parents[:5]:
        desk.end(parent)
    desk.end(parents[5], FINAL)
    assert states(desk, job) == state


def test_a_child_that_is_sent_again_changes_nothing(desk):
    parent = desk.run()
    job = child(parent.id)
    desk.send(job)
    assert desk.store.enqueue([job], desk.now) == [(job.id, True)]
    desk.end(parent)
    assert desk.store.enqueue([job], desk.now) == [(job.id, True)]
    assert states(desk, job.id) == "q"


def test_a_scheduled_child_asks_for_its_parents_when_it_is_due(desk):
    parent = desk.run()
    job = desk.send(child(parent.id, run_at=desk.now + SECOND))
    assert states(desk, job) == "s"
    desk.clock.advance("2s")
    desk.promote()
    assert (states(desk, job), desk.job(job).waits) == ("b", "|parents")
    desk.end(parent)
    assert states(desk, job) == "q"


def test_a_scheduled_child_whose_parent_has_died_ends_when_it_is_due(desk):
    parent = desk.run()
    job = desk.send(child(parent.id, run_at=desk.now + SECOND))
    desk.end(parent, FINAL)
    desk.clock.advance("2s")
    desk.promote()
    assert states(desk, job) == "x"


def test_a_child_with_a_limit_takes_a_place_when_its_parents_have_ended(desk):
    parent, holder = desk.run(), desk.send(limited())
    job = desk.send(ruled({"after": "cancel", "limits": [["mail", "", 1]]}, after=(parent.id,)))
    desk.end(parent)
    assert (states(desk, job), desk.job(job).waits) == ("b", "mail\n")
    desk.end(desk.take_this(holder))
    assert states(desk, job) == "q"


def test_a_parent_is_kept_while_a_child_waits(desk):
    parent, other = desk.run(keep=10), desk.run(keep=10)
    job = desk.send(child(parent.id, other.id))
    desk.end(parent)
    desk.clock.advance("1h")
    assert desk.store.prune(desk.now, 100) == 0
    assert states(desk, parent.id) == "c"
    desk.end(other)
    assert states(desk, job) == "q"
    desk.clock.advance("1h")
    assert desk.store.prune(desk.now, 100) == 2
    assert states(desk, parent.id, other.id, job) == "--q"


def test_a_child_that_an_operator_ends_is_done_with_its_parents(desk):
    parent = desk.run(keep=10)
    cancelled, deleted = send(desk, child(parent.id), child(parent.id))
    desk.store.cancel([cancelled], desk.now, "me")
    desk.store.delete([deleted], desk.now, "me")
    desk.end(parent)
    assert states(desk, cancelled, deleted) == "x-"
    desk.clock.advance("1h")
    assert desk.store.prune(desk.now, 100) == 1


def test_a_child_that_ended_with_its_parent_runs_when_an_operator_wants_it(desk):
    parent = desk.run()
    job = desk.send(child(parent.id))
    desk.end(parent, FINAL)
    assert states(desk, job) == "x"
    assert desk.store.retry([job], desk.now, "me") == {job: "queued"}
    assert states(desk, job) == "q"


def test_a_parent_that_an_operator_retries_before_the_child_ended_counts_again(desk):
    parent, other = desk.run(), desk.run()
    job = desk.send(child(parent.id, other.id, then="run"))
    desk.end(parent, FINAL)
    desk.store.retry([parent.id], desk.now, "me")
    desk.end(other)
    assert states(desk, job) == "b"
    desk.end(desk.take_this(parent.id))
    assert states(desk, job) == "q"


def test_a_waiting_child_is_replaced_by_a_newer_draft_with_other_parents(desk):
    one, two = desk.run(), desk.run()
    old = keyed("k", type="other", rules='{"after":"cancel"}', waits="", after=(one.id,))
    desk.send(old)
    new = keyed("k", type="other", rules='{"after":"cancel"}', waits="", after=(two.id,), on_conflict="replace")
    desk.store.enqueue([new], desk.now)
    assert states(desk, old.id) == "b"
    desk.end(one, FINAL)
    assert states(desk, old.id) == "b"
    desk.end(two)
    assert states(desk, old.id) == "q"


def test_a_child_of_a_job_may_wait_for_that_job(desk):
    parent = desk.run()
    born = after(parent.id, type="child")
    desk.end(parent, COMPLETED._replace(children=(born,)))
    assert [desk.state(job) for job in desk.children()] == ["queued"]
