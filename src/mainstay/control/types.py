"""Types as data: what their code declares, what operators have set over it, and what holds."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from ..core import retention
from ..core.errors import UsageError
from ..options import Options
from .declared import VALUES, check_names, limits_of, values_of
from .limits import shown_limit
from .pauses import pauses
from .records import Change, TypeRecord
from .rules import EPOCH, change, check_queue, check_type, checked_names, drift, instant, overrides, rules_by_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..core.job import Rule, TypeInfo
    from ..flow import Flow

# What operators may set.
NAMES = ("queue", "priority", "attempts", "retry", "timeout", "keep", *retention.NAMES, "limit")
STORED = {"attempts": ("max_attempts",), "retry": ("max_attempts", "backoff"), "limit": ("limits",)}
POLICY = ("queue", "priority", "max_attempts", "backoff", "timeout", "keep", *retention.NAMES, "limits")


def types(app: Flow) -> list[TypeRecord]:
    """Return every type that was ever registered, by name."""
    rules = app.store.rules(["pause"])
    by_name = rules_by_name(app, "type")
    return [
        _record(info, by_name.get(info.name), rules) for info in sorted(app.store.types(), key=lambda info: info.name)
    ]


def _record(info: TypeInfo, rule: Rule | None, paused: Sequence[Rule]) -> TypeRecord:
    declared = shown({name: value for name, value in info.policy.items() if name in POLICY} | {"queue": info.queue})
    found = overrides(rule, shown)
    disabled = found.pop("disabled", None)
    holds = declared | {name: each.value for name, each in found.items()}
    return TypeRecord(
        info.name, info.description, holds["queue"], declared, found, holds, drift(declared, found),
        pauses(paused, info.name, holds["queue"]), disabled, tuple(info.policy.get("stages", ())),
        json.loads(info.takes or "{}"), instant(info.created_at), instant(info.updated_at), instant(info.seen_at) or EPOCH,
    )  # fmt: skip


def shown(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return stored values of a type under the names and in the form that people use."""
    return dict(_shown(name, value) for name, value in values.items())


def _shown(name: str, value: Any) -> tuple[str, Any]:
    if name == "max_attempts":
        return "attempts", value
    if name == "limits":
        return "limit", [shown_limit(spec, named=True) for spec in value]
    if name in ("timeout", *retention.AGES) and retention.shown(name, value) is not None:
        return name, timedelta(milliseconds=value)
    if name == "keep_cancelled":
        return name, None
    return name, value


def set_type(app: Flow, name: str, values: Mapping[str, Any], reason: str, actor: str, dry_run: bool) -> Change:
    """Set values of a type over what its code declares."""
    checked_names(values, NAMES, f"the type {name}")
    stored = _stored(name, values)
    check_type(app, name)
    if "queue" in stored:
        check_queue(app, stored["queue"])
    made = change(app, "type", name, stored, (), reason, actor, dry_run, shown)
    if not dry_run:
        for spec in stored.get("limits", ()):  # jobs that wait carry the limit as it was
            change(app, "limit", spec["name"], values_of(spec), (), reason, actor, dry_run=False, audited=False)
    return made


def _stored(type: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values as they are stored; raise for one that `@app.job` would refuse too."""
    given = {name: value for name, value in values.items() if name not in ("attempts", "limit", *retention.NAMES)}
    if "attempts" in values and "retry" in values:
        raise UsageError("give attempts= or retry=, not both")
    stored = dict(Options(given).values)
    stored |= {name: retention.stored(name, values[name]) for name in retention.NAMES if name in values}
    if "attempts" in values:
        if _no_number(values["attempts"]):
            raise UsageError(f"attempts={values['attempts']!r}: a whole number from 1 on")
        stored["max_attempts"] = Options({"retry": values["attempts"]}).values["max_attempts"]
    if "limit" in values:
        stored["limits"] = specs(type, values["limit"])
    return stored


def _no_number(value: Any) -> bool:
    """Return whether a value is no whole number."""
    return isinstance(value, bool) or not isinstance(value, int)


def specs(type: str, given: Any) -> list[dict[str, Any]]:
    """Return limits that an operator sets on a type; their keys must not need code."""
    limits = limits_of(given)
    found = [limit.spec(type) | {"by_operator": True} for limit in limits]
    check_names(type, found)
    if any(callable(limit.key) for limit in limits):
        raise UsageError('key: a function stays in code; give "tenant" or by("field") here')
    return found


def reset_type(app: Flow, name: str, names: Sequence[str], reason: str, actor: str, dry_run: bool) -> Change:
    """Remove what operators have set on a type, except that it is disabled."""
    checked_names(names, NAMES, f"the type {name}")
    check_type(app, name)
    gone = {each for chosen in names or NAMES for each in STORED.get(chosen, (chosen,))}
    if "limits" in gone and not dry_run:
        rule = rules_by_name(app, "type").get(name)
        for spec in rule.value.get("set", {}).get("limits", ()) if rule is not None else ():
            change(app, "limit", spec["name"], {}, VALUES, "", actor, dry_run=False, audited=False)
    return change(app, "type", name, {}, gone, reason, actor, dry_run, shown)


def disable(app: Flow, name: str, reason: str, actor: str, dry_run: bool) -> Change:
    """Let a type take no jobs."""
    check_type(app, name)
    return change(app, "type", name, {"disabled": reason or True}, (), reason, actor, dry_run, shown)


def enable(app: Flow, name: str, reason: str, actor: str, dry_run: bool) -> Change:
    """Let a disabled type take jobs again."""
    check_type(app, name)
    return change(app, "type", name, {}, ("disabled",), reason, actor, dry_run, shown)
