"""Figures: quantiles, and ratios between two runs of the same round."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value such that at least this share of the values is not greater."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


class Spread(NamedTuple):
    """Median, lowest and highest over the rounds."""

    median: float
    low: float
    high: float


def spread(values: Iterable[float]) -> Spread | None:
    """The spread of the values; None if there are none."""
    found = list(values)
    return Spread(statistics.median(found), min(found), max(found)) if found else None


def interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Where the true median lies with 95 % confidence, whatever the distribution; None of fewer than six values."""
    ordered, n = sorted(values), len(values)
    outside = [sum(math.comb(n, i) for i in range(k + 1)) / 2**n for k in range(n // 2)]
    cut = sum(2 * share <= 0.05 for share in outside)  # values to leave out at each end, plus one
    return (ordered[cut - 1], ordered[n - cut]) if cut else None


class Results:
    """All figures of a run: for each measure and contender one dictionary a round."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def add(self, measure: str, contender: str, round: int, figures: dict[str, Any]) -> None:
        self.rows.append({"measure": measure, "contender": contender, "round": round, **figures})

    def of(self, measure: str, contender: str, figure: str) -> dict[int, float]:
        """A figure by round; rounds that failed are left out."""
        return {
            row["round"]: row[figure]
            for row in self.rows
            if (row["measure"], row["contender"]) == (measure, contender) and row["ok"] and row.get(figure) is not None
        }

    def spread(self, measure: str, contender: str, figure: str) -> Spread | None:
        """A figure over the rounds."""
        return spread(self.of(measure, contender, figure).values())

    def ratio(self, top: tuple[str, str, str], bottom: tuple[str, str, str]) -> Spread | None:
        """One figure divided by another, round by round: the state of the machine affects both."""
        return spread(self.ratios(top, bottom).values())

    def ratios(self, top: tuple[str, str, str], bottom: tuple[str, str, str]) -> dict[int, float]:
        """The ratio of two figures by round."""
        above, below = self.of(*top), self.of(*bottom)
        return {round: above[round] / below[round] for round in above if below.get(round)}

    def failures(self) -> list[dict[str, Any]]:
        """The rows whose counts differ, and the runs that did not end."""
        return [row for row in self.rows if not row["ok"]]

    def counts(self, measure: str, contender: str) -> list[str]:
        """Executions, distinct jobs and stored completions of each round."""
        rows = [row for row in self.rows if (row["measure"], row["contender"]) == (measure, contender)]
        return [counted(row) for row in rows]


def counted(row: dict[str, Any]) -> str:
    """The counts of a row as they are printed; FAILED if they differ."""
    if "failure" in row:
        return "FAILED"
    if "executions" in row:
        text = f"{row['executions']}/{row['distinct']}/{row['completed']}"
    else:
        text = f"{row['stored']} of {row['expected']}" if "stored" in row else ""
    return text if row["ok"] else f"FAILED {text} of {row['expected']}"
