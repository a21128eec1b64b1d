"""Statistics: how many jobs came, ran and failed in a time, how long they waited and ran; by type, or as a series for a chart."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.clock import DAY, HOUR, MINUTE, span
from ..core.errors import UsageError
from ..core.suggest import did_you_mean
from ..core.tally import attempts, average, histogram, quantile
from .rules import EPOCH, instant

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime
    from typing import Literal

    from ..core.clock import Clock, Duration
    from ..core.tally import Tally
    from ..stores.contract import Store

    By = Literal["type", "minute", "hour", "day"]

BY = ("type", "hour", "minute", "day")
STEPS = {"minute": MINUTE, "hour": HOUR, "day": DAY}
BY_MINUTE = 2 * HOUR  # the longest time that is read by the minute: older minutes become hours
BARS = 30  # of a trend, at most
MOST = 10_000  # rows of a series
_TREND = (MINUTE, 2 * MINUTE, 5 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY)
COUNTED = ("enqueued", "completed", "failed", "retried", "dead", "cancelled", "snoozed", "released", "review")


class Spread(NamedTuple):
    """How long jobs waited or ran, in seconds; None where no job did. The mean is exact, the others are at most 16 % wrong."""

    mean: float | None
    p50: float | None
    p95: float | None
    p99: float | None
    longest: float | None


class StatsRecord(NamedTuple):
    """What happened to jobs of a type, or to all since `at`. Attempts are counted when they end."""

    type: str | None
    at: datetime | None
    enqueued: int
    attempts: int
    completed: int
    failed: int  # attempts
    retried: int  # of these; the others were the last
    dead: int
    cancelled: int
    snoozed: int
    released: int
    review: int  # a person was asked
    success: float | None  # the part of the attempts that completed, of those that completed or failed
    per_minute: float  # attempts that ended
    wait: Spread  # from when a job was due to when it started
    run: Spread
    trend: tuple[int, ...] = ()  # attempts that ended, in equal steps

    @property
    def ended(self) -> int:
        """How many attempts completed or failed."""
        return self.completed + self.failed


class Stats(NamedTuple):
    """Statistics of a time: `since` and `until` are full minutes, or full hours of a time longer than two hours."""

    since: datetime
    until: datetime
    by: str
    rows: tuple[StatsRecord, ...]


def stats(store: Store, clock: Clock, since: Duration, by: str = "type", types: Sequence[str] = ()) -> Stats:
    """Return the statistics of the last time, by type or as a series."""
    if by not in BY:
        raise UsageError(f'by="{by}" is no way to group statistics{did_you_mean(by, BY)}; there are: {", ".join(BY)}')
    length = _length(since)
    now = clock.now()
    first = _floor(now - length, MINUTE if length <= BY_MINUTE else HOUR)
    if by == "minute" and length > BY_MINUTE:
        raise UsageError('minutes are kept for two hours: give since="2h" or less, or by="hour"')
    step = STEPS.get(by) or trend_step(length)
    if by != "type" and length > MOST * step:
        raise UsageError(f'since="{since}" by {by} has more than {MOST:,} rows: give a shorter time, or by="day"')
    found = store.tallies(first, now + 1, step, types)
    rows = _by_type(found, first, now, step) if by == "type" else _series(found, first, now, step)
    return Stats(_at(first), _at(now), by, tuple(rows))


def hour(store: Store, clock: Clock) -> tuple[list[StatsRecord], list[StatsRecord]]:
    """Return the statistics of the last hour, by type and by minute, from one read."""
    now = clock.now()
    first = _floor(now - HOUR, MINUTE)
    found = store.tallies(first, now + 1, MINUTE)
    return _by_type(found, first, now, MINUTE), _series(found, first, now, MINUTE)


def _at(ms: int) -> datetime:
    return EPOCH + timedelta(milliseconds=ms)


def _length(since: Duration) -> int:
    length = span("since", since)
    if length < MINUTE:
        raise UsageError("since: give a minute or more")
    return length


def trend_step(length: int) -> int:
    """Return the step of a trend over so many milliseconds."""
    steps = [step for step in _TREND if length / step <= BARS and (length <= BY_MINUTE or step >= HOUR)]
    return steps[0] if steps else length // BARS // DAY * DAY + DAY


def _floor(at: int, step: int) -> int:
    return at - at % step


def _by_type(found: Iterable[Tally], first: int, now: int, step: int) -> list[StatsRecord]:
    counts: dict[str, Counter[str]] = {}
    ended: dict[str, Counter[int]] = {}
    for at, type, name, n in found:
        counts.setdefault(type, Counter())[name] += n
        if name in ("completed", "failed"):
            ended.setdefault(type, Counter())[at] += n
    bars, none = range(_floor(first, step), now + 1, step), Counter[int]()
    return [
        _record(type, None, counts[type], now - first)._replace(
            trend=tuple(map(ended.get(type, none).__getitem__, bars))
        )
        for type in sorted(counts)
    ]


def _series(found: Iterable[Tally], first: int, now: int, step: int) -> list[StatsRecord]:
    counts: dict[int, Counter[str]] = {at: Counter() for at in range(_floor(first, step), now + 1, step)}
    for at, _, name, n in found:
        counts.setdefault(at, Counter())[name] += n
    return [_record(None, at, names, min(step, now - at)) for at, names in sorted(counts.items())]


def _record(type: str | None, at: int | None, counts: Mapping[str, int], length: int) -> StatsRecord:
    completed, failed = counts.get("completed", 0), counts.get("failed", 0)
    numbers: dict[str, Any] = {name: counts.get(name, 0) for name in COUNTED}
    return StatsRecord(
        type=type, at=instant(at), attempts=attempts(counts), **numbers,
        success=completed / (completed + failed) if completed + failed else None,
        per_minute=(completed + failed) * MINUTE / max(length, MINUTE),
        wait=spread(counts, "w"), run=spread(counts, "r"),
    )  # fmt: skip


def spread(counts: Mapping[str, int], kind: str) -> Spread:
    """Return how long jobs waited (w) or ran (r)."""
    buckets = histogram(counts, kind)
    times = (average(counts, kind), *(quantile(buckets, part) for part in (0.5, 0.95, 0.99, 1)))
    return Spread(*(None if ms is None else ms / 1000 for ms in times))
