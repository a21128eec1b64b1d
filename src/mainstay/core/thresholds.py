"""From when on a part of an installation counts as degraded or unhealthy: settings of the installation, with defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .clock import milliseconds
from .errors import UsageError
from .suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "health."
DEFAULTS: dict[str, int | str] = {  # a text is a duration
    "health.store_ms": 100,  # milliseconds of one round trip: from here on degraded
    "health.workers": 1,  # live workers: fewer are degraded, none is unhealthy; 0: none is needed
    "health.oldest": "1h",  # the longest wait of a queued job; more is degraded
    "health.dead_degraded": 1,  # dead jobs: from here on degraded …
    "health.dead_unhealthy": 100,  # … and from here on unhealthy
    "health.overdue": "5m",  # how late a tick of a schedule may be; more is degraded
    "health.disk_degraded": 1_000_000_000,  # free bytes: fewer are degraded …
    "health.disk_unhealthy": 100_000_000,  # … and fewer than these unhealthy
    "health.skew": "5s",  # how far clocks may differ; more is degraded
}


def thresholds(settings: Mapping[str, Any]) -> dict[str, int]:
    """Return the thresholds that hold, durations in milliseconds; the default for a value that does not fit."""
    found = {name: _number(name, value) for name, value in settings.items() if name in DEFAULTS}
    return {
        name: default if (given := found.get(name)) is None else given
        for name, default in ((name, _number(name, value) or 0) for name, value in DEFAULTS.items())
    }


def check_threshold(name: str, value: Any) -> None:
    """Raise for a setting of this prefix that there is not, or whose value does not fit."""
    if name not in DEFAULTS:
        known = ", ".join(DEFAULTS)
        raise UsageError(f"there is no threshold {name!r}{did_you_mean(name, DEFAULTS)}; there are: {known}")
    if _number(name, value) is None:
        wanted = 'a duration such as "90s"' if isinstance(DEFAULTS[name], str) else "a whole number from 0 on"
        raise UsageError(f"{name} = {value!r:.60}: give {wanted}")


def _number(name: str, value: Any) -> int | None:
    if isinstance(DEFAULTS[name], str):
        try:
            value = milliseconds(value)
        except (ValueError, TypeError):
            return None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
