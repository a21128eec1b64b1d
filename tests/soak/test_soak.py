"""The soak in short, on each kind of engine: `python3 dev.py soak` runs it at length. And tests of its own checks."""

import pytest

from tests.servers.engines import WHEELS
from tests.soak.__main__ import run
from tests.soak.audit import audit
from tests.soak.kinds import RARE, RUNS, WEIGHTS
from tests.soak.sampling import AVAILABLE, MEASURES, Sample, growths

SECONDS = 60
POSTGRES = [name for name in WHEELS if name.startswith("postgres")][-1:]


@pytest.mark.alone
@pytest.mark.timeout(300)
@pytest.mark.skipif(not AVAILABLE, reason="only Linux tells the memory of other processes in /proc")
@pytest.mark.parametrize("store", ["sqlite", *POSTGRES, "valkey"])
def test_nothing_grows_and_no_job_is_lost_stuck_or_run_twice(store, tmp_path):
    report = run(store, tmp_path, SECONDS)
    assert report.problems == []
    assert report.started > report.accepted > 500


# its own checks -------------------------------------------------------------------------------------------------------
def samples(grown, pid=7, role="worker", until=99):
    """A process whose measures grow evenly by so much until that instant, and are flat then."""
    return [Sample(at, pid, role, dict.fromkeys(MEASURES, 100.0 + grown * min(at, until) / until)) for at in range(100)]


def test_what_grows_is_seen_and_what_is_flat_is_not():
    assert not any(growth.too_much for growth in growths(samples(0) + samples(10, pid=8)))
    leaking = [growth for growth in growths(samples(0) + samples(60, pid=8)) if growth.too_much]
    assert {growth.role for growth in leaking} == {"worker 8", "all"}


def test_a_cache_that_fills_is_no_leak_and_a_slow_leak_behind_it_is():
    assert not any(growth.too_much for growth in growths(samples(60, until=40)))
    behind = [each._replace(values={"memory MiB": each.values["memory MiB"] + max(0, each.at - 40)} | dict.fromkeys(MEASURES[1:], 9.0))
              for each in samples(30, until=40)]  # fmt: skip
    assert {(growth.role, growth.measure) for growth in growths(behind) if growth.too_much} == {
        ("worker 7", "memory MiB")
    }


def test_a_process_that_was_there_for_a_part_of_the_time_counts_in_the_sum_only():
    found = growths(samples(0) + samples(0, pid=8)[70:])
    assert {growth.role for growth in found} == {"worker 7", "each other, mean", "all"}
    assert {growth.role for growth in found if growth.too_much} == {"all"}


def line(op, **fields):
    return {"op": op, "item": "a", "job": "J", "token": 1, **fields}


ACCEPTED = {"op": "accepted", "kind": "quick", "items": ["a"]}


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ([ACCEPTED], "lost, it never ran"),
        ([ACCEPTED, line("start"), line("end"), line("start"), line("end")], "token 1 was run twice"),
        ([ACCEPTED, line("start"), line("start", token=2)], "begins while 1 runs"),
        ([ACCEPTED, line("start"), line("end"), line("start", token=2), line("end")], "ran 2 times instead of 1"),
        ([line("start"), line("end")], "never accepted"),
        ([line("start", kind="endless"), line("start", kind="endless", token=2), line("alive")], "still runs beside"),
    ],
)
def test_the_audit_sees_what_is_wrong(lines, problem):
    assert any(problem in found for found in audit(lines))


def test_the_audit_passes_what_is_right():
    assert audit([ACCEPTED, line("start"), line("end")]) == []


def test_the_producer_sends_every_kind():
    assert WEIGHTS.keys() | RARE.keys() == RUNS.keys() - {"child"}
