"""`--against` compares two commits: each process runs the package of its own commit, and a wrong package is an error."""

from types import SimpleNamespace

import pytest

from bench import against, commits
from bench.engines import Site
from bench.figures import Results, interval
from bench.measures.cold import Program
from bench.processes import Failed, Workers, produce
from bench.scale import PAIRED
from tests.bench.test_bench_quick import bench


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("name", "measures"), [("sqlite", against.MEASURES), ("postgres", ["drain"]), ("redis", ["drain"])]
)
def test_two_commits_are_measured_in_alternating_pairs(name, measures, tmp_path):
    printed, figures = bench(tmp_path, "--engine", name, "--against", "HEAD", "--only", *measures)
    head = figures["against"][:7]
    assert {row["measure"] for row in figures["ratios"]} == set(measures)
    assert all(len(row["this"]) == len(row["other"]) == 2 for row in figures["ratios"])
    assert all(len(row["pairs"]) == 1 for row in figures["ratios"])
    drains = [(row["contender"], row["round"]) for row in figures["rows"] if row["measure"] == "drain"]
    assert drains == [("this", 1), (head, 1), (head, 2), ("this", 2)]
    assert f"this to {head}" in printed
    assert "FAILED" not in printed


@pytest.fixture
def site(tmp_path):
    return Site(str(tmp_path / "jobs.db"), tmp_path / "jobs")


@pytest.fixture
def confused():
    """The side of HEAD, with the package of this working tree first on its path."""
    this, other = commits.sides("sqlite", commits.checkout("HEAD"))
    other.environment = {**other.environment, "PYTHONPATH": this.environment["PYTHONPATH"]}
    return other


def run_producer(side, site):
    produce(side, site, "wake")


def run_worker(side, site):
    with Workers(side, site, 1, 1) as workers:
        workers.run(1)


def run_hook(side, site):
    Program(side, side.cold(site.address)).start()


@pytest.mark.slow
@pytest.mark.parametrize("run", [run_producer, run_worker, run_hook])
def test_a_process_that_imports_the_other_commit_is_an_error(run, confused, site):
    with pytest.raises(Failed, match="imported"):
        run(confused, site)


def test_a_ratio_above_one_means_that_this_commit_is_better():
    results = Results()
    for side, rate, p50 in (("this", 200.0, 1.0), ("other", 100.0, 4.0)):
        for round in (1, 2):
            results.add("drain", side, round, {"ok": True, "rate": rate})
            results.add("pickup", side, round, {"ok": True, "p50": p50})
    ratios = {figure.title: figure.ratios(results, "this", "other") for figure in against.FIGURES}
    assert ratios["drain, jobs/s"] == [2]
    assert ratios["pickup, p50 ms"] == [4]


def test_a_machine_that_becomes_slower_favours_neither_commit():
    results = Results()
    for side, round, rate in (("this", 1, 80.0), ("other", 1, 40.0), ("other", 2, 20.0), ("this", 2, 10.0)):
        results.add("drain", side, round, {"ok": True, "rate": rate})
    drain = next(figure for figure in against.FIGURES if figure.measure == "drain")
    assert drain.ratios(results, "this", "other") == [1]


def test_a_pair_with_a_failed_round_gives_no_ratio():
    results = Results()
    for side, round, ok in (("this", 1, True), ("other", 1, True), ("other", 2, False), ("this", 2, True)):
        results.add("drain", side, round, {"ok": ok, "rate": 1.0})
    drain = next(figure for figure in against.FIGURES if figure.measure == "drain")
    assert drain.ratios(results, "this", "other") == []


def test_a_commit_that_is_not_there_is_named():
    with pytest.raises(SystemExit, match="no-such-commit"):
        commits.checkout("no-such-commit")


def test_the_interval_leaves_out_three_of_fifteen_values_at_each_end():
    assert interval([float(n) for n in range(1, 16)]) == (
        4,
        12,
    )  # 96.5 %; without a fourth at each end it would be 88 %
    assert interval([1.0, 2.0, 3.0, 4.0, 5.0]) is None


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ([1.0] * 15, "met"),
        ([0.9] * 15, "NOT MET"),
        ([0.8] * 7 + [1.1] * 8, "met, uncertain"),
        ([0.8] * 8 + [1.1] * 7, "NOT MET, uncertain"),
    ],
)
def test_a_verdict_that_noise_could_turn_is_uncertain(ratios, verdict):
    results = Results()
    for pair, ratio in enumerate(ratios):
        for round in (2 * pair + 1, 2 * pair + 2):
            results.add("drain", "this", round, {"ok": True, "rate": ratio})
            results.add("drain", "other", round, {"ok": True, "rate": 1.0})
    sides = [SimpleNamespace(name=name) for name in ("this", "other")]
    line = next(line for line in against.report(results, sides, PAIRED) if line.startswith("drain"))
    assert line.split("  15  ")[1].partition(":")[0] == verdict
