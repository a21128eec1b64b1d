"""The bench runs on PostgreSQL and Redis: each measure with the limit and mainstay, and a drain of each installed peer."""

import os

import pytest

from bench.contenders import bullmq, contenders
from bench.engines import FLOW, STORY, UPKEEP, engine
from tests.bench.test_bench_quick import bench

SERVERS = ("postgres", "redis")
OURS = ("limit", "mainstay")
TYPED = ("foreign", "lanes")  # the limit has no types
OWN = (*FLOW, *UPKEEP, *STORY, "schedules", "looks")  # they compare mainstay with itself, in rows of their own
MEASURES = [(name, measure) for name in SERVERS for measure in engine(name).measures if measure not in OWN]


def here(contender):
    """Whether a peer can run without a download."""
    return bullmq.VARIABLE in os.environ if contender.name == "bullmq" else not contender.missing()


PEERS = [(name, one.name) for name in SERVERS for one in contenders(name) if one.name not in OURS and here(one)]


def check(printed, figures, name, measure, fields):
    """Every contender has a row, the counts of every row agree, and the report has a table."""
    rows = [row for row in figures["rows"] if row["contender"] in fields]
    assert {(row["measure"], row["contender"]) for row in rows} == {(measure, field) for field in fields}
    assert all(row["ok"] for row in rows)
    for row in rows:
        if "executions" in row:
            assert row["executions"] == row["distinct"] == row["completed"] == row["expected"] > 0
        else:
            assert row["stored"] == row["expected"] > 0
    assert figures["engine"] == name
    assert "FAILED" not in printed
    assert all(field in printed.partition("after:")[2] for field in fields)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "measure"), MEASURES)
def test_a_measure_counts_what_it_ran(name, measure, tmp_path):
    printed, figures = bench(tmp_path, "--engine", name, "--only", measure, *OURS)
    check(printed, figures, name, measure, ("mainstay",) if measure in TYPED else OURS)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "peer"), PEERS)
def test_a_peer_drains(name, peer, tmp_path):
    printed, figures = bench(tmp_path, "--engine", name, "--only", "drain", peer)
    check(printed, figures, name, "drain", (peer,))
