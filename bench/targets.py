"""What mainstay is held to, each as a ratio within one run where it can be one."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from .figures import Results, Spread

THREADS, ASYNC, LIMIT, HUEY = "mainstay", "mainstay async", "limit", "huey"


class Target(NamedTuple):
    """A promise: what is measured, the sign, the bound."""

    text: str
    measured: Callable[[Results], Spread | None]
    sign: str
    bound: float
    unit: str = "×"

    def met(self, results: Results) -> bool | None:
        """Whether the median keeps the bound; None when it was not measured."""
        value = self.measured(results)
        if value is None:
            return None
        compare = operator.ge if self.sign == "≥" else operator.le
        return bool(compare(value.median, self.bound))


def ratio(top: tuple[str, str, str], bottom: tuple[str, str, str]) -> Callable[[Results], Spread | None]:
    return lambda results: results.ratio(top, bottom)


def plain(measure: str, contender: str, figure: str) -> Callable[[Results], Spread | None]:
    return lambda results: results.spread(measure, contender, figure)


def _drains(name: str) -> list[Target]:
    """The targets that hold for thread slots and async handlers alike."""
    own = ("drain", name, "rate")
    return [
        Target(f"{name}: drain, 1 process, of the limit", ratio(own, ("drain", LIMIT, "rate")), "≥", 0.5),
        Target(f"{name}: drain, 1 process, of huey", ratio(own, ("drain", HUEY, "rate")), "≥", 15),
        Target(f"{name}: in front of the waiting, of itself", plain("waiting", name, "itself"), "≥", 0.8),
        Target(f"{name}: behind the finished, of itself", plain("finished", name, "itself"), "≥", 0.8),
        Target(f"{name}: 2 processes, of one (5 % is noise)", plain("drain2", name, "itself"), "≥", 0.95),
    ]


def _of_limit(measure: str, figure: str) -> Callable[[Results], Spread | None]:
    return ratio((measure, THREADS, figure), (measure, LIMIT, figure))


TARGETS = [
    *_drains(THREADS),
    *_drains(ASYNC),
    Target("one durable enqueue, time of the limit's", _of_limit("enqueue", "p50"), "≤", 2),
    Target("bulk enqueue, of the limit", _of_limit("bulk", "rate"), "≥", 0.4),
    Target("pickup across processes, p95", plain("pickup", THREADS, "p95"), "≤", 5, " ms"),
    Target("idle worker, share of a core", plain("pickup", THREADS, "idle_cpu"), "≤", 1, " %"),
    Target("worker at rest, resident memory", plain("pickup", THREADS, "idle_rss"), "≤", 45, " MiB"),
    Target("cold enqueue, time of the limit's", _of_limit("cold", "p50"), "≤", 1.5),
]
