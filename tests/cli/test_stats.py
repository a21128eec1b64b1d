"""`stats`, `history` and `metrics`: numbers of what happened, for people and for programs."""

import json

import pytest

from mainstay.cli.stats import percent, sparkline
from mainstay.control.stats import spread
from tests.cli.shop import FAILED, Shop


@pytest.fixture
def shop(app):
    return Shop(app)


@pytest.fixture
def busy(shop):
    """Three jobs that completed, one that died, and one that waits for its next attempt."""
    shop.join()
    for _ in range(3):
        shop.end()
    shop.dead()
    shop.end(FAILED)
    return shop


def test_stats_by_type(run, busy):
    names, mail = run("stats").out.splitlines()
    assert names.split()[:6] == ["TYPE", "TREND", "DONE", "FAILED", "DEAD", "OK"]
    assert mail.split()[0] == "mail"
    assert mail.split()[2:6] == ["3", "2", "1", "60.0%"]


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120])
def test_stats_fit_into_a_terminal(terminal, url, busy, width):
    seen = terminal("stats", "--url", url, env={"NO_COLOR": "1", "COLUMNS": str(width)})
    names, mail = seen.out.splitlines()
    assert (names.split()[0], mail.split()[0]) == ("TYPE", "mail")
    assert max(map(len, (names, mail))) <= max(width, 60)


@pytest.mark.parametrize("by", ["minute", "hour", "day"])
def test_stats_as_a_series_show_when_something_happened(run, busy, by):
    names, *rows = run("stats", "--by", by).out.splitlines()
    assert names.split()[:2] == [by.upper(), "DONE"]
    assert sum(int(row.split()[1]) for row in rows) == 3


def test_stats_for_programs(run, busy):
    (record,) = json.loads(run("stats", "--json", "--since", "1h").out)
    assert (record["type"], record["attempts"], record["completed"], record["failed"]) == ("mail", 5, 3, 2)
    assert record["run"].keys() == {"mean", "p50", "p95", "p99", "longest"}
    assert sum(record["trend"]) == 5
    assert run("stats", "-q").out == "mail\n"
    series = json.loads(run("stats", "--json", "--by", "minute", "--since", "5m").out)
    assert len(series) in (5, 6, 7)
    assert sum(each["completed"] for each in series) == 3


def test_the_longest_run_is_shown(run, busy, monkeypatch):
    assert spread({"r2000": 5, "r100000": 1}, "r").longest == pytest.approx(90, rel=0.16)
    monkeypatch.setenv("COLUMNS", "200")
    assert run("stats").out.splitlines()[0].split()[-1] == "LONGEST"


def test_stats_of_types(run, busy):
    assert run("stats", "mail").out == run("stats").out
    other = run("stats", "mial")
    assert (other.code, other.out, other.err) == (0, "", "nothing happened in the last 24h to jobs of mial\n")


@pytest.mark.parametrize(
    "words", [("--since", "1x"), ("--since", "3s"), ("--by", "minute", "--since", "1d"), ("--by", "week")]
)
def test_what_stats_cannot_show_is_refused(run, busy, words):
    assert run("stats", *words).code == 2


def test_history_lists_what_ended_last_first_and_page_by_page(run, busy):
    first = run("history", "1h", "-n", "3", "-q")
    whole = run("history", "-q").out.splitlines()
    assert (len(whole), first.out.splitlines()) == (4, whole[:3])
    told = run("history", "1h", "-n", "3").err
    after = told.split("--after ")[1].strip()
    assert run("history", "1h", "-n", "3", "-q", "--after", after).out.splitlines() == whole[3:]
    assert run("history", "1h", "--after", "nowhere").code == 2


def test_history_of_a_search(run, busy):
    (record,) = json.loads(run("history", "1h", "state:dead", "--json").out)
    assert (record["state"], record["type"]) == ("dead", "mail")
    assert run("history", "1h", "type:other").err.startswith("no job ended in the last 1h")
    assert run("history", "soon").code == 2


def test_metrics_are_printed(run, busy):
    out = run("metrics").out
    assert 'mainstay_jobs_total{type="mail",status="completed"} 3\n' in out
    assert 'mainstay_queue_depth{type="mail",state="retrying"} 1\n' in out


@pytest.mark.parametrize(
    ("part", "shown"), [(None, "–"), (0, "0%"), (1, "100%"), (0.99999, "99.9%"), (0.00001, "0.1%"), (0.5, "50.0%")]
)
def test_a_part_is_never_rounded_to_all_or_nothing(part, shown):
    assert percent(part) == shown


def test_a_sparkline_shows_every_number_above_zero():
    assert sparkline((0, 1, 500, 1_000)) == "▁▂▅█"
    assert sparkline((0, 0)) == sparkline(()) == ""
