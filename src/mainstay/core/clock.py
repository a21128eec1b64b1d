"""Time as the rest of mainstay sees it: whole milliseconds since the epoch, read from a clock that is passed in.

Nothing outside this module asks the operating system for the time, so the tests and the simulator can move it.
"""

from __future__ import annotations

import re
import time

from .errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta
    from typing import Protocol

    class Clock(Protocol):
        """A source of the time."""

        def now(self) -> int:
            """Return the milliseconds since the epoch."""

    Duration = str | int | float | timedelta

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
UNITS = {"ms": 1, "s": SECOND, "m": MINUTE, "h": HOUR, "d": DAY, "w": 7 * DAY}
_PART = r"([0-9]+\.?[0-9]*|\.[0-9]+)(ms|[smhdw])"


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
    seconds: object = duration
    if isinstance(duration, str):
        text = duration.strip().replace(" ", "")
        parts = re.findall(_PART, text) if re.fullmatch(f"({_PART})+", text) else None
        seconds = parts and sum(float(number) * UNITS[unit] for number, unit in parts) / 1000
    elif hasattr(duration, "total_seconds"):
        seconds = duration.total_seconds()
    # The comparison refuses negative, inf and nan (nan compares false).
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 <= seconds < 1e11:
        how = 'write seconds as a number, or "250ms", "90s", "5m", "2h", "3d"'
        raise ValueError(f"{duration!r} is not a duration: {how}")
    return round(seconds * 1000)


def span(name: str, value: Duration) -> int:
    """Return a duration in milliseconds; raise `UsageError` with its name for what is none."""
    try:
        return milliseconds(value)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{name}: {error}") from None


def human(ms: int) -> str:
    """Return a duration for people: two units at most, `1h 05m`, `12s`, `350ms`."""
    if ms < 0:
        return "-" + human(-ms)
    for unit, lesser in ("dh", "hm", "ms"):
        if ms >= UNITS[unit]:
            return f"{ms // UNITS[unit]}{unit} {ms % UNITS[unit] // UNITS[lesser]:02}{lesser}"
    if ms >= 10 * SECOND:
        return f"{ms // SECOND}s"
    return f"{ms / 1000:.1f}".removesuffix(".0") + "s" if ms >= SECOND else f"{ms}ms"


def iso(ms: int) -> str:
    """Return an instant as ISO 8601 in UTC, to the millisecond."""
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ms // 1000))
    return f"{whole}.{ms % 1000:03}Z"
