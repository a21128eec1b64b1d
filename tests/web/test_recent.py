"""Results that are shared for a moment, and records with more fields."""

import threading
from datetime import datetime
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from mainstay.control.records import Pause
from mainstay.web.extend import extended, extends
from mainstay.web.recent import Recent


@pytest.fixture
def recent(monkeypatch):
    """Results on a clock that the test moves; a result takes ten seconds to make, and is kept for twenty."""
    clock = iter(range(0, 10_000, 10))
    monkeypatch.setattr("mainstay.web.recent.time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr("mainstay.web.recent.LONGEST", 3_600)
    return Recent()


def test_a_result_is_kept_twice_as_long_as_it_took_to_make(recent):
    made = iter(range(10))  # made from 0 to 10: kept until 30
    assert [recent.get("a", lambda: next(made)) for _ in range(4)] == [0, 0, 0, 1]


def test_a_result_is_kept_a_second_at_most(recent, monkeypatch):
    monkeypatch.setattr("mainstay.web.recent.LONGEST", 1)
    made = iter(range(10))
    assert [recent.get("a", lambda: next(made)) for _ in range(3)] == [0, 1, 2]


def test_each_name_has_its_own_result_until_all_are_forgotten(recent):
    made = iter(range(10))
    assert recent.get("a", lambda: next(made)) == 0
    assert recent.get("b", lambda: next(made)) == 1
    recent.forget()
    assert recent.get("a", lambda: next(made)) == 2


def test_an_error_is_not_kept(recent):
    try:
        recent.get("a", lambda: 1 // 0)
    except ZeroDivisionError:
        assert recent.get("a", lambda: 7) == 7
    else:
        raise AssertionError("the error was swallowed")


def test_calls_that_come_meanwhile_wait_for_the_one_that_is_made(monkeypatch):
    monkeypatch.setattr("mainstay.web.recent.TIMES", 10**9)
    recent, begun, may_end, made = Recent(), threading.Event(), threading.Event(), []

    def make():
        made.append(1)
        begun.set()
        assert may_end.wait(30)
        return "made"

    found = []
    threads = [threading.Thread(target=lambda: found.append(recent.get("a", make))) for _ in range(3)]
    threads[0].start()
    assert begun.wait(30)
    for thread in threads[1:]:
        thread.start()
    may_end.set()
    for thread in threads:
        thread.join()
    assert (found, made) == (["made"] * 3, [1])


def test_what_was_made_before_a_change_is_not_kept_behind_it(recent):
    def make():
        recent.forget()  # somebody changes something meanwhile
        return "before"

    assert recent.get("a", make) == "before"
    assert recent.get("a", lambda: "behind") == "behind"


@extends(Pause)
class Longer(NamedTuple):
    """A pause with more."""

    jobs: int


def test_a_record_with_more_fields():
    at = datetime.now().astimezone()
    found = extended(Longer, Pause("type", "a", "ann", at, "why"), jobs=3)
    assert found._asdict() == {"of": "type", "name": "a", "actor": "ann", "at": at, "reason": "why", "jobs": 3}
    assert Longer.__doc__ == "A pause with more."
