"""An action on many jobs is one line of the audit trail, which each of the jobs shows until it is removed; old lines go."""

import pytest

from mainstay.core.bulk import new_bulk
from mainstay.core.clock import DAY
from mainstay.stores import open_store
from tests.contract.moving import arrive

YEAR = 365 * DAY


def lines(desk, job=None, limit=50):
    return [(line.actor, line.action, line.job, line.detail) for line in desk.store.actions(job, limit)]


def test_one_line_for_one_call(desk):
    dead, review, other = desk.bring("dead"), desk.bring("review"), desk.add()
    desk.store.retry([dead, review, other, "01NONE"], desk.now, "ada")
    line = ("ada", "retry", None, {"jobs": 2, "from": {"dead": 1, "review": 1}})
    assert lines(desk) == lines(desk, dead) == lines(desk, review) == [line]
    assert lines(desk, other) == []


def test_one_line_for_all_calls_of_one_bulk_action(desk):
    jobs, bulk = [desk.bring("review") for _ in range(3)], new_bulk()
    for job in jobs:
        desk.store.resolve_review(job, False, desk.now, "ada", "späm", bulk=bulk)
    assert lines(desk) == [("ada", "reject", None, {"jobs": 3, "note": "späm"})]
    assert [lines(desk, job) for job in jobs] == [lines(desk)] * 3


def test_the_lines_of_a_job_are_in_order_newest_first(desk):
    first, second = desk.add(), desk.add()
    desk.store.cancel([first, second], desk.now, "ada")
    desk.store.retry([first], desk.now, "bob")
    desk.store.retry([second], desk.now, "bea")
    desk.store.cancel([first, second], desk.now, "cy")
    desk.store.retry([second], desk.now, "di")
    assert [line[0] for line in lines(desk, first)] == ["cy", "bob", "ada"]
    assert [line[0] for line in lines(desk, second)] == ["di", "cy", "bea", "ada"]
    assert [line[0] for line in lines(desk, first, 2)] == ["cy", "bob"]
    assert [line[0] for line in lines(desk)] == ["di", "cy", "bea", "bob", "ada"]


def test_nothing_changed_leaves_no_line(desk):
    desk.store.cancel([desk.bring("dead"), desk.bring("completed")], desk.now, "ada")
    assert lines(desk) == []


def test_deleted_jobs_leave_one_line_and_nothing_else(desk):
    """The invariants of the store are checked after each test: no reference without its job."""
    jobs, bulk = [desk.add() for _ in range(4)], new_bulk()
    desk.store.cancel(jobs, desk.now, "ada")
    for part in (jobs[:2], jobs[2:]):
        desk.store.delete(part, desk.now, "bob", (), bulk)
    detail = {"jobs": 4, "type": {"work": 4}, "from": {"cancelled": 4}}
    assert lines(desk) == [("bob", "delete", None, detail), ("ada", "cancel", None, {"jobs": 4})]
    assert [lines(desk, job) for job in jobs] == [[]] * 4


def test_retention_removes_references_with_their_jobs(desk):
    jobs = [desk.add(keep=0) for _ in range(2)]
    desk.store.cancel(jobs, desk.now, "ada")
    assert desk.store.prune(desk.now, 9) == 2
    assert lines(desk) == [("ada", "cancel", None, {"jobs": 2})]


def test_old_lines_go_the_oldest_first_and_no_more_than_asked(desk):
    kept, both = desk.add(), [desk.add(), desk.add()]
    desk.store.cancel([kept], desk.now, "ada")
    desk.store.cancel(both, desk.now, "bob")
    desk.clock.advance("1d")
    desk.store.retry([kept, *both], desk.now, "cy")
    assert desk.store.prune_actions(desk.now + YEAR - DAY, YEAR, 9) == 0
    assert desk.store.prune_actions(desk.now + YEAR - DAY + 1, YEAR, 1) == 1
    assert [line[0] for line in lines(desk)] == ["cy", "bob"]
    assert desk.store.prune_actions(desk.now + YEAR - DAY + 1, YEAR, 9) == 1
    assert [[line[0] for line in lines(desk, job)] for job in (None, kept, *both)] == [["cy"]] * 4
    desk.store.cancel([kept, *both], desk.now, "di")
    assert [line[0] for line in lines(desk, kept)] == ["di", "cy"]
    assert desk.store.prune_actions(desk.now + 2 * YEAR, YEAR, 9) == 2
    assert lines(desk) == lines(desk, kept) == []


@pytest.mark.parametrize("pruned", [False, True])
def test_bulk_actions_move_and_go_on(elsewhere, store, clock, tmp_path, pruned):
    """From a SQLite file into this engine, and from there into another file."""
    jobs, bulk = [elsewhere.add() for _ in range(3)], new_bulk()
    elsewhere.store.cancel(jobs, clock.now(), "ada")
    elsewhere.store.retry(jobs[:2], clock.now(), "bob", (), bulk)
    here = arrive(elsewhere, store)
    assert [lines(here, job) for job in (None, *jobs)] == [lines(elsewhere, job) for job in (None, *jobs)]
    if pruned:
        assert store.prune_actions(clock.now() + YEAR + 1, YEAR, 1) == 1
    store.retry(jobs[2:], clock.now(), "bob", (), bulk)
    assert lines(here)[0] == ("bob", "retry", None, {"jobs": 3, "from": {"cancelled": 3}})
    with open_store(f"sqlite:///{tmp_path / 'third.db'}", clock) as third:
        there = arrive(here, third)
        assert [lines(there, job) for job in (None, *jobs)] == [lines(here, job) for job in (None, *jobs)]


def test_where_nothing_can_be_compacted_it_says_what_to_run(desk, engine):
    done = desk.store.compact(lambda *_: None)
    assert bool(done.advice) != engine.startswith("sqlite")
