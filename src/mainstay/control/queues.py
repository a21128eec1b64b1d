"""Queues as data: how deep each may be, fairness, aging and a limit; declared in code or set by operators."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from ..core.clock import span
from ..core.depth import WHEN_FULL
from ..core.errors import UsageError
from ..core.limits import Limit, whole
from ..options import Options
from .declared import VALUES, values_of
from .limits import OF_QUEUE, shown_limit
from .pauses import pauses
from .records import Change, QueueRecord
from .room import WAITING
from .rules import CAP, change, check_queue, checked_names, drift, edit, instant, known_queues, overrides, rules_by_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..core.job import Count, Rule
    from ..flow import Flow

LIMIT = ("running", "every", "burst", "key")  # what the limit of a queue is stored as


def checked_queue(name: Any) -> str:
    """Return a queue's name, or raise."""
    return str(Options({"queue": name}).values["queue"])


def checked(rules: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rules of a queue as they are stored; raise for one that cannot be."""
    checked_names(rules, NAMES, "a queue")
    made: dict[str, Any] = {}
    for name, value in rules.items():
        if name == "limit":
            made |= _limit(value)
        else:
            made[name] = CHECKS[name](name, value)
    if made.get("when_full") == "wait" and "wait" not in made:
        made["wait"] = 5_000
    return made


def _limit(value: Any) -> dict[str, Any]:
    if value is None:
        return dict.fromkeys(("running", "every"))
    if not isinstance(value, Limit) or value.name is not None:
        raise UsageError(f'limit={value!r:.60}: give Limit(running=5) or Limit(rate="10/s"), without a name')
    spec = value.spec("")
    if callable(value.key):
        raise UsageError('key: a queue takes jobs of many programs; give key="tenant" or by("field")')
    return values_of(spec) | ({} if spec["key"] is None else {"key": spec["key"]})


def _number(name: str, value: Any) -> int | None:
    if value is None:
        return None
    try:
        return whole(name, value)
    except UsageError:
        raise UsageError(
            f"{name}={value!r}: a whole number from 1 to 1000000, or None; app.pause(queue=…) stops a queue, app.disable(type) "
            "refuses jobs"
        ) from None


def _one_of(name: str, value: Any) -> str:
    if value not in WHEN_FULL:
        raise UsageError(f"{name}={value!r}: one of {', '.join(WHEN_FULL)}")
    return str(value)


def _duration(name: str, value: Any) -> int | None:
    found = None if value is None else span(name, value)
    if found == 0:
        raise UsageError(f"{name}={value!r}: give a duration above zero, such as {name}='1m', or leave it out")
    return found


def _priority(name: str, value: Any) -> int:
    Options({"priority": value})
    return int(value)


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"{name}={value!r}: True or False")
    return value


def _weights(name: str, value: Any) -> dict[str, float]:
    fits = hasattr(value, "items") and all(
        isinstance(tenant, str) and "/" not in tenant and type(weight) in (int, float) and 0 < weight <= 1_000
        for tenant, weight in value.items()
    )
    if not fits:
        raise UsageError(
            f'{name}={value!r:.60}: a share for each tenant, above 0 and up to 1000: weights={{"acme": 3}}; of a tenant with two '
            "names the first one counts, and without a share a tenant has 1"
        )
    return dict(value)


CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "max_depth": _number, "when_full": _one_of, "wait": _duration, "below": _priority, "one_in": _number, "fair": _flag,
    "weights": _weights, "aging": _duration,
}  # fmt: skip
NAMES = (*CHECKS, "limit")


# what is there --------------------------------------------------------------------------------------------------------
def queues(app: Flow) -> list[QueueRecord]:
    """Return every queue that is known, by name."""
    rules, paused, counts = rules_by_name(app, "queue"), app.store.rules(["pause"]), app.store.counts(CAP)
    return [
        _record(name, rules.get(name), paused, [count for count in counts if count.queue == name])
        for name in sorted(known_queues(app, counts))
    ]


def _record(name: str, rule: Rule | None, paused: Sequence[Rule], counts: Sequence[Count]) -> QueueRecord:
    jobs: dict[str, int] = {}
    for count in counts:
        jobs[count.label] = jobs.get(count.label, 0) + count.jobs
    depth = sum(jobs.get(label, 0) for label in WAITING)
    oldest = min((count.oldest for count in counts if count.label == "queued" and count.oldest), default=None)
    declared, found = shown(rule.value.get("declared", {}) if rule else {}), overrides(rule, shown)
    holds = declared | {each: override.value for each, override in found.items()}
    return QueueRecord(
        name, jobs, depth, any(count.capped for count in counts), instant(oldest), pauses(paused, None, name), declared,
        found, holds, drift(declared, found),
    )  # fmt: skip


def shown(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return stored rules of a queue in the form that people use."""
    made = {name: _shown(name, value) for name, value in values.items() if name not in LIMIT}
    made |= shown_limit(values)
    return made | ({"key": values["key"]} if values.get("key") is not None else {})


def _shown(name: str, value: Any) -> Any:
    return timedelta(milliseconds=value) if name in ("wait", "aging") and value is not None else value


# changes --------------------------------------------------------------------------------------------------------------
def set_queue(app: Flow, name: str, values: Mapping[str, Any], reason: str, actor: str, dry_run: bool) -> Change:
    """Set rules of a queue over what code declares."""
    if not values:
        raise UsageError(f"set_queue needs a value: {', '.join(NAMES)}")
    return set_values(app, name, checked(values), reason, actor, dry_run)


def set_values(app: Flow, name: str, stored: Mapping[str, Any], reason: str, actor: str, dry_run: bool) -> Change:
    """Set checked rules of a queue that something names."""
    check_queue(app, name)
    made = change(app, "queue", name, stored, (), reason, actor, dry_run, shown)
    if not dry_run and not {*VALUES}.isdisjoint(stored):
        _follow(app, name, reason, actor)
    return made


def _follow(app: Flow, name: str, reason: str, actor: str) -> None:
    """Give the limit of a queue the values of the queue: jobs that wait carry the limit as it was.

    Again while others change the queue: of two that do so at once, the last one's limit holds in both places.
    """
    wanted, limit = None, _limit_set(app, name)
    while wanted != limit:
        wanted = limit
        edit(app, "limit", OF_QUEUE + name, partial(_exactly, wanted), reason, actor, dry_run=False, audited=False)
        limit = _limit_set(app, name)


def _exactly(values: Mapping[str, Any], _: Mapping[str, Any]) -> dict[str, Any]:
    return dict(values)


def _limit_set(app: Flow, name: str) -> dict[str, Any]:
    rule = rules_by_name(app, "queue").get(name)
    values = rule.value.get("set", {}) if rule is not None else {}
    return {each: values[each] for each in VALUES if each in values}


def reset_queue(app: Flow, name: str, names: Sequence[str], reason: str, actor: str, dry_run: bool) -> Change:
    """Remove what operators have set on a queue."""
    checked_names(names, NAMES, f"the queue {name}")
    check_queue(app, name)
    gone = {each for chosen in names or NAMES for each in (LIMIT if chosen == "limit" else (chosen,))}
    made = change(app, "queue", name, {}, gone, reason, actor, dry_run, shown)
    if gone & {*LIMIT} and not dry_run:
        _follow(app, name, "", actor)
    return made
