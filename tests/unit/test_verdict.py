"""The sentence about an installation."""

from datetime import UTC, datetime

import pytest

from mainstay.control.findings import Finding
from mainstay.control.health import LEVELS
from mainstay.control.records import Component, Health
from mainstay.control.status import verdict

WORKER = Component("workers", "healthy", "1 worker", {"live": 1})
DEAD = Component("dead letters", "degraded", "17 jobs failed for good: a", {"dead": 17, "groups": 1, "capped": False})
MANY = DEAD._replace(status="unhealthy", figures={"dead": 10_000, "groups": 1, "capped": True})
NONE = Component("workers", "unhealthy", "none is running", {"live": 0})
FEW = Component("workers", "degraded", "1 worker, 5 slots; 2 are wanted", {"live": 1})
SLOW = Component("store", "degraded", "it replies in 300 ms; below 100 is healthy", {"reachable": True})
LATE = Component("queues", "degraded", "a job has been queued for 2h; 1h is healthy", {})


def health(*components):
    worst = max((LEVELS.index(each.status) for each in components), default=0)
    return Health(LEVELS[worst], components, datetime(2026, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("components", "unserved", "said"),
    [
        ([WORKER], [], "Healthy"),
        ([WORKER], ["mail"], "Healthy, but no worker serves mail"),
        ([WORKER, DEAD], ["mail"], "Degraded: no worker serves mail; 17 dead"),
        ([NONE, MANY], ["mail"], "Unhealthy: no worker is running; at least 10,000 dead"),
        ([FEW], list("abcde"), "Degraded: no worker serves a, b, c and 2 more; only 1 worker"),
        ([SLOW, LATE], [], "Degraded: store: it replies in 300 ms; a job has been queued for 2h"),
    ],
)
def test_the_sentence(components, unserved, said):
    assert verdict(health(*components), unserved, []) == said


def test_findings_of_a_healthy_installation():
    found = [Finding("the type a is paused", ""), Finding("the type b is paused", ""), Finding("c", "")]
    assert verdict(health(WORKER), [], found[:1]) == "Healthy, but the type a is paused"
    assert verdict(health(WORKER), [], found) == "Healthy, but the type a is paused, and 2 more findings"
    queue = Finding("2 jobs wait, but no live worker serves the queue b", "")
    assert verdict(health(WORKER), [], [queue]) == f"Healthy, but {queue.text}"
    missed = Finding("1 job of x waits, but no live worker serves that type", "")
    assert verdict(health(WORKER), ["x"], [missed]) == "Healthy, but no worker serves x"
    assert verdict(health(WORKER), ["x"], found[:1]) == "Healthy, but no worker serves x, and 1 more finding"
