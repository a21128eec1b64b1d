"""Each tick has one job while processes are killed and paused: `python -m tests.crash.schedules` runs this at length."""

import pytest

from tests.crash.schedules import Plan, audit, run
from tests.servers.engines import WHEELS

ENGINES = ["sqlite", [name for name in WHEELS if name.startswith("postgres")][-1], "valkey"]


@pytest.mark.slow
@pytest.mark.parametrize("where", ENGINES)
def test_each_tick_has_one_job_under_kills_and_pauses(where, tmp_path):
    report = run(Plan(ticks=1_500, seed=2, engine=where), tmp_path)
    assert report.findings == []
    assert report.ticks >= 1_500
    assert report.kills >= 5
    assert report.stops >= 2


# the audit itself ---------------------------------------------------------------------------------------------------
def test_the_audit_finds_what_is_missing_and_what_is_there_twice():
    assert audit("a", [1_000, 2_000, 3_000], []) == []
    assert audit("a", [1_000, 3_000], []) == ["a has no job for 1 ticks, the first is 2000"]
    assert audit("a", [1_000, 3_000], [(1_500, 2_500)]) == []
    assert audit("a", [1_000, 1_000, 2_000], []) == ["a has two jobs for the tick 1000"]
    assert audit("a", [], []) == ["a has no job"]
