"""Counts transitions: what the end of an attempt adds to the counters (`core.tally`)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from operator import sub
from typing import TYPE_CHECKING

from .breaker import FAILURES
from .decide import Completed, Transition
from .job import field_getter
from .outcome import DEATHS
from .states import CANCELLED, COMPLETED, DEAD
from .tally import ATTEMPTS, BOUNDS, MINUTE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .tally import Counts

_UNTIMED = {"released", *DEATHS}  # how long these ran says nothing about the job
_TYPE, _AT, _STARTED = (field_getter(Transition, name) for name in ("type", "at", "started_at"))
_WAITED, _NUMBER = (field_getter(Transition, name) for name in ("waited", "number"))
_SEEN = field_getter(Transition, "at", "started_at", "waited", "number", "outcome", "state")


def counted(outcome: str, state: str) -> tuple[str, ...]:
    """Return the names by which an attempt is counted that had this outcome and left its job in this state."""
    if state == CANCELLED:
        return ("cancelled",)
    if outcome in FAILURES:
        return ("failed", "dead" if state == DEAD else "retried")
    return (outcome,)  # completed, snoozed, released, review


def of_transitions(applied: Sequence[Transition]) -> Counts:
    """Return what transitions add."""
    if set(map(type, applied)) == {Completed} and len(set(map(_TYPE, applied))) == 1:  # nearly always
        times = list(map(_AT, applied))
        minute = min(times) // MINUTE
        if max(times) // MINUTE == minute:
            return {(minute, applied[0].type): _of_completed(applied)}
    found: dict[tuple[int, str], Counter[str]] = {}
    for group, (completed, others) in _grouped(applied).items():
        found[group] = Counter(_of_completed(completed) if completed else {})
        for each in others:
            found[group].update(_of_one(each))
    return found


def _grouped(applied: Sequence[Transition]) -> dict[tuple[int, str], tuple[list[Transition], list[Transition]]]:
    """Return the transitions by minute and type: of jobs that completed, and the others."""
    groups: dict[tuple[int, str], tuple[list[Transition], list[Transition]]] = {}
    for each in applied:
        completed = each.outcome == "completed" and each.state == COMPLETED
        groups.setdefault((each.at // MINUTE, each.type), ([], []))[not completed].append(each)
    return groups


def _of_completed(jobs: Sequence[Transition]) -> dict[str, int]:
    """Return what completed jobs of one minute and type add, without a turn of the interpreter for each."""
    waited, numbers = list(map(_WAITED, jobs)), list(map(_NUMBER, jobs))
    if None in waited:
        waited = [ms for ms in waited if ms is not None]
    tries = _tries(numbers) if max(numbers) > 1 else {}
    return {
        "completed": len(jobs),
        **_times("r", list(map(sub, map(_AT, jobs), map(_STARTED, jobs)))),
        **_times("w", waited),
        **tries,
    }


def _of_one(transition: Transition) -> Counter[str]:
    """Return what a transition adds, however the attempt ended."""
    at, started, waited, number, outcome, state = _SEEN(transition)
    added = Counter(counted(outcome, state))
    added.update({"untimed": 1} if outcome in _UNTIMED else _times("r", [at - started]))
    added.update(_times("w", [] if waited is None else [waited]))
    added.update(_tries([number] if state in (COMPLETED, DEAD) else []))
    return added


def _times(kind: str, times: list[int]) -> dict[str, int]:
    """Return buckets and sum of times."""
    names = _buckets(kind, BOUNDS, times)
    # A clock may have been set back.
    total = sum(times) if not times or times[0] >= 0 else sum(ms for ms in times if ms > 0)
    return {**names, kind + "sum": total} if total else names


def _tries(numbers: list[int]) -> dict[str, int]:
    """Return how many jobs ended at which attempt, but for the first one."""
    again = [number for number in numbers if number > 1]
    return {**_buckets("a", ATTEMPTS, again), "asum": sum(again) - len(again)} if again else {}


def _buckets(kind: str, bounds: Sequence[int], values: list[int]) -> dict[str, int]:
    """Sort values, and return how many are in each bucket: a look for each bucket, not for each value."""
    values.sort()
    names: dict[str, int] = {}
    start, count, last = 0, len(values), len(bounds) - 1
    while start < count:
        place = min(bisect_left(bounds, values[start]), last)
        end = bisect_right(values, bounds[place], start) if place < last else count
        names[f"{kind}{bounds[place]}"] = end - start
        start = end
    return names


def packed(transition: Transition) -> str:
    """Return what one transition adds as a text for the engines: names and numbers."""
    (names,) = of_transitions((transition,)).values()
    return " ".join(f"{name} {n}" for name, n in names.items())
