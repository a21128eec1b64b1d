"""The report of `--against`: the ratio of this commit to another, measure by measure, as the median over alternating pairs.

A pair is two rounds: this commit and the other, then the other and this commit. So neither the order nor a machine that becomes slower
favours one of them. Each pair gives one ratio: more than 1 means that this commit is better, whatever the unit.
"""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, Any, NamedTuple

from .figures import interval, spread
from .report import failures, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .contenders import Contender
    from .figures import Results
    from .scale import Scale

LEAST = 0.97
ROUNDS = 2  # of a pair


class Figure(NamedTuple):
    """What is compared in a measure. `bounded`: its ratio must be `LEAST` or more."""

    measure: str
    title: str
    name: str
    more_is_better: bool
    bounded: bool = True

    def ratios(self, results: Results, this: str, other: str) -> list[float]:
        """This commit to the other, pair by pair: the geometric mean of the two rounds. A pair with a failure is left out."""
        own, others = (self.measure, this, self.name), (self.measure, other, self.name)
        found = results.ratios(own, others) if self.more_is_better else results.ratios(others, own)
        return [math.sqrt(found[n] * found[n + 1]) for n in found if n % ROUNDS == 1 and n + 1 in found]


# Medians of calls rather than rates where the disk decides: one slow fsync moves a rate, not a median.
FIGURES = [
    Figure("enqueue", "enqueue, p50 ms", "p50", more_is_better=False),
    Figure("bulk", "bulk, jobs/s", "rate", more_is_better=True),
    Figure("drain", "drain, jobs/s", "rate", more_is_better=True),
    Figure("drain", "… worker CPU µs/job", "cpu", more_is_better=False, bounded=False),
    Figure("drain", "… server CPU µs/job", "server", more_is_better=False, bounded=False),
    Figure("pickup", "pickup, p50 ms", "p50", more_is_better=False),
    Figure("cold", "cold enqueue, p50 ms", "p50", more_is_better=False),
]
MEASURES = tuple(dict.fromkeys(figure.measure for figure in FIGURES))


def compared(results: Results, sides: Sequence[Contender]) -> list[dict[str, Any]]:
    """For each figure that was measured: both sides, the ratio, whether it is met."""
    this, other = (side.name for side in sides)
    found = [(figure, figure.ratios(results, this, other)) for figure in FIGURES]
    return [
        {
            "measure": figure.measure, "figure": figure.title, "pairs": ratios, "ratio": statistics.median(ratios),
            "this": _values(results, figure, this), "other": _values(results, figure, other),
            "interval": interval(ratios), "met": statistics.median(ratios) >= LEAST if figure.bounded else None,
        }
        for figure, ratios in found if ratios
    ]  # fmt: skip


def report(results: Results, sides: Sequence[Contender], scale: Scale) -> Iterator[str]:
    """The table, and every run that failed."""
    this, other = (side.name for side in sides)
    yield f"{this} to {other}, more than 1: {this} is better; wanted {LEAST} or more"
    yield f"{'':22}  {this:26}  {other:26}  {'ratio':21}  {'95 % interval':13}  pairs"
    for row in compared(results, sides):
        values = f"{shown(spread(row['this'])):26}  {shown(spread(row['other'])):26}"
        yield f"{row['figure']:22}  {values}  {_exact(row['pairs']):21}  {_range(row['interval']):13}  {len(row['pairs']):5}  {_verdict(row, scale)}".rstrip()
    yield from failures(results)


def _values(results: Results, figure: Figure, side: str) -> list[float]:
    return list(results.of(figure.measure, side, figure.name).values())


def _exact(ratios: list[float]) -> str:
    """Three decimals: 0.967 must not read as 0.97."""
    return f"{statistics.median(ratios):.3f} ({min(ratios):.3f}–{max(ratios):.3f})"


def _range(interval: tuple[float, float] | None) -> str:
    return "–" if interval is None else f"{interval[0]:.3f}–{interval[1]:.3f}"


def _verdict(row: dict[str, Any], scale: Scale) -> str:
    if row["met"] is None:
        return ""
    if not scale.conclusive:
        return "too few jobs for a verdict"
    low, high = row["interval"] or (0.0, math.inf)
    uncertain = ", uncertain: measure more pairs, or on an idle machine" if low < LEAST <= high else ""
    return ("met" if row["met"] else "NOT MET") + uncertain
