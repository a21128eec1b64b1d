"""Breakers as data: which types rest, until when, and what their last outcomes were."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from ..core.breaker import breaker_meter
from ..core.clock import span
from ..core.errors import UsageError
from ..core.job import Rule
from ..core.payload import clean
from .records import BreakerRecord, Change
from .rules import REASON, check_type, instant, rules_by_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..core.clock import Duration
    from ..flow import Flow


def breakers(app: Flow) -> list[BreakerRecord]:
    """Return the breakers that types declare and those that are open, by type."""
    declared, rules, now = _declared(app), rules_by_name(app, "breaker"), app.clock.now()
    names = sorted({*declared, *rules})
    meters = app.store.meters([breaker_meter(name) for name in names])
    return [
        _record(name, declared.get(name), rules.get(name), meters.get(breaker_meter(name)) or 1, now) for name in names
    ]


def _declared(app: Flow) -> dict[str, Sequence[float]]:
    return {info.name: info.policy["breaker"] for info in app.store.types() if info.policy.get("breaker")}


def _record(name: str, spec: Sequence[float] | None, rule: Rule | None, bits: int, now: int) -> BreakerRecord:
    failures, of, rest = spec or (None, None, None)
    seen, failed = bits.bit_length() - 1, bits.bit_count() - 1
    state, until = "closed", None
    if rule is not None:
        until, rest = rule.value.get("until", 0), rule.value.get("rest", rest)
        state = "open" if until > now else "probing"
    return BreakerRecord(
        name, state, instant(until), None if rest is None else timedelta(milliseconds=rest), failures,
        None if of is None else int(of), failed, seen, rule.actor if rule else "", instant(rule.at) if rule else None,
        rule.reason if rule else "",
    )  # fmt: skip


def open_breaker(app: Flow, type: str, rest: Duration, reason: str, actor: str, dry_run: bool) -> Change:
    """Let a type rest. Outcomes of jobs that run at this moment do not end it; that of the job tried afterwards does."""
    ms = span("rest", rest)
    if ms <= 0:
        raise UsageError("rest: give a duration above zero, such as rest='30m'")
    check_type(app, type)
    if type not in _declared(app):
        raise UsageError(
            f"the type {type} declares no breaker, so that no outcome would end its rest: add breaker=Breaker() to it, or use "
            "app.pause(type=…)"
        )
    now, before = app.clock.now(), rules_by_name(app, "breaker").get(type)
    value = {"until": now + ms, "rest": ms, "forced": True}
    if not dry_run:
        app.store.set_rule(Rule("breaker", type, value, actor, now, clean(reason, REASON)))
    return Change("breaker", type, _shown(before.value if before else None), _shown(value))


def close_breaker(app: Flow, type: str, reason: str, actor: str, dry_run: bool) -> Change:
    """Let a type that rests go on."""
    before = rules_by_name(app, "breaker").get(type)
    if before is None:
        check_type(app, type)
    elif not dry_run:
        app.store.set_rule(Rule("breaker", type, {}, actor, app.clock.now(), clean(reason, REASON)), remove=True)
    return Change("breaker", type, _shown(before.value if before else None), None)


def _shown(value: dict[str, int] | None) -> dict[str, object] | None:
    if value is None:
        return None
    return {"until": instant(value.get("until")), "rest": timedelta(milliseconds=value.get("rest", 0))}
