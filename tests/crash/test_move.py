"""A whole installation through all three engines, the mover killed halfway in each leg: the end equals the start."""

import pytest

from tests.crash.move import Plan, run

pytestmark = pytest.mark.slow


def test_there_and_back_with_a_kill_in_each_leg(tmp_path):
    journey = run(Plan(jobs=1_500, seed=7, batch=25), tmp_path)
    assert journey.findings == []
    assert [leg.killed_at for leg in journey.legs if not leg.killed_at] == []
    assert journey.claimed > 500
    assert {part: found.rows > 0 for part, found in journey.digests[0].items()} == dict.fromkeys(
        journey.digests[0], True
    )
