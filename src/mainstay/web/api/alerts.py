"""Alerts: what is wrong and was, and the rules that find it."""

from __future__ import annotations

from typing import Any

import msgspec

from ...control.records import AlertRule, Change, Incident
from ...core import alerts as core
from ...core.errors import UsageError
from ..call import Call
from ..changes import Reasoned, existing
from ..operations import operation
from ..roles import ADMIN


class AlertsPage(msgspec.Struct, kw_only=True):
    """Incidents that are open, those of the last seven days, the rules, and the names of the channels of this program."""

    open: list[Incident]
    history: list[Incident]
    rules: list[AlertRule]
    channels: list[str]


class RuleValues(Reasoned, frozen=True, kw_only=True):
    """Values of a rule; what is not given stays."""

    threshold: Any = msgspec.UNSET
    severity: str | msgspec.UnsetType = msgspec.UNSET
    enabled: bool | msgspec.UnsetType = msgspec.UNSET
    least: int | msgspec.UnsetType = msgspec.UNSET


class Silence(Reasoned, frozen=True, kw_only=True):
    """For how long nobody is told; 0 ends it."""

    duration: str | float = msgspec.field(name="for")


@operation("GET", "/api/alerts")
def read_alerts(call: Call) -> AlertsPage:
    """Return what is wrong and was, and the rules that find it."""
    alerts = call.app.alerts
    history = alerts.history()
    return AlertsPage(
        open=[each for each in history if each.closed_at is None],
        history=history,
        rules=alerts.rules(),
        channels=sorted(alerts.channels),
    )


@operation("PUT", "/api/alerts/{rule}", role=ADMIN)
def set_alert(call: Call, rule: str, body: RuleValues) -> Change:
    """Set values of a rule. They hold at once, for the whole fleet."""
    _checked(rule)
    given = {name: getattr(body, name) for name in ("threshold", "severity", "enabled", "least")}
    values = {name: value for name, value in given.items() if value is not msgspec.UNSET}
    if not values:
        raise UsageError(f"what to set? Give {', '.join(given)}")
    return call.app.alerts.set(rule, reason=body.reason, actor=call.who.actor, dry_run=body.dry_run, **values)


@operation("POST", "/api/alerts/{rule}/silence", role=ADMIN)
def silence_alert(call: Call, rule: str, body: Silence) -> Change:
    """Tell nobody of a rule's incidents for some time."""
    _checked(rule)
    told = {"reason": body.reason, "actor": call.who.actor}
    return call.app.alerts.silence(rule, body.duration, **told, dry_run=body.dry_run)


@operation("POST", "/api/alerts/{rule}/reset", role=ADMIN)
def reset_alert(call: Call, rule: str, body: Reasoned) -> Change:
    """Remove what operators have set of a rule, and its silence."""
    _checked(rule)
    return call.app.alerts.reset(rule, reason=body.reason, actor=call.who.actor, dry_run=body.dry_run)


def _checked(rule: str) -> None:
    with existing():
        core.check_rule(rule)
