"""What has moved into an engine is there as it was, in its order, and can be worked with."""

from random import Random

import pytest

from mainstay.core.clock import HOUR, SECOND
from mainstay.core.ids import IDS
from mainstay.stores.move import move
from tests.contract.building import (
    FAILED,
    FINAL,
    LEASE,
    REVIEW,
    WORKER,
    Desk,
    checkpoint,
    draft,
    keyed,
    log,
    progress,
    transition,
)
from tests.contract.moving import SMALL, arrive, digests, furnish, move_on, silent


def test_everything_can_be_worked_with_where_it_arrives(elsewhere, store):
    furnish(elsewhere)
    desk = arrive(elsewhere, store, batch=SMALL)
    for row in elsewhere.store.export_rows("jobs", None, 1_000).rows:
        assert store.get(row[0]) == elsewhere.store.get(row[0])
        assert store.attempts(row[0]) == elsewhere.store.attempts(row[0])
        assert store.actions(row[0], 10) == elsewhere.store.actions(row[0], 10)
    assert store.actions(None, 10) == elsewhere.store.actions(None, 10)
    assert sorted(store.counts(100)) == sorted(elsewhere.store.counts(100))
    assert store.types() == elsewhere.store.types()
    for job in desk.take(100):
        assert desk.end(job) == "stored"
    assert store.prune(desk.now + 1_000 * HOUR, 1_000) > 0


def test_jobs_keep_their_order_though_their_ids_tell_another(elsewhere, store, target):
    ids = [IDS.new(elsewhere.now) for _ in range(25)]
    Random(3).shuffle(ids)
    for n, job in enumerate(ids):  # all of them made at once: only the order of acceptance tells them apart
        elsewhere.send(draft(id=job, priority=-(n % 3), created_at=elsewhere.now))
    elsewhere.store.retry([elsewhere.bring("dead", priority=5) for _ in range(3)], elsewhere.now, "someone")
    wanted = [job.id for job in sorted(elsewhere.store.get_many(ids), key=lambda job: -job.priority)]
    arrive(elsewhere, store, batch=SMALL).store.deregister(WORKER)
    for place in (move_on(store, target), elsewhere.store):
        taken = [job.id for job in Desk(place, elsewhere.clock).take(100)]
        assert taken[3:] == wanted
        assert len(set(taken)) == 28


def test_scheduled_jobs_of_one_instant_keep_their_order(elsewhere, store):
    ids = [IDS.new(elsewhere.now) for _ in range(9)]
    for job in reversed(ids):
        elsewhere.send(draft(id=job, run_at=elsewhere.now + SECOND))
    desk = arrive(elsewhere, store, batch=2)
    desk.clock.move_to(desk.now + SECOND)
    assert [job.id for job in desk.take(100)] == ids[::-1]


def test_extremes_arrive_as_they_were(elsewhere, store):
    largest = (1 << 63) - 1
    odd = draft(
        payload='{"n":"\\ud800","big":9007199254740993,"e":1e400}', tags=("é", "\N{SNOWMAN}", "é", 'a"b\\', "a:b"),
        tenant="", ref="", key="k\u0301:\U0001f600", lock="work:k\u0301:\U0001f600", lock_until=(1 << 53) - 1,
        timeout=largest, keep=None, priority=-1000, max_attempts=2**31 - 1,
    )  # fmt: skip
    endless = draft(keep=largest - (1 << 60), timeout=None, priority=-1000)
    elsewhere.store.enqueue([odd, endless], elsewhere.now)
    job, _ = elsewhere.take(2)
    elsewhere.store.finish([], [log(job, n, "", fields="{}", level="") for n in (0, 1 << 31)])
    elsewhere.store.finish([], [progress(job, -0.0, 1e308, ""), checkpoint(job, '{"a": 1.10, "é":"\\u00e9"}')])
    elsewhere.end(job, FAILED._replace(error="", traceback=None))
    elsewhere.store.cancel([job.id], elsewhere.now, "")
    elsewhere.store.set_setting("", "")
    desk = arrive(elsewhere, store)
    assert desk.job(odd.id) == elsewhere.job(odd.id)
    assert desk.job(endless.id) == elsewhere.job(endless.id)


def test_numbers_that_are_none_do_not_stop_a_move(desk, target):
    for done in (float("nan"), -0.0, float("inf")):
        job = desk.run()
        desk.store.finish([], [progress(job, done, done)])
        desk.end(job)
    desk.store.deregister(WORKER)
    move(desk.store, target, silent)
    assert sorted(str(row[31]) for row in target.export_rows("jobs", None, 10).rows) == ["0.0", "None", "inf"]


@pytest.mark.engines("sqlite", "memory", "redis")  # PostgreSQL keeps no NUL at all
def test_a_nul_is_kept(elsewhere, store):
    job = elsewhere.run(tenant="a\0b", ref="a\1b")
    elsewhere.store.finish([], [log(job, 1, "a\0b")])
    elsewhere.end(job, FINAL._replace(error="a\0b"))
    desk = arrive(elsewhere, store)
    assert desk.job(job.id) == elsewhere.job(job.id)


def test_large_jobs_and_long_logs(elsewhere, store, target):
    large = elsewhere.add(payload=f'"{"é" * (5 << 20)}"')
    elsewhere.add(payload=f'"{"x" * (1 << 20)}"')
    job = elsewhere.run(priority=9)
    elsewhere.store.finish([], [log(job, n, f"line {n}") for n in range(3_000)])
    elsewhere.end(job)
    elsewhere.store.deregister(WORKER)
    move(elsewhere.store, store, silent)
    assert [line.message for line in store.logs(job.id, 2_998, 9)] == ["line 2998", "line 2999"]
    assert len(store.export_rows("jobs", None, 500).rows) == 1, "a parcel is bounded by its size too"
    move(store, target, silent)
    assert target.get(large) == elsewhere.job(large)


def test_jobs_that_ran_are_orphans_where_they_arrive(elsewhere, store):
    waits, stops = elsewhere.run().id, elsewhere.run(timeout=None).id
    elsewhere.store.cancel([stops], elsewhere.now, "someone")
    elsewhere.store.deregister(WORKER)
    move(elsewhere.store, store, silent)
    found = {orphan.job.id: orphan for orphan in store.orphans(elsewhere.now, LEASE, 10)}
    assert found.keys() == {waits, stops}
    assert all(orphan.gone for orphan in found.values())
    assert {job: orphan.job.cancelling for job, orphan in found.items()} == {waits: False, stops: True}
    for orphan in found.values():
        assert store.finish([transition(orphan.job, FINAL, elsewhere.now)]) == ["stored"]


def test_a_key_that_was_let_go_is_taken_again_by_a_retry(elsewhere, store):
    for key, until in (("alive", None), ("start", 0)):
        elsewhere.end(elsewhere.take_this(elsewhere.send(keyed(key, until))), FINAL)
    desk = arrive(elsewhere, store)
    for row in elsewhere.store.export_rows("jobs", None, 10).rows:
        assert store.retry([row[0]], desk.now, "someone") == {row[0]: "queued"}
    for key, until in (("alive", None), ("start", 0)):
        ((_, created),) = store.enqueue([keyed(key, until)], desk.now)
        assert not created


def test_tags_parents_and_keys_are_found_where_they_arrive(elsewhere, store):
    from mainstay.query import parse

    furnish(elsewhere)
    desk = arrive(elsewhere, store)
    for text in ("tag:eu", "tenant:acme", "ref:doc:7", "key:forever", "state:dead", "error:ValueError"):
        terms = parse(text, desk.now)
        found = store.search(terms, 50, None, desk.now).ids
        assert found == elsewhere.store.search(terms, 50, None, desk.now).ids, text
        assert found, text


@pytest.mark.engines("redis")
def test_the_order_of_many_is_found_a_window_at_a_time(elsewhere, store, target, monkeypatch):
    from mainstay.stores.redis import move

    monkeypatch.setattr(move, "WINDOW", 5)
    monkeypatch.setattr(move, "LOOKED", 3)
    ids = [IDS.new(elsewhere.now) for _ in range(37)]
    for job in reversed(ids):
        elsewhere.send(draft(id=job))
    arrive(elsewhere, store, batch=4).store.deregister(WORKER)
    assert digests(move_on(store, target)) == digests(store)
    assert [row[0] for row in target.export_rows("jobs", None, 100).rows] == ids[::-1]


def test_children_of_a_job_in_review_arrive_with_it(elsewhere, store):
    job = elsewhere.run()
    elsewhere.end(job, REVIEW._replace(children=(draft("child", '{"n":1}', tags=("x",), parent=job.id),)))
    desk = arrive(elsewhere, store)
    assert desk.store.resolve_review(job.id, True, desk.now, "me", "") == "approved"
    (child,) = map(desk.job, desk.children())
    assert (child.payload, child.tags, child.parent) == ('{"n":1}', ("x",), job.id)
