"""Tests of the hardships: each is met."""

import threading

import pytest

from mainstay.core.ids import Ids
from tests.simulation.hardships import FLOW, HARDSHIPS, OPERATED, TICKING, draw
from tests.simulation.interrupts import Interrupt, at_line, blocked, forked, interrupted
from tests.simulation.world import simulate


@pytest.mark.parametrize("name", [*HARDSHIPS, *FLOW, *TICKING, *OPERATED])
def test_a_world_with_a_hardship_is_the_same_each_time(name):
    one, two = ([*simulate(11, name).history.lines()] for _ in range(2))
    assert (
        next(((number, *pair) for number, pair in enumerate(zip(one, two, strict=False)) if len({*pair}) > 1), None)
        is None
    )
    assert len(one) == len(two)


def test_half_of_the_seeds_have_no_hardship_and_each_hardship_is_drawn():
    drawn = [draw(seed) for seed in range(1_000)]
    assert len([found for found in drawn if not found & HARDSHIPS.keys()]) > 400
    assert len([found for found in drawn if not found & FLOW.keys()]) == 600
    assert frozenset().union(*drawn) == HARDSHIPS.keys() | FLOW.keys() | TICKING.keys() | OPERATED.keys()


# the tools ------------------------------------------------------------------------------------------------------------
def test_a_signal_raises_at_the_line_asked_for():
    lines = []
    at_line(10_000, lambda: Ids().new(5), lambda: lines.append(1))
    assert lines == []
    with pytest.raises(Interrupt):
        interrupted(3, lambda: Ids().new(5))


def test_a_lock_that_nobody_releases_is_seen(monkeypatch):
    monkeypatch.setattr("tests.simulation.interrupts.PATIENCE", 0.2)
    ids = Ids()
    assert blocked(lambda: ids.new(5)) == ""
    ids._lock.acquire()
    assert "for ever" in blocked(lambda: ids.new(5))


def test_a_child_that_hangs_or_fails_is_seen(monkeypatch):
    monkeypatch.setattr("tests.simulation.interrupts.PATIENCE", 0.5)
    lock = threading.Lock()
    assert forked(1, lambda: Ids().new(5), lambda: None) == ""
    assert "ZeroDivisionError" in forked(1, lambda: Ids().new(5), lambda: 1 / 0)
    with lock:
        assert "hangs" in forked(1, lambda: Ids().new(5), lock.acquire)
