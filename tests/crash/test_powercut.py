"""What was acknowledged survives a power cut at the level that the store states; `python -m tests.crash.powercut` at length."""

import pytest

from tests.crash.powercut import campaign, flawless, telling
from tests.crash.trace import missing

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(missing()), reason=missing() or "nothing is missing")]


def test_at_full_no_acknowledged_job_is_lost_and_no_file_damaged():
    verdicts = campaign("full", 200, seed=3, jobs=600)
    assert flawless(verdicts), [verdict for verdict in verdicts if verdict.lost or verdict.damage]
    assert max(verdict.acked for verdict in verdicts) > 300


def test_at_normal_some_are_lost_or_this_tool_would_prove_nothing():
    assert telling(campaign("normal", 50, seed=3, jobs=600))
