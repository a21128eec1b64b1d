"""The measure of the pages of the HTTP API."""

import pytest

from bench import pages


@pytest.fixture
def small(monkeypatch):
    for name, number in {"SCHEDULES": 2, "WORKERS": 2, "ACTIONS": 5, "BAR": 60_000}.items():
        monkeypatch.setattr(pages, name, number)


def test_every_page_replies(small, capsys):
    assert pages.main(["--engine", "sqlite", "--jobs", "400", "--rounds", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    called = {line.split()[0].partition("?")[0] for line in lines}
    assert {
        "/api/overview",
        "/api/counts",
        "/metrics",
        "/api/types/t0",
        "/api/schedules/s0",
        "/api/schedules/next",
        "/api/audit.csv",
    } <= called
    assert {line.split()[1] for line in lines} == {"200"}


def test_a_page_that_fails_or_takes_long_is_an_error(small, monkeypatch):
    monkeypatch.setattr(pages, "BAR", 0)
    assert pages.main(["--url", "sqlite:///:memory:", "--rounds", "1"]) == 1
