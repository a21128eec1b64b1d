"""The crash campaign in short: `python -m tests.crash.campaign` runs it at length."""

import pytest

from tests.crash.campaign import Plan, run

pytestmark = pytest.mark.slow


def test_killed_and_paused_processes_lose_nothing_and_record_nothing_twice(tmp_path):
    report = run(Plan(kills=40, stops=10, seed=2), tmp_path)
    assert report.findings == []
    assert report.figures["SIGKILLs"] >= 40
    assert report.figures["SIGSTOPs past the lease"] == 10
    assert report.figures["started again after a fault"] > 0
    assert report.figures["leases lost"] > 0


def test_the_campaign_catches_a_finish_without_its_token_guard(tmp_path):
    seeds = (tmp_path / str(seed) for seed in range(3))
    assert any(caught(folder, "unfenced", stops=8)["recorded twice"] for folder in seeds)


def test_the_campaign_catches_a_store_that_forgets(tmp_path):
    assert caught(tmp_path / "only", "forgetful", kills=15)["lost"] > 0


def caught(folder, broken, kills=0, stops=0):
    folder.mkdir()
    return run(Plan(kills, stops, seed=len(folder.name), broken=broken), folder).figures
