"""Flow control is exact while processes are killed and paused: `python -m tests.crash.flow` runs this at length."""

import pytest

from tests.crash.flow import BURST, RATE, RUNNING, Plan, early_children, most_running, run, starts, too_fast
from tests.servers.engines import WHEELS
from tests.simulation.history import Record

pytestmark = pytest.mark.slow
ENGINES = ["sqlite", [name for name in WHEELS if name.startswith("postgres")][-1], "valkey"]


@pytest.mark.parametrize("where", ENGINES)
def test_a_limit_and_parents_hold_under_kills_and_pauses_and_no_slot_is_lost(where, tmp_path):
    report = run(Plan(kills=15, stops=4, seed=2, engine=where), tmp_path)
    assert report.findings == []
    assert report.most == RUNNING
    assert report.kills >= 15
    assert report.stops == 4


@pytest.mark.parametrize("where", ENGINES)
def test_no_window_has_more_starts_than_the_rate_permits(where, tmp_path):
    started = starts(where, tmp_path, 150)
    assert len(started) == 150
    assert too_fast(started, RATE, BURST) == []


# the audit itself ---------------------------------------------------------------------------------------------------
def moved(*moves):
    return [Record(n, 0, "engine", "move", "ok", job, 1, {"after": state}) for n, (job, state) in enumerate(moves)]


def test_the_audit_counts_what_runs_at_once():
    moves = moved(("a", "running"), ("b", "running"), ("x", "running"), ("a", "completed"), ("c", "running"))
    assert most_running(moves, {"a", "b", "c"}) == 2
    assert most_running(moves, {"a", "b", "c", "x"}) == 3


def test_the_audit_finds_a_child_that_started_too_early():
    moves = moved(("p", "running"), ("c", "running"), ("p", "completed"))
    assert len(list(early_children(moves, {"c": "p"}))) == 1
    assert list(early_children([moves[0], moves[2], moves[1]], {"c": "p"})) == []


def test_the_audit_finds_a_window_with_too_many_starts():
    assert too_fast([0, 0, 0, 20, 40], rate=50, burst=3) == []
    assert too_fast([0, 0, 0, 19], rate=50, burst=3) == ["4 starts in 19 ms"]
