"""Rules of types, queues and limits as people read and write them: `timeout 5m → 2m`, `10/s`."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from ..core.clock import UNITS, iso
from ..core.errors import MainstayError
from ..core.limits import interval
from ..core.retention import AGES
from ..core.retry import BASE, CAP, FACTOR

if TYPE_CHECKING:
    from collections.abc import Mapping

SPANS = ("timeout", *AGES, "wait", "aging", "rest")  # names of values in milliseconds
NONE = "–"


def span(ms: int) -> str:
    """Return a duration as it is written, exactly: `2m`, `90s`, `1500ms`."""
    unit = next(unit for unit in ("w", "d", "h", "m", "s", "ms") if ms % UNITS[unit] == 0 and (ms or unit == "s"))
    if unit == "w":
        unit = "d"  # 14d is read at once
    return f"{ms // UNITS[unit]}{unit}"


def rate(every: int) -> str:
    """Return the microseconds between two starts as a rate: `10/s`, `100/m`."""
    for unit in ("s", "m", "h", "d"):
        text = f"{round(UNITS[unit] * 1000 / every)}/{unit}"
        try:
            if interval(text) == every:
                return text
        except MainstayError:  # 0/s
            continue
    return f"{1_000_000 / every:.3g}/s"


def value(name: str, given: Any) -> str:
    """Return the value of a rule as text."""
    if given is None:
        return backoff(f"{BASE} {CAP} {FACTOR} 1") if name == "backoff" else "none"
    if name == "paused" and given == "":  # without a reason
        return "yes"
    if isinstance(given, timedelta):
        return span(round(given.total_seconds() * 1000))
    if isinstance(given, datetime):
        return iso(round(given.timestamp() * 1000))
    if name == "backoff":
        return backoff(given)
    if name in SPANS and isinstance(given, int | float) and not isinstance(given, bool):
        return span(int(given))
    if name == "every" and isinstance(given, int):
        return rate(given)
    if isinstance(given, bool):
        return "yes" if given else "no"
    if name == "limit" and isinstance(given, dict):
        return limit(given)
    if isinstance(given, dict):
        return ",".join(f"{key}={each}" for key, each in given.items()) or NONE
    if isinstance(given, list | tuple):
        return "; ".join(limit(each) if isinstance(each, dict) else str(each) for each in given) or NONE
    return given if isinstance(given, str) else json.dumps(given)


def backoff(packed: str) -> str:
    """Return how long a retry waits: `2s × 2 up to 1h`."""
    base, cap, factor, _ = (float(part) for part in packed.split())
    return span(int(base)) + (f" × {factor:g} up to {span(int(cap))}" if factor != 1 else " each")


def called(name: str, kind: str = "") -> str:
    """Return the word by which people know a value of a rule of this kind."""
    return name if kind == "schedule" else {"every": "rate", "max_attempts": "attempts"}.get(name, name)


def limit(spec: Mapping[str, Any]) -> str:
    """Return a limit: `5 running, 10/s per tenant`."""
    parts = [f"{spec['running']} running"] if spec.get("running") is not None else []
    pace = rate(spec["every"]) if spec.get("every") else spec.get("rate")
    if pace:
        burst = spec.get("burst") or 1
        parts.append(str(pace) + (f" burst {burst}" if burst > 1 else ""))
    return (", ".join(parts) or "no limit") + key(spec)


def short_limit(spec: Mapping[str, Any]) -> str:
    """Return a limit in few letters: `5 per tenant`, `10/s`."""
    parts = [str(spec[name]) for name in ("running", "rate") if spec.get(name)]
    return " and ".join(parts) + key(spec)


def key(spec: Mapping[str, Any]) -> str:
    """Return for what a limit holds: ` per tenant`, ` per order.id`; nothing for the whole."""
    found = spec.get("key")
    if found is None:
        return ""
    return " per " + (",".join(found.get("by") or ["payload"]) if isinstance(found, dict) else str(found))


def changes(before: Mapping[str, Any], after: Mapping[str, Any], missing: str = NONE, kind: str = "") -> list[str]:
    """Return what differs: `timeout 5m → 2m`. A value that one side lacks is shown as `missing`."""
    names = dict.fromkeys([*before, *after])
    return [
        f"{called(name, kind)} {_side(before, name, missing)} → {_side(after, name, missing)}"
        for name in names if before.get(name, ...) != after.get(name, ...)
    ]  # fmt: skip


def _side(values: Mapping[str, Any], name: str, missing: str) -> str:
    return value(name, values[name]) if name in values else missing
