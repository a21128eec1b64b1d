"""Moving: every row arrives as it was, on every engine; a move that was cut off goes on; neither side runs jobs meanwhile."""

import pytest

from mainstay.core.clock import HOUR
from mainstay.core.errors import Conflict
from mainstay.core.export import PARTS
from mainstay.stores import open_store
from mainstay.stores.move import MoveDiffers, closed, move, reopen
from tests.contract.building import (
    LEASE,
    WORKER,
    Desk,
    keyed,
)
from tests.contract.moving import SMALL, broken_off, digests, furnish, silent


@pytest.fixture
def moved(desk, target):
    """The first store, with everything in it, after a move to the second."""
    furnish(desk)
    before = digests(desk.store)
    assert move(desk.store, target, silent, batch=SMALL) == before
    return before


def test_everything_arrives_as_it_was(desk, target, moved):
    assert digests(target) == moved
    assert {part: found.rows > 0 for part, found in moved.items()} == dict.fromkeys(PARTS, True)
    for row in desk.store.export_rows("jobs", None, 1_000).rows:
        assert target.get(row[0]) == desk.store.get(row[0])
        assert target.attempts(row[0]) == desk.store.attempts(row[0])
        assert target.logs(row[0], 0, 100) == desk.store.logs(row[0], 0, 100)
        assert target.checkpoint(row[0]) == desk.store.checkpoint(row[0])


def test_and_back_into_the_same_engine(moved, target, engine, clock, tmp_path_factory):
    from tests.servers.engines import ENGINES

    with ENGINES[engine](tmp_path_factory.mktemp("back")) as url, open_store(url, clock) as back:
        move(target, back, silent, batch=SMALL)
        assert digests(back) == moved
        desk = Desk(back, clock)
        taken = desk.take(100)
        assert [job.rank for job in taken] == sorted(job.rank for job in taken)
        assert len(taken) >= 3


def test_keys_hold_at_the_target(moved, target, clock):
    for key, until in (("forever", None), ("hour", clock.now() + HOUR), ("start", 0)):
        ((_, created),) = target.enqueue([keyed(key, until)], clock.now())
        assert not created


def test_tokens_only_grow(moved, target, clock):
    before = {row[0]: row[10] for row in target.export_rows("jobs", None, 1_000).rows}
    for job in Desk(target, clock).take(100):
        assert job.token == before[job.id] + 1


@pytest.mark.parametrize("killed_after", [1, 2, 5, 9])
def test_a_move_that_was_cut_off_goes_on(desk, target, killed_after):
    furnish(desk)
    before = digests(desk.store)
    with pytest.raises(ZeroDivisionError):
        move(desk.store, target, broken_off(killed_after), batch=SMALL)
    assert "has not finished" in closed(target)
    copied = []
    move(desk.store, target, lambda doing, part, rows, _: copied.append((doing, part, rows)), batch=SMALL)
    assert digests(target) == before
    assert sum(doing == "copying" for doing, _, _ in copied) < 40


def test_neither_store_runs_jobs_meanwhile_and_the_old_one_not_afterwards(desk, target, moved):
    assert closed(target) is None
    assert "moved to" in closed(desk.store)
    reopen(desk.store)
    assert closed(desk.store) is None


def test_registered_workers_refuse_a_move_unless_told(desk, target):
    desk.add()
    with pytest.raises(Conflict, match="1 worker"):
        move(desk.store, target, silent, clock=desk.clock)
    move(desk.store, target, silent, force=True)
    assert len(target.export_rows("jobs", None, 10).rows) == 1


def test_a_worker_that_died_is_no_hindrance(desk, target):
    job = desk.run()
    desk.outlive()
    move(desk.store, target, silent, clock=desk.clock)
    assert [orphan.job.id for orphan in target.orphans(desk.now, LEASE, 10)] == [job.id]


def test_a_second_move_to_the_same_place_says_that_it_was_done(desk, target, moved):
    with pytest.raises(Conflict, match="already"):
        move(desk.store, target, silent)


def test_a_store_that_is_in_use_is_no_target(desk, target, clock):
    Desk(target, clock).add()
    target.deregister(WORKER)
    desk.store.deregister(WORKER)
    with pytest.raises(Conflict, match="not empty"):
        move(desk.store, target, silent)
    with pytest.raises(Conflict, match="same store"):
        move(target, target, silent)


def test_a_change_during_the_move_is_noticed(desk, target):
    furnish(desk)

    def meddle(doing, part, *_):
        if (doing, part) == ("copying", "logs"):
            desk.add()

    with pytest.raises(MoveDiffers, match="jobs"):
        move(desk.store, target, meddle)
    assert "has not finished" in closed(target)


# What may come in between ---------------------------------------------------------------------------------------------
def test_nothing_moves_too(elsewhere, store):
    found = move_of_nothing(elsewhere, store)
    assert {digest.rows for digest in found.values()} == {0}
    assert closed(store) is None
    assert "moved to" in closed(elsewhere.store)


def move_of_nothing(elsewhere, store):
    elsewhere.store.deregister(WORKER)
    return move(elsewhere.store, store, silent)


def test_a_second_mover_is_told_that_it_is_not_alone(elsewhere, store):
    elsewhere.add()
    rows = elsewhere.store.export_rows("jobs", None, 10).rows
    store.set_setting("move.mark", "first")
    for part, found in (
        ("jobs", rows),
        ("actions", [(1, "a", "b", None, "{}", None)]),
        ("settings", [("a", "b", None, None)]),
    ):
        with pytest.raises(Conflict, match="another move"):
            store.import_rows(part, found, "zeroth", "second")
        assert store.export_rows(part, None, 10).rows == []
    store.import_rows("jobs", rows, "first", "second")
    assert store.setting("move.mark") == "second"
    assert store.export_rows("jobs", None, 10).rows == rows


def test_the_rest_of_another_move_is_not_added_to(elsewhere, store, target):
    elsewhere.add()
    elsewhere.store.deregister(WORKER)
    with pytest.raises(ZeroDivisionError):
        move(elsewhere.store, store, broken_off(2))
    Desk(target, elsewhere.clock).add()
    target.deregister(WORKER)
    with pytest.raises(Conflict, match="another installation"):
        move(target, store, silent)
    assert closed(target) is None, "nothing has been said to a source that is not to move"
    move(elsewhere.store, store, silent)
    assert closed(store) is None


def test_settings_are_kept_and_removed(store):
    assert store.setting("colour") is None
    store.set_setting("colour", "blue")
    store.set_setting("colour", "red")
    assert store.setting("colour") == "red"
    store.set_setting("colour", None)
    assert store.setting("colour") is None
