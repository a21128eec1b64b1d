"""The report of `--against`: the ratio of this commit to another, measure by measure, as the median over alternating pairs.

Each round measures both commits, one right after the other or in turns, and gives one ratio: more than 1 means that this commit is
better, whatever the unit. Who goes first changes with each round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .figures import spread
from .report import failures, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .contenders import Contender
    from .figures import Results, Spread
    from .scale import Scale

LEAST = 0.97


class Figure(NamedTuple):
    """What is compared in a measure. `bounded`: its ratio must be `LEAST` or more."""

    measure: str
    title: str
    name: str
    more_is_better: bool
    bounded: bool = True

    def ratio(self, results: Results, this: str, other: str) -> Spread | None:
        """This commit to the other, pair by pair."""
        own, others = (self.measure, this, self.name), (self.measure, other, self.name)
        return results.ratio(own, others) if self.more_is_better else results.ratio(others, own)


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
    found = [(figure, figure.ratio(results, this, other)) for figure in FIGURES]
    return [
        {
            "measure": figure.measure, "figure": figure.title, "ratio": ratio._asdict(),
            "this": _values(results, figure, this), "other": _values(results, figure, other),
            "met": ratio.median >= LEAST if figure.bounded else None,
        }
        for figure, ratio in found if ratio is not None
    ]  # fmt: skip


def report(results: Results, sides: Sequence[Contender], scale: Scale) -> Iterator[str]:
    """The table, and every run that failed."""
    this, other = (side.name for side in sides)
    yield f"{this} to {other}, more than 1: {this} is better; wanted {LEAST} or more"
    yield f"{'':22}  {this:26}  {other:26}  {'ratio':21}  pairs"
    for row in compared(results, sides):
        values = f"{shown(spread(row['this'])):26}  {shown(spread(row['other'])):26}"
        yield f"{row['figure']:22}  {values}  {_exact(row['ratio']):21}  {min(len(row['this']), len(row['other'])):5}  {_verdict(row, scale)}".rstrip()
    yield from failures(results)


def _values(results: Results, figure: Figure, side: str) -> list[float]:
    return list(results.of(figure.measure, side, figure.name).values())


def _exact(ratio: dict[str, float]) -> str:
    """Three decimals: 0.967 must not read as 0.97."""
    return f"{ratio['median']:.3f} ({ratio['low']:.3f}–{ratio['high']:.3f})"


def _verdict(row: dict[str, Any], scale: Scale) -> str:
    if row["met"] is None:
        return ""
    if not scale.conclusive:
        return "too few jobs for a verdict"
    return "met" if row["met"] else "NOT MET"
