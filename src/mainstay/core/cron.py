"""Cron expressions: five fields, or six with seconds first, and the rule for daylight saving. The one module that knows cronsim.

Fixed times that a change of the clock leaves out run once right after it, and local times that come twice run the first time.
An expression whose minute or hour begins with `*` runs in real time: whenever the local time fits.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from .errors import UsageError
from .suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

LONGEST = 200  # characters of an expression
WORDS = {
    "@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}  # fmt: skip
# The fields, and for each its lowest and highest number and what else it takes.
FIELDS = {
    "second": (0, 59, ""), "minute": (0, 59, ""), "hour": (0, 23, ""), "day": (1, 31, ", L for the last day"),
    "month": (1, 12, " or JAN-DEC"), "weekday": (0, 7, " or SUN-SAT, 5L, MON#1"),
}  # fmt: skip
HOW = "write five fields, minute hour day month weekday: '0 4 * * *' is 04:00; six begin with seconds; or @daily"
EXAMPLE = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE = 60  # seconds
_NUMBER, _STEP = re.compile(r"\d+"), re.compile(r"/(\d*)")


class Cron:
    """One expression, checked."""

    def __init__(self, text: str) -> None:
        self.text = text
        fields = _fields(text)
        self._seconds, self._rest = _seconds(fields[0]), " ".join(fields[1:])
        if not _fires(self):
            raise UsageError(f"cron={text!r} never fires: no day fits; change the day, the month or the weekday")

    def after(self, instant: int, zone: tzinfo) -> Iterator[int]:
        """Yield the ticks after an instant, in milliseconds. An expression that fits no day for 50 years yields no more."""
        from cronsim import CronSim

        last = instant
        # The minute of the instant may have more seconds.
        start = datetime.fromtimestamp(instant // 1000 - MINUTE, zone)
        for minute in _until_the_end(CronSim(self._rest, start)):
            base = int(minute.timestamp())
            for second in self._seconds:
                tick = (base + second) * 1000
                if tick > last:  # of a repeated hour the second one, and what a gap has joined, are not
                    last = tick
                    yield tick

    @cached_property
    def words(self) -> str:
        """The expression in English."""
        from cronsim import CronSim

        found = CronSim(" ".join(_fields(self.text)), EXAMPLE).explain()
        return found[:1].upper() + found[1:]


def cron(text: str) -> Cron:
    """Return an expression, or raise `UsageError` with what is wrong and how to write it."""
    if not isinstance(text, str):
        raise UsageError(f"cron={text!r:.60}: {HOW}")
    return _cron(text)


_cron = lru_cache(10_000)(Cron)


def _until_the_end(minutes: Iterator[datetime]) -> Iterator[datetime]:
    """Yield minutes until the calendar ends, with the year 9999."""
    with suppress(OverflowError):
        yield from minutes


def _fires(expression: Cron) -> bool:
    from cronsim import CronSimError

    try:
        return next(expression.after(int(EXAMPLE.timestamp() * 1000), UTC), None) is not None
    except CronSimError:  # it says so itself of days that no month has
        return False


def zone(name: str) -> tzinfo:
    """Return a time zone by its name, such as `Europe/Berlin`."""
    from zoneinfo import ZoneInfo, available_timezones

    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError, TypeError, AttributeError):
        known = available_timezones()
        advice = f"no time zone has this name{did_you_mean(str(name)[:LONGEST], known)}; write it as Europe/Berlin"
        raise UsageError(
            f"tz={name!r:.60}: {advice if known else 'this system has no time zones: pip install tzdata'}"
        ) from None


def _fields(text: str) -> list[str]:
    """Return the six fields of an expression, each checked; that of the seconds is 0 where there are five."""
    if len(text) > LONGEST:
        raise UsageError(f"cron={text[:30]!r}… has {len(text):,} characters, {LONGEST} at most: {HOW}")
    given = text.strip().lower()
    if given.startswith("@") and given not in WORDS:
        raise UsageError(f"cron={text!r}{did_you_mean(given, WORDS)}: there are {', '.join(WORDS)}")
    fields = WORDS.get(given, text).upper().split()
    if len(fields) not in (5, 6) or not text.isprintable():
        raise UsageError(f"cron={text!r} has {len(fields)} fields: {HOW}")
    fields = fields if len(fields) == 6 else ["0", *fields]
    for (name, (low, high, more)), field in zip(FIELDS.items(), fields, strict=True):
        if not _fits(name, field, high):
            raise UsageError(f"cron={text!r}: {field!r} is no {name}: {_advice(name, field, low, high)}{more}")
    return fields


def _fits(name: str, field: str, high: int) -> bool:
    """Return whether a field is valid. Numbers and steps are bounded before anything is expanded."""
    from cronsim import cronsim

    if any(len(number) > 4 or int(number) > max(high, 59) for number in _NUMBER.findall(field)) or _too_far(
        field, high
    ):
        return False
    try:
        place = list(FIELDS).index(name)
        found = cronsim.Field(place).parse(field)
    except (cronsim.CronSimError, ValueError, AssertionError, TypeError):
        return False
    return bool(found)


def _too_far(field: str, high: int) -> bool:
    """Return whether a step is longer than the field: `*/90` minutes would mean each full hour."""
    return any(step and int(step[:5]) > high for step in _STEP.findall(field))


def _advice(name: str, field: str, low: int, high: int) -> str:
    if _too_far(field, high) and name in ("second", "minute", "hour"):
        return f"a step goes up to {high}; for longer ones give every=, such as every='90m'. Else: *, */n, a-b, a,b of {low}-{high}"
    return f"*, */n, a-b or a,b of {low}-{high}"


def _seconds(field: str) -> list[int]:
    from cronsim import cronsim

    return sorted(int(second) for second in cronsim.Field(0).parse(field))  # type: ignore[arg-type]
