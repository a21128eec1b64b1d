"""Time as the rest of mainstay sees it: whole milliseconds since the epoch, read from a clock that is passed in.

Nothing outside this module asks the operating system for the time, so the tests and the simulator can move it.
"""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta
    from typing import Protocol

    class Clock(Protocol):
        """A source of the time."""

        def now(self) -> int:
            """Return the milliseconds since the epoch."""
            ...

    Duration = str | int | float | timedelta

MILLISECOND, SECOND, MINUTE, HOUR, DAY = 1, 1_000, 60_000, 3_600_000, 86_400_000
UNITS = {"ms": MILLISECOND, "s": SECOND, "m": MINUTE, "h": HOUR, "d": DAY, "w": 7 * DAY}


class SystemClock:
    """The wall clock of this machine."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> int:
        """Return milliseconds that pass evenly, whoever sets the clock; a suspended machine's time does not count."""
        return time.monotonic_ns() // 1_000_000


def monotonic(clock: Clock) -> Callable[[], int]:
    """Return what measures durations by this clock. A clock of a test that has no monotonic time measures by `now`."""
    return getattr(clock, "monotonic", clock.now)


class ManualClock:
    """A clock that stands still until it is moved."""

    def __init__(self, now: int = 1_750_000_000_000) -> None:
        self._now = now

    def now(self) -> int:
        return self._now

    def advance(self, duration: Duration) -> int:
        """Move forward and return the new time."""
        self._now += milliseconds(duration)
        return self._now

    def move_to(self, now: int) -> None:
        """Jump to an instant, forward or back."""
        self._now = now


def milliseconds(duration: Duration) -> int:
    """Return a duration as whole milliseconds: seconds as a number, `"90s" "5m" "2h" "3d" "250ms" "1h30m"`, or a timedelta."""
    if isinstance(duration, str):
        return _parse(duration)
    if hasattr(duration, "total_seconds"):
        return _checked(duration.total_seconds(), duration)
    if isinstance(duration, bool) or not isinstance(duration, (int, float)):
        raise _bad(duration)
    return _checked(duration, duration)


def _checked(seconds: float, given: Duration) -> int:
    if not 0 <= seconds < 1e11:  # refuses negative, inf and nan (nan compares false)
        raise _bad(given)
    return round(seconds * 1000)


def _parse(text: str) -> int:
    total, number = 0.0, ""
    rest = text.strip().replace(" ", "")
    while rest:
        digits = len(rest) - len(rest.lstrip("0123456789."))
        number, rest = rest[:digits], rest[digits:]
        letters = len(rest) - len(rest.lstrip("abcdefghijklmnopqrstuvwxyz"))
        unit, rest = rest[:letters], rest[letters:]
        if unit not in UNITS or not number or number.count(".") > 1 or number == ".":
            raise _bad(text)
        total += float(number) * UNITS[unit]
    if not number:
        raise _bad(text)
    return _checked(total / 1000, text)


def _bad(given: object) -> ValueError:
    return ValueError(f'{given!r} is not a duration: write seconds as a number, or "250ms", "90s", "5m", "2h", "3d"')


def human(ms: int) -> str:
    """Return a duration for people: two units at most, `1h 05m`, `12s`, `350ms`."""
    if ms < 0:
        return "-" + human(-ms)
    if ms < SECOND:
        return f"{ms}ms"
    if ms < 10 * SECOND:
        return f"{ms / 1000:.1f}s"
    if ms < MINUTE:
        return f"{ms // SECOND}s"
    if ms < HOUR:
        return f"{ms // MINUTE}m {ms % MINUTE // SECOND:02}s"
    if ms < DAY:
        return f"{ms // HOUR}h {ms % HOUR // MINUTE:02}m"
    return f"{ms // DAY}d {ms % DAY // HOUR:02}h"


def iso(ms: int) -> str:
    """Return an instant as ISO 8601 in UTC, to the millisecond."""
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ms // 1000))
    return f"{whole}.{ms % 1000:03}Z"
