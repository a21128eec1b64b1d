"""Pauses: of a queue, a type or all. Nothing of it starts; what it shares with others is free; all goes on when it is over."""

from contextlib import suppress
from unittest.mock import Mock

import pytest

from mainstay.core.outcome import COMPLETED
from mainstay.core.rules import slot
from tests.contract.building import FINAL, transition
from tests.contract.ruled import Operator, after, held, limited, rated, send, states

MAIL = slot("mail", "")
WANTS = {"default": ["work", "other"], "slow": ["work"]}


@pytest.fixture
def operator(desk):
    return Operator(desk)


def taken(desk, limit=9):
    return [job.id for job in desk.take(limit, wants=WANTS)]


@pytest.mark.parametrize(
    ("name", "left"),
    [("all", ""), ("queue:default", "c"), ("type:work", "b"), ("queue:slow", "ab"), ("type:none", "abc")],
)
def test_plain_jobs_of_what_is_paused_stay_queued_and_are_not_claimed(desk, operator, name, left):
    jobs = {"a": desk.add(), "b": desk.add("other"), "c": desk.add(queue="slow")}
    operator.pause(name)
    assert taken(desk) == [jobs[letter] for letter in left]
    rest = [job for letter, job in jobs.items() if letter not in left]
    assert set(states(desk, *rest)) <= {"q"}
    assert taken(desk) == []
    operator.resume(name)
    assert taken(desk) == rest


def test_jobs_are_accepted_and_scheduled_ones_become_due_meanwhile(desk, operator):
    operator.pause("queue:default")
    ids = [desk.add(), desk.add(run_at=desk.now + 10)]
    desk.clock.advance("1s")
    assert taken(desk) == []
    assert states(desk, *ids) == "qq"
    operator.resume("queue:default")
    assert taken(desk) == ids


def test_a_worker_with_many_lanes_leaves_out_the_paused_ones(desk, operator):
    wants = {f"q{n}": [f"t{k}" for k in range(9)] for n in range(9)}
    ids = {name: desk.add(f"t{n}", queue=f"q{n}") for n, name in enumerate("abc")}
    operator.pause("queue:q0")
    operator.pause("type:t2")
    assert [job.id for job in desk.take(9, wants=wants)] == [ids["b"]]


def test_running_jobs_go_on_and_finish(desk, operator):
    job = desk.run()
    operator.pause("all")
    assert desk.end(job) == "stored"


def test_a_paused_type_gives_back_the_places_that_it_shares(desk, operator):
    first, second = desk.send(limited()), desk.send(limited(type="other"))
    assert states(desk, first, second) == "qb"
    operator.pause("type:work")
    assert states(desk, first, second) == "bq"
    assert desk.job(first).waits == "|paused type:work"
    assert held(desk) == {MAIL: (1, 0)}
    operator.resume("type:work")
    assert (states(desk, first), desk.job(first).waits) == ("b", MAIL)
    (job,) = desk.take(9, wants=WANTS)
    desk.end(job)
    assert taken(desk) == [first]


@pytest.mark.parametrize("name", ["all", "queue:default", "type:work"])
def test_the_chore_finishes_a_pause_whose_process_has_ended(desk, operator, monkeypatch, name):
    first, second = desk.send(limited()), desk.send(limited(type="other", queue="slow"))
    with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
        patch.setattr("mainstay.stores.sql.rules.react", Mock(side_effect=KeyboardInterrupt))
        operator.pause(name)
    desk.store.admit(desk.now, 500)
    assert (states(desk, first), desk.job(first).waits) == ("b", f"|paused {name}")
    assert states(desk, second) == ("b" if name == "all" else "q")
    assert desk.store.admit(desk.now, 500) == 0
    operator.resume(name)
    assert "q" in states(desk, first, second)


def test_a_running_job_of_a_paused_type_keeps_its_place(desk, operator):
    first = desk.send(limited())
    job = desk.take_this(first)
    operator.pause("type:work")
    second = desk.send(limited(type="other"))
    assert states(desk, first, second) == "rb"
    desk.end(job)
    assert states(desk, second) == "q"


def test_new_jobs_with_rules_wait_for_the_end_of_a_pause(desk, operator):
    operator.pause("queue:default")
    ids = send(desk, limited(), limited(), rated())
    assert states(desk, *ids) == "bbb"
    assert "|paused queue:default" in {desk.job(job).waits for job in ids}
    assert held(desk).get(MAIL, (0, 0))[0] == 0
    operator.resume("queue:default")
    assert states(desk, *ids) == "qbq"
    assert desk.job(ids[1]).waits == MAIL


def test_a_job_behind_two_pauses_waits_for_both(desk, operator):
    operator.pause("type:work")
    operator.pause("all")
    job = desk.send(limited())
    operator.resume("all")
    assert (states(desk, job), desk.job(job).waits) == ("b", "|paused type:work")
    operator.resume("type:work")
    assert states(desk, job) == "q"


def test_a_pause_while_the_head_of_a_rate_waits(desk, operator):
    first, second = send(desk, rated(), rated())
    desk.take_this(first)
    operator.pause("type:work")
    desk.clock.advance("2s")
    assert taken(desk) == []
    operator.resume("type:work")
    assert taken(desk) == [second]


def test_parents_of_a_paused_child_count_meanwhile(desk, operator):
    parent = desk.run()
    child = desk.send(after(parent.id, type="other"))
    operator.pause("type:other")
    desk.end(parent)
    assert desk.job(child).waits == "|paused type:other"
    operator.resume("type:other")
    assert states(desk, child) == "q"


def test_operators_reach_jobs_that_wait_for_a_pause(desk, operator):
    operator.pause("all")
    ids = send(desk, limited("a"), limited("b"))
    desk.store.cancel(ids[:1], desk.now, "me")
    desk.store.delete(ids[1:], desk.now, "me")
    assert states(desk, *ids) == "x-"
    operator.resume("all")
    assert states(desk, *ids) == "x-"


def test_a_retried_job_waits_for_the_end_of_a_pause(desk, operator):
    job_id = desk.send(limited())
    desk.end(desk.take_this(job_id), FINAL)
    operator.pause("type:work")
    desk.store.retry([job_id], desk.now, "me")
    assert desk.job(job_id).waits == "|paused type:work"
    operator.resume("type:work")
    desk.take_this(job_id)


def test_many_jobs_go_on_after_a_pause(desk, operator):
    operator.pause("type:work")
    ids = send(desk, *(limited(str(n)) for n in range(700)))
    assert taken(desk) == []
    operator.resume("type:work")
    found = []
    for _ in range(20):
        jobs = desk.take(100)
        found += [job.id for job in jobs]
        desk.store.finish([transition(job, COMPLETED, desk.now) for job in jobs])
    assert sorted(found) == sorted(ids)


def test_many_jobs_give_their_places_back(desk, operator):
    ids = send(desk, *(limited(str(n % 400)) for n in range(800)))
    others = send(desk, *(limited(str(n), type="other") for n in range(400)))
    for _ in range(5):
        desk.store.admit(desk.now, 500)
    operator.pause("type:work")
    for _ in range(10):
        desk.store.admit(desk.now, 500)
    assert set(states(desk, *ids)) == {"b"}
    assert set(states(desk, *others)) == {"q"}


def test_a_pause_set_twice_is_one_pause(desk, operator):
    assert operator.pause("all") is None
    assert operator.pause("all").name == "all"
    job = desk.send(limited())
    operator.resume("all")
    assert states(desk, job) == "q"
