"""Counts transitions: what the end of an attempt adds to the counters (`core.tally`)."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from .breaker import FAILURES
from .decide import Transition
from .job import field_getter
from .outcome import DEATHS
from .states import CANCELLED, COMPLETED, DEAD
from .tally import ATTEMPTS, BOUNDS, MINUTE

if TYPE_CHECKING:
    from collections.abc import Iterable

_LAST = len(BOUNDS) - 1
_RAN, _WAITED = ([f"{kind}{bound}" for bound in BOUNDS] for kind in "rw")
_UNTIMED = {"released", *DEATHS}  # how long these ran says nothing about the job
_SEEN = field_getter(Transition, "type", "at", "started_at", "waited", "number", "outcome", "state")


def counted(outcome: str, state: str) -> tuple[str, ...]:
    """Return the names by which an attempt is counted that had this outcome and left its job in this state."""
    if state == CANCELLED:
        return ("cancelled",)
    if outcome in FAILURES:
        return ("failed", "dead" if state == DEAD else "retried")
    return (outcome,)  # completed, snoozed, released, review


def of_transitions(applied: Iterable[Transition]) -> list[tuple[int, str, str, int]]:
    """Return what transitions add: minute, type, name and number, in this order."""
    found: dict[tuple[int, str], dict[str, int]] = {}
    for type, at, started, waited, number, outcome, state in map(_SEEN, applied):
        group = at // MINUTE, type
        into = found.get(group) or found.setdefault(group, {})
        if outcome == "completed" == state:  # nearly all of them
            into["completed"] = into.get("completed", 0) + 1
        else:
            for name in counted(outcome, state):
                into[name] = into.get(name, 0) + 1
        if outcome not in _UNTIMED:
            ran = at - started
            name = _RAN[min(bisect_left(BOUNDS, ran), _LAST)]
            into[name] = into.get(name, 0) + 1
            if ran > 0:
                into["rsum"] = into.get("rsum", 0) + ran
        if waited is not None:
            name = _WAITED[min(bisect_left(BOUNDS, waited), _LAST)]
            into[name] = into.get(name, 0) + 1
            if waited:
                into["wsum"] = into.get("wsum", 0) + waited
        if number > 1 and state in (COMPLETED, DEAD):
            name = f"a{ATTEMPTS[min(bisect_left(ATTEMPTS, number), len(ATTEMPTS) - 1)]}"
            into[name] = into.get(name, 0) + 1
            into["asum"] = into.get("asum", 0) + number - 1
    return sorted((minute, type, name, n) for (minute, type), names in found.items() for name, n in names.items())


def packed(transition: Transition) -> str:
    """Return what one transition adds as a text for the engines: names and numbers."""
    return " ".join(f"{name} {n}" for _, _, name, n in of_transitions((transition,)))
