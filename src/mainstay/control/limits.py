"""Limits as data: what code declares, what operators have set, who holds them and who waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.admission import permitted
from ..core.clock import UNITS
from ..core.errors import UsageError
from ..core.limits import FUNCTION, Limit
from ..core.rules import is_rate, limit_of
from ..core.suggest import did_you_mean
from .declared import values_of
from .records import Change, LimitRecord, SlotRecord
from .rules import change, drift, edit, instant, overrides, rules_by_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..core.job import Rule, SlotInfo
    from ..flow import Flow
    from .rules import Edit

SLOTS, IN_LINE = 1_000, 1_000  # keys that are listed, and jobs counted of each line
OF_QUEUE = "queue:"  # before a queue's name: the name of its limit
MICROS = 1_000_000


def limits(app: Flow) -> list[LimitRecord]:
    """Return every limit that is declared, set or in use, by name."""
    declared = _declared(app)
    rules = _rules(app)
    used: dict[str, list[SlotInfo]] = {}
    for info in app.store.slots(SLOTS, IN_LINE):
        used.setdefault(limit_of(info.slot)[0], []).append(info)
    meters = app.store.meters([info.slot for each in used.values() for info in each if is_rate(info.slot)])
    names = sorted({*declared, *used, *(name for name, rule in rules.items() if rule.value)})
    return [_record(app, name, declared.get(name, []), rules.get(name), used.get(name, []), meters) for name in names]


def _declared(app: Flow) -> dict[str, list[tuple[str, dict[str, Any]]]]:
    """Return the limits that types have, by name: the type, and the limit as it is declared or set there."""
    found: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    of_types = {info.name: info.policy.get("limits", []) for info in app.store.types()}
    for rule in app.store.rules(["type"]):
        specs = {
            spec["name"]: spec for spec in [*of_types.get(rule.name, []), *rule.value.get("set", {}).get("limits", [])]
        }
        of_types[rule.name] = list(specs.values())
    for type, specs in of_types.items():
        for spec in specs:
            found.setdefault(spec["name"], []).append((type, spec))
    return found


def _rules(app: Flow) -> dict[str, Rule]:
    """Return the rules of limits by name; those of queues are a part of the queue's rule."""
    rules = {name: rule for name, rule in rules_by_name(app, "limit").items() if not name.startswith(OF_QUEUE)}
    for name, rule in rules_by_name(app, "queue").items():
        value = {part: _of_limit(rule.value.get(part, {})) for part in ("declared", "set")}
        if any(value.values()):
            rules[OF_QUEUE + name] = rule._replace(value=value | {"by": rule.value.get("by", {})})
    return rules


def _of_limit(value: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value[name] for name in ("running", "every", "burst") if name in value}


def _record(
    app: Flow, name: str, types: list[tuple[str, dict[str, Any]]], rule: Rule | None, used: list[SlotInfo],
    meters: Mapping[str, int],
) -> LimitRecord:  # fmt: skip
    value = rule.value if rule is not None else {}
    declared = value.get("declared") or next((values_of(spec) for _, spec in types if not spec.get("by_operator")), {})
    found, holds = overrides(rule, shown_limit), {**declared, **value.get("set", {})}
    slots = _slots(used, holds, meters, app.clock.now())
    shown = shown_limit(declared)
    return LimitRecord(
        name, tuple(type for type, _ in types), shown, found, shown_limit(holds), drift(shown, found), slots
    )


def _slots(
    used: Iterable[SlotInfo], limit: Mapping[str, Any], meters: Mapping[str, int], now: int
) -> tuple[SlotRecord, ...]:
    """Return how a limit is used, by key. A key may have a slot of its jobs that run and one of its rate."""
    found: dict[str, SlotRecord] = {}
    for info in used:
        key, rate = limit_of(info.slot)[1], is_rate(info.slot)
        before = found.get(key, SlotRecord(key, 0, 0, False, None))
        holders = before.holders if rate and limit.get("running") is not None else before.holders + info.holders
        start = before.next_start
        if rate and limit.get("every"):
            at = permitted(meters.get(info.slot, 0), now, limit["every"], limit.get("burst") or 1)
            start = instant(at) if at > now else None
        found[key] = SlotRecord(key, holders, before.waiting + info.waiting, before.capped or info.capped, start)
    return tuple(found.values())


def shown_limit(spec: Mapping[str, Any], named: bool = False) -> dict[str, Any]:
    """Return the values of a limit as people write them: running, rate, burst; and its name and key."""
    made: dict[str, Any] = {"name": spec["name"], "key": spec.get("key")} if named else {}
    if spec.get("running") is not None:
        made["running"] = spec["running"]
    if spec.get("every") is not None:
        made["rate"] = rate_text(spec["every"])
    if spec.get("burst") is not None and (not named or "rate" in made):
        made["burst"] = spec["burst"]
    return made


def rate_text(every: int) -> str:
    """Return the rate at which a job may start every so many microseconds: `10/s`, `3/m`, `1/90m`."""
    for unit in ("s", "m", "h", "d"):
        per = UNITS[unit] * 1_000 / every
        if per >= 1 and abs(per - round(per)) < 0.001 * per:
            return f"{round(per)}/{unit}"
    return f"1/{every / MICROS:g}s"


# changes --------------------------------------------------------------------------------------------------------------
def set_limit(app: Flow, name: str, given: Mapping[str, Any], reason: str, actor: str, dry_run: bool) -> Change:
    """Set a limit for all its jobs; give a type or queue its first."""
    values = _checked(given)
    declared, rules = _declared(app), _rules(app)
    if name.startswith(OF_QUEUE):
        return _set_of_queue(app, name, values, given["key"], reason, actor, dry_run)
    if name not in declared and name not in rules:
        return _set_of_type(app, name, values, given["key"], reason, actor, dry_run)
    if given["key"] is not None:
        raise UsageError(
            f"key: the limit {name} has its key from code, and jobs carry it; set running=, rate= or burst="
        )
    _widen(app, name, values, declared.get(name, []), actor, dry_run)
    return change(app, "limit", name, values, (), reason, actor, dry_run, shown_limit)


def _checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values to set, as they are stored."""
    chosen = {name: given[name] for name in ("running", "rate", "burst") if given[name] is not None}
    if not chosen:
        raise UsageError('set_limit needs running=, rate= or burst=: set_limit("mail", running=5)')
    probe = Limit(**({"running": 1} | chosen))  # raises what `Limit` raises
    stored = {"running": probe.running, "every": probe.every, "burst": probe.burst}
    return {name: stored[name] for name in stored if {"every": "rate"}.get(name, name) in chosen}


def _widen(
    app: Flow, name: str, values: Mapping[str, Any], types: list[tuple[str, dict[str, Any]]], actor: str, dry_run: bool
) -> None:  # fmt: skip
    """Let new jobs carry a kind of limit that code does not declare: a rate beside `running`, or the other way round."""
    for type, spec in types:
        lacks = [kind for kind in ("running", "every") if kind in values and spec.get(kind) is None]
        if lacks and spec.get("key") == FUNCTION:
            raise UsageError(f"{name} computes its key by code: declare {shown_limit(values)} in code too, then set it")
        if lacks:
            edit(app, "type", type, _with_spec({**spec, **values}), "", actor, dry_run)


def _with_spec(spec: Mapping[str, Any]) -> Edit:
    """Return the edit of a type that gives it a limit, in the place of the one of that name."""

    def edited(before: Mapping[str, Any]) -> dict[str, Any]:
        return {**before, "limits": [*_others(before, spec["name"]), dict(spec)]}

    return edited


def _without_spec(name: str) -> Edit:
    """Return the edit of a type that removes a limit which operators have set."""

    def edited(before: Mapping[str, Any]) -> dict[str, Any]:
        left, rest = _others(before, name), {each: value for each, value in before.items() if each != "limits"}
        return {**rest, "limits": left} if left else rest

    return edited


def _others(before: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    return [each for each in before.get("limits", []) if each["name"] != name]


def _set_of_type(
    app: Flow, name: str, values: dict[str, Any], key: Any, reason: str, actor: str, dry_run: bool
) -> Change:
    """Give a type without a limit one."""
    from .types import specs

    known = {*app.registry, *(info.name for info in app.store.types())}
    if name not in known:
        names = {*known, *_declared(app), *(OF_QUEUE + queue for queue in rules_by_name(app, "queue"))}
        raise UsageError(
            f"no limit, type or queue is called {name!r}{did_you_mean(name, names)}; app.limits() lists the limits, and "
            "queue:NAME is that of a queue"
        )
    if not {"running", "every"} & values.keys():
        raise UsageError(f"{name} has no limit yet: give running= or rate=")
    (spec,) = specs(name, Limit(running=1, key=key))
    spec |= {"running": None, **values, "by_operator": True}
    made = edit(app, "type", name, _with_spec(spec), reason, actor, dry_run)
    before = shown_limit(
        next((each for each in (made.before or {}).get("limits", []) if each["name"] == spec["name"]), {})
    )
    if not dry_run:
        change(app, "limit", spec["name"], values, (), reason, actor, dry_run=False, audited=False)
    return Change("limit", spec["name"], before, shown_limit(values))


def _set_of_queue(
    app: Flow, name: str, values: dict[str, Any], key: Any, reason: str, actor: str, dry_run: bool
) -> Change:
    from .queues import set_values

    queue = name.removeprefix(OF_QUEUE)
    stored = values | ({"key": Limit(running=1, key=key).spec(queue)["key"]} if key is not None else {})
    made = set_values(app, queue, stored, reason, actor, dry_run)
    return Change("limit", name, _limit_part(made.before), _limit_part(made.after))


def _limit_part(values: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in (values or {}).items() if name in ("running", "rate", "burst", "key")}


def reset_limit(app: Flow, name: str, reason: str, actor: str, dry_run: bool) -> Change:
    """Remove what operators have set of a limit."""
    if name.startswith(OF_QUEUE):
        from .queues import reset_queue

        made = reset_queue(app, name.removeprefix(OF_QUEUE), ("limit",), reason, actor, dry_run)
        return Change("limit", name, _limit_part(made.before), _limit_part(made.after))
    declared, rule = _declared(app), _rules(app).get(name)
    if name not in declared and rule is None:
        raise UsageError(f"no limit is called {name!r}{did_you_mean(name, declared)}; app.limits() lists them")
    for type, _ in declared.get(name, []):
        edit(app, "type", type, _without_spec(name), "", actor, dry_run)
    return edit(app, "limit", name, lambda _: {}, reason, actor, dry_run, shown_limit)
