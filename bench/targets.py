"""The targets of mainstay, as ratios within one run where possible."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from .figures import Results, Spread

THREADS, ASYNC, LIMIT = "mainstay", "mainstay async", "limit"


class Target(NamedTuple):
    """A target: what is measured, the sign, the bound."""

    text: str
    measured: Callable[[Results], Spread | None]
    sign: str
    bound: float
    unit: str = "×"

    def met(self, results: Results) -> bool | None:
        """Whether the median meets the bound; None if it was not measured."""
        value = self.measured(results)
        if value is None:
            return None
        compare = operator.ge if self.sign == "≥" else operator.le
        return bool(compare(value.median, self.bound))


def ratio(top: tuple[str, str, str], bottom: tuple[str, str, str]) -> Callable[[Results], Spread | None]:
    return lambda results: results.ratio(top, bottom)


def plain(measure: str, contender: str, figure: str) -> Callable[[Results], Spread | None]:
    return lambda results: results.spread(measure, contender, figure)


def _drains(name: str, of: dict[str, float]) -> list[Target]:
    """The shares of other contenders' rates that a drain with one process must reach."""
    own = ("drain", name, "rate")
    return [
        Target(f"{name}: drain, 1 process, of {'the ' * (other == LIMIT)}{other}", ratio(own, ("drain", other, "rate")), "≥", least)
        for other, least in of.items()
    ]  # fmt: skip


def _itself(name: str) -> list[Target]:
    """The least rate with long queues and with a second process, as a share of a plain drain."""
    return [
        Target(f"{name}: in front of the waiting, of itself", plain("waiting", name, "itself"), "≥", 0.8),
        Target(f"{name}: behind the finished, of itself", plain("finished", name, "itself"), "≥", 0.8),
        Target(f"{name}: 2 processes, of one (5 % is noise)", plain("drain2", name, "itself"), "≥", 0.95),
    ]


def _of_limit(measure: str, figure: str) -> Callable[[Results], Spread | None]:
    return ratio((measure, THREADS, figure), (measure, LIMIT, figure))


def _pickup(most: float) -> list[Target]:
    return [Target("pickup across processes, p95", plain("pickup", THREADS, "p95"), "≤", most, " ms")]


def _enqueue(most: float) -> list[Target]:
    return [Target("one durable enqueue, time of the limit's", _of_limit("enqueue", "p50"), "≤", most)]


def _both(of: dict[str, float]) -> list[Target]:
    return [*_drains(THREADS, of), *_drains(ASYNC, of)]


_CROWD = Target(
    "a claim of many claimers in a long queue, of one in a short", plain("claimers", THREADS, "slower"), "≤", 3
)
_LANES = [
    Target("behind jobs of a type that the worker lacks, of itself", plain("foreign", THREADS, "itself"), "≥", 0.9),
    Target("a burst over many lanes, time of one lane's", plain("lanes", THREADS, "slower"), "≤", 2),
]
_FLOW = [
    Target("jobs with a limit, of the same without", plain("limited", THREADS, "itself"), "≥", 0.8),
    *(
        Target(f"behind jobs that are {name}, of itself", plain(name, THREADS, "itself"), "≥", 0.9)
        for name in ("blocked", "rated", "paused")
    ),
    Target("last start after a pause", plain("pausing", THREADS, "stops"), "≤", 1_000, " ms"),
    Target("longest write during a pause or a resume", plain("pausing", THREADS, "longest"), "≤", 50, " ms"),
    Target("while dead jobs are retried by a search, of itself", plain("bulk_retry", THREADS, "itself"), "≥", 0.7),
    Target("share of a tenant's many jobs before another's ten", plain("fair", THREADS, "before"), "≤", 1, " %"),
]
_UPKEEP = [
    Target("while finished jobs are removed, of itself", plain("pruning", THREADS, "itself"), "≥", 0.7),
    Target("a removal holds the write lock, p99", plain("pruning", THREADS, "hold_p99"), "≤", 50, " ms"),
]
_LOOKS = [Target("slowest command that only looks, p50", plain("looks", THREADS, "slowest"), "≤", 300, " ms")]
_STORY = [
    Target("five log lines a job, of none", plain("logs", THREADS, "itself"), "≥", 0.5),
    Target("a hundred log lines a job", plain("lines", THREADS, "lines"), "≥", 20_000, " lines/s"),
    Target("one checkpoint a job, of none", plain("saves", THREADS, "itself"), "≥", 0.5),
    Target("the default log level of a worker, of warnings only", plain("worker_log", THREADS, "itself"), "≥", 0.9),
]
_REST = [
    *_LOOKS,
    *_LANES,
    *_FLOW,
    Target(
        "tick of 1,000 schedules until its job is committed, p95", plain("schedules", THREADS, "p95"), "≤", 20, " ms"
    ),
    Target("idle worker with 1,000 schedules, share of a core", plain("schedules", THREADS, "idle_cpu"), "≤", 1, " %"),
    *_UPKEEP,
    *_STORY,
    Target("bulk enqueue, of the limit", _of_limit("bulk", "rate"), "≥", 0.4),
    Target("idle worker, share of a core", plain("pickup", THREADS, "idle_cpu"), "≤", 1, " %"),
]

SQLITE = [
    *_drains(THREADS, {LIMIT: 0.5, "huey": 15}), *_itself(THREADS),
    *_drains(ASYNC, {LIMIT: 0.5, "huey": 15}), *_itself(ASYNC),
    *_enqueue(2), *_pickup(5), *_REST,
    Target("worker at rest, resident memory", plain("pickup", THREADS, "idle_rss"), "≤", 45, " MiB"),
    Target("cold enqueue, time of the limit's", _of_limit("cold", "p50"), "≤", 1.5),
]  # fmt: skip
POSTGRES = [
    *_both({LIMIT: 0.6, "pgqueuer": 1.2, "oban": 8}), *_enqueue(1.5), *_pickup(6), *_REST,
    Target("write-ahead log, enqueued to completed", plain("wal", THREADS, "wal"), "≤", 1_600, " bytes a job"),
    _CROWD,
    Target("a claim while a transaction is held open, of before", plain("held", THREADS, "slower"), "≤", 3),
]  # fmt: skip
REDIS = [*_both({LIMIT: 0.5, "dramatiq": 4, "bullmq": 1.3}), *_enqueue(1.5), *_pickup(3), *_REST, _CROWD]
TARGETS = {"sqlite": SQLITE, "postgres": POSTGRES, "redis": REDIS}
