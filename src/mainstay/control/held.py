"""What pauses, breakers, limits and full queues hold back, as findings: each with the command that ends it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ..core.clock import human
from ..core.limits import effective
from ..core.rules import ALL, SCHEDULE, TICK, limit_of
from ..core.schedule import effective as values_of
from ..core.words import plural, typed
from .findings import Finding
from .room import WAITING, full

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ..core.job import Count, Rule
    from ..stores.contract import Store

KINDS = ("pause", "breaker", "type")
SLOTS, IN_LINE = 1_000, 10_000  # slots that are read, and jobs counted of each line
SHOWN = 5  # limits that a finding names


def held(store: Store, counts: Sequence[Count], now: int) -> list[Finding]:
    """Return what is paused, rests, is disabled or full."""
    return [*stopped(store, counts, now), *_full(full(store, counts))]


def stopped(store: Store, counts: Sequence[Count], now: int) -> list[Finding]:
    """Return what is paused, rests or is disabled."""
    rules = store.rules(KINDS)
    return [
        *(_paused(rule, counts, now) for rule in rules if rule.kind == "pause"),
        *(_resting(rule, now) for rule in rules if rule.kind == "breaker"),
        *(_disabled(rule, now) for rule in rules if rule.kind == "type" and effective(rule.value).get("disabled")),
    ]


def scheduled(store: Store, known: Collection[str], failing: bool = True) -> list[Finding]:
    """Return the schedules that are paused, whose type is none of the known ones, or, unless told otherwise, that fail."""
    rules = store.rules([SCHEDULE, TICK])
    states = {rule.name: rule.value for rule in rules if rule.kind == TICK}
    found = []
    for rule in (rule for rule in rules if rule.kind == SCHEDULE):
        spec, problem = values_of(rule.value), states.get(rule.name, {}).get("problem")
        name, show = f"the schedule {rule.name}", typed("schedules", "show", rule.name)
        if spec["paused"] is not None:
            why = f": {spec['paused']}" if spec["paused"] else ""
            found.append(Finding(f"{name} is paused{why}", typed("schedules", "resume", rule.name)))
        elif problem and failing:
            found.append(Finding(f"{name} cannot fire: {problem}", show))
        elif spec["job"]["type"] not in known:
            found.append(Finding(f"{name} makes jobs of {spec['job']['type']}, a type that no worker knows", show))
    return found


def _paused(rule: Rule, counts: Sequence[Count], now: int) -> Finding:
    kind, _, name = rule.name.partition(":")
    fits = [count for count in counts if rule.name == ALL or getattr(count, kind) == name]
    waiting = [count for count in fits if count.label in WAITING]
    number = sum(count.jobs for count in waiting)
    what = "everything" if rule.name == ALL else f"the {kind} {name}"
    jobs = (
        f"; {'at least ' * any(count.capped for count in waiting)}{plural(number, 'job waits', 'jobs wait')}"
        if number
        else ""
    )
    words = ["--all"] if rule.name == ALL else [f"--{kind}", name]
    return Finding(f"{what} is paused{_by(rule, now)}{jobs}", typed("resume", *words))


def _by(rule: Rule, now: int) -> str:
    """Return since when, by whom and why: ` (ada, 2h 03m ago: gateway maintenance)`."""
    who = ", ".join(filter(None, [rule.actor, f"{human(max(now - rule.at, 0))} ago" if rule.at else ""]))
    told = ": ".join(filter(None, [who, rule.reason]))
    return f" ({told})" if told else ""


def _resting(rule: Rule, now: int) -> Finding:
    left = rule.value.get("until", 0) - now
    state = f"open for another {human(left)}" if left > 0 else "open; one job is tried"
    return Finding(f"the breaker of {rule.name} is {state}{_by(rule, now)}", typed("breaker", "close", rule.name))


def _disabled(rule: Rule, now: int) -> Finding:
    actor, at = rule.value.get("by", {}).get("disabled", (rule.actor, rule.at))
    why = effective(rule.value)["disabled"]
    told = _by(rule._replace(actor=actor, at=at, reason=why if isinstance(why, str) else ""), now)
    return Finding(f"the type {rule.name} is disabled and takes no jobs{told}", typed("enable", rule.name))


def _full(found: Mapping[str, tuple[int, int]]) -> list[Finding]:
    return [
        Finding(
            f"the queue {name} is full: {depth:,} jobs wait, {most:,} may",
            typed("queues", "set", name, "--max-depth", str(2 * most)) + "   (or more workers)",
        )
        for name, (depth, most) in found.items()
    ]


def in_line(store: Store, counts: Sequence[Count]) -> list[Finding]:
    """Return one finding about all limits that jobs wait for."""
    if all(count.label != "blocked" for count in counts):
        return []
    lines = [info for info in store.slots(SLOTS, IN_LINE) if info.waiting]
    waiting = Counter[str]()
    for info in lines:
        waiting[limit_of(info.slot)[0]] += info.waiting
    if not waiting:
        return []
    capped = "at least " * any(info.capped for info in lines)
    jobs = capped + plural(waiting.total(), "job waits", "jobs wait")
    listed = ", ".join(f"{name} {number:,}" for name, number in waiting.most_common(SHOWN))
    more = f" and {len(waiting) - SHOWN} more" if len(waiting) > SHOWN else ""
    return [Finding(f"{jobs} for limits: {listed}{more}", "mainstay limits")]
