"""What code declares: the limits and the breaker of a type, and how they and the rules of queues reach the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.errors import UsageError
from ..core.job import Rule
from ..core.limits import FUNCTION, Breaker, Limit
from ..core.rules import SCHEDULE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..core.draft import Draft
    from ..flow import Flow

VALUES = ("running", "every", "burst")  # of a limit; its key belongs to each job


class TypeRules(NamedTuple):
    """What a type declares: the part of its policy, and the functions that compute keys, by the names of their limits."""

    policy: dict[str, Any]
    functions: dict[str, Any]


def declared_rules(type: str, limit: Any, breaker: Any) -> TypeRules | None:
    """Return what `@app.job(limit=…, breaker=…)` declares; None for a type without either."""
    limits = limits_of(limit)
    if breaker is not None and not isinstance(breaker, Breaker):
        raise UsageError(f'breaker={breaker!r:.60}: give Breaker(failures=0.5, of=20, rest="30s")')
    specs = [each.spec(type) for each in limits]
    check_names(type, specs)
    policy: dict[str, Any] = {"limits": specs} if specs else {}
    policy |= {"breaker": breaker.spec()} if breaker is not None else {}
    functions = {spec["name"]: each.key for each, spec in zip(limits, specs, strict=True) if spec["key"] == FUNCTION}
    return TypeRules(policy, functions) if policy else None


def limits_of(given: Any) -> list[Limit]:
    """Return one limit or several as a list; raise for anything else."""
    limits = [] if given is None else [given] if isinstance(given, Limit) else given
    if isinstance(limits, (str, bytes, int, float)) or not all(isinstance(each, Limit) for each in limits):
        raise UsageError(f'limit={given!r:.60}: give Limit(running=5), Limit(rate="10/s"), or a list of them')
    return list(limits)


def check_names(type: str, specs: Iterable[Mapping[str, Any]]) -> None:
    """Raise if two limits of a type have one name."""
    names = [spec["name"] for spec in specs]
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        raise UsageError(
            f"two limits of {type} are called {double!r}: give one of them name=…, or join them in one Limit"
        )


def limit_rules(specs: Iterable[Mapping[str, Any]], now: int) -> list[Rule]:
    """Return limits as the store records what code declares."""
    rules = [Rule("limit", spec["name"], values_of(spec), "", now) for spec in specs]
    return list({rule.name: rule for rule in rules}.values())


def values_of(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a limit that it has."""
    found = {name: spec[name] for name in VALUES if spec.get(name) is not None}
    return found if "every" in found else {name: value for name, value in found.items() if name != "burst"}


def rules_of(app: Flow, types: Iterable[str], queues: Iterable[str], now: int) -> list[Rule]:
    """Return what this program declares of some types and queues, for `store.declare_rules`."""
    found = [app.declared_type(name) for name in types]
    limits = limit_rules((spec for flow in found if flow for spec in flow.policy.get("limits", ())), now)
    own = {name: dict(app.queue_rules[name]) for name in queues if name in app.queue_rules}
    bounds = [
        Rule("limit", f"queue:{name}", values, "", now) for name, rules in own.items() if (values := values_of(rules))
    ]
    return [*limits, *bounds, *(Rule("queue", name, rules, "", now) for name, rules in own.items())]


def declared_schedules(app: Flow, now: int) -> list[Rule]:
    """Return the schedules that this program declares, for `store.declare_rules`."""
    return [Rule(SCHEDULE, name, dict(spec), "", now) for name, spec in app.declared_schedules.items()]


def declare(app: Flow, drafts: Iterable[Draft]) -> None:
    """Record what this program declares of the types and queues of these drafts, once for each store."""
    if app.recorded[0] is not app.store:
        app.recorded = app.store, set()
    seen = app.recorded[1]
    new = {name for draft in drafts for name in (f"type:{draft.type}", f"queue:{draft.queue}")} - seen
    if new:
        types, queues = (
            [name.removeprefix(kind) for name in new if name.startswith(kind)] for kind in ("type:", "queue:")
        )
        rules = rules_of(app, types, queues, app.clock.now())
        if rules:
            app.store.declare_rules(rules)
        seen |= new
