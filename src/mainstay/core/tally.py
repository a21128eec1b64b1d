"""What is counted, by minute, type and name: `mainstay stats`, metrics and alerts read these numbers, not the jobs.

Names: what happened to attempts and jobs (`core.counting`), `enqueued`; `r300` and `w300` are the attempts that ran or waited up to 300 ms and
more than the bound before, `rsum` and `wsum` the milliseconds of all, `untimed` the attempts whose time says nothing (released, crashed); `a3` the jobs that ended at their third attempt, `asum` all
attempts after first ones. A number is only ever added to, in the transaction that makes the change which it counts.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Counts = Mapping[tuple[int, str], Mapping[str, int]]  # by minute and type: names and numbers

MINUTE = 60_000
_DECADE = (100, 125, 160, 200, 250, 300, 400, 500, 600, 800)
# Milliseconds. Each is at most a third above the one before, so the middle of a bucket is at most 16 % from any value in it.
# The buckets of `mainstay metrics` are among them. A list that changes makes old rows less exact, and no more than that.
BOUNDS = (
    1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 30, 40, 50, 60, 80,
    *(bound * power for power in (1, 10, 100, 1_000, 10_000, 100_000) for bound in _DECADE if bound * power <= 86_400_000), 86_400_000,
)  # fmt: skip
ATTEMPTS = (1, 2, 3, 4, 5, 7, 10, 15, 25, 100)


class Tally(NamedTuple):
    """How often something happened to jobs of a type in the time that begins at an instant."""

    at: int
    type: str
    name: str
    n: int


def of_jobs(types: Iterable[str], name: str, now: int) -> Counts:
    """Return what jobs of these types add to which the same happened."""
    return {(now // MINUTE, type): {name: n} for type, n in sorted(Counter(types).items())}


# reading --------------------------------------------------------------------------------------------------------------
def histogram(counts: Mapping[str, int], kind: str) -> list[tuple[int, int]]:
    """Return the buckets of a kind (r, w) that have something: their bound and how many, in their order."""
    names = (name for name in counts if name[0] == kind and name[1:].isdecimal())
    return sorted((int(name[1:]), counts[name]) for name in names if counts[name])


def quantile(buckets: Sequence[tuple[int, int]], part: float) -> int | None:
    """Return the milliseconds below which this part of the values lies, at most 16 % wrong; None without values."""
    total = sum(n for _, n in buckets)
    seen = 0
    for bound, n in buckets:
        seen += n
        if seen >= part * total:
            return _middle(bound)
    return None


def _middle(bound: int) -> int:
    """Return the geometric middle of the bucket below a bound; the bound where the bucket has one whole number."""
    place = bisect_left(BOUNDS, bound)
    below = BOUNDS[place - 1] if place else 0
    return bound if bound - below == 1 else round(sqrt(below * bound))


def average(counts: Mapping[str, int], kind: str) -> float | None:
    """Return the mean milliseconds of a kind (r, w); None without values."""
    n = sum(n for _, n in histogram(counts, kind))
    return counts.get(f"{kind}sum", 0) / n if n else None


def attempts(counts: Mapping[str, int]) -> int:
    """Return how many attempts ended."""
    return sum(n for _, n in histogram(counts, "r")) + counts.get("untimed", 0)


def hour_of(minute: int) -> int:
    """Return the first minute of the hour of a minute."""
    return minute - minute % 60
