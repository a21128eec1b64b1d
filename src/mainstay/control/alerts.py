"""Alerts of an application: what is wrong and was, the rules that find it, and the channels that carry the notices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core import alerts as core
from ..core.clock import span
from ..core.errors import NotFound, SendFailed
from ..core.ids import IDS
from ..core.rules import TROUBLE, WATCH
from ..senders.channels import Notice, channel
from .records import AlertRule, Incident
from .rules import EPOCH, change, instant, overrides, rules_by_name
from .settings import setting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..core.clock import Duration
    from ..core.job import Rule
    from ..flow import Flow
    from ..senders.channels import Channel
    from .records import Change

LINK = "dashboard_url"  # a setting of the installation
ON_SILENCE = "silenced"


class Alerts:
    """The verbs of alerts: `app.alerts`. Those that change a rule are in the audit trail with their actor."""

    def __init__(self, app: Flow) -> None:
        self._app = app

    def open(self) -> list[Incident]:
        """Return the incidents that are open, the newest first."""
        return [each for each in self.history() if each.closed_at is None]

    def history(self) -> list[Incident]:
        """Return the incidents of the last seven days, the newest first."""
        found = [_incident(rule) for rule in self._app.store.rules([TROUBLE]) if rule.name]
        return sorted(found, key=lambda each: each.opened_at, reverse=True)

    def rules(self) -> list[AlertRule]:
        """Return the rules, as they hold."""
        stored, now = rules_by_name(self._app, WATCH), self._app.clock.now()
        return [_rule(each, stored.get(each.name), now) for each in held(stored).values()]

    def set(
        self, rule: str, *, reason: str = "", actor: str = "python", dry_run: bool = False, **values: Any
    ) -> Change:  # fmt: skip
        """Set values of a rule: `threshold`, `severity`, `least`, `enabled`. They hold at once, for the whole fleet."""
        return change(self._app, WATCH, rule, core.checked(rule, values), (), reason, actor, dry_run, shown)

    def reset(self, rule: str, *, reason: str = "", actor: str = "python", dry_run: bool = False) -> Change:
        """Remove what operators have set of a rule, and its silence."""
        core.check_rule(rule)
        names = ("threshold", "severity", "least", "enabled", ON_SILENCE)
        return change(self._app, WATCH, rule, {}, names, reason, actor, dry_run, shown)

    def silence(
        self, rule: str, duration: Duration, *, reason: str = "", actor: str = "python", dry_run: bool = False
    ) -> Change:
        """Tell nobody of a rule's incidents for some time; 0 ends that. What is still wrong afterwards is told then."""
        core.check_rule(rule)
        ms = span("duration", duration)
        values, gone = ({ON_SILENCE: self._app.clock.now() + ms}, ()) if ms else ({}, (ON_SILENCE,))
        return change(self._app, WATCH, rule, values, gone, reason, actor, dry_run, shown)

    def send_to(self, name: str, **options: Any) -> None:
        """Add a channel, as `[alerts.NAME]` of the settings file does: `app.alerts.send_to("ops", kind="slack", url="https://…")`."""
        self._app.channels = {**self._app.channels, name: channel(name, options)}

    @property
    def channels(self) -> Mapping[str, Channel]:
        """The channels of this program, by name."""
        return self._app.channels

    def test(self) -> dict[str, str]:
        """Send a test notice to every channel of this program; return per channel what went wrong, "" if nothing did."""
        if not self._app.channels:
            raise NotFound(
                'no channel is configured: put [alerts.ops] with kind = "slack" and url = "…" into mainstay.toml, or call '
                "app.alerts.send_to"
            )
        now = self._app.clock.now()
        alert = core.Alert(core.TEST, "", "warning", "This is a test", "mainstay can reach this channel")
        notice = Notice(f"{IDS.new(now)}.{core.TEST}", core.TEST, now, alert, now, link_to(self._app, alert))
        return {name: _tried(each, notice) for name, each in self._app.channels.items()}


def _tried(to: Channel, notice: Notice) -> str:
    try:
        to.send(notice)
    except SendFailed as error:
        return str(error)
    return ""


def held(stored: Mapping[str, Rule]) -> dict[str, core.Held]:
    """Return the rules as they hold, from what operators have set of them."""
    return core.held({name: rule.value.get("set", {}) for name, rule in stored.items()})


def link_to(app: Flow, alert: core.Alert) -> str:
    """Return where the dashboard shows what an alert is about; nothing if no setting says where the dashboard is."""
    url = setting(app, LINK, None)
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        return ""
    return f"{url.rstrip('/')}/jobs/{alert.job}" if alert.job else url


def _rule(each: core.Held, rule: Rule | None, now: int) -> AlertRule:
    until = instant(each.silenced) if each.quiet(now) else None
    found = overrides(rule, shown)
    return AlertRule(each.name, each.severity, each.threshold, each.least, each.enabled, until, each.about, found)


def shown(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what operators have set of a rule, as people read it."""
    return {name: instant(value) if name == ON_SILENCE else value for name, value in values.items()}


def _incident(rule: Rule) -> Incident:
    value, alert = rule.value, core.Alert(*rule.value["alert"])
    past = tuple((instant(since) or EPOCH, instant(until) or EPOCH) for since, until in value["past"])
    return Incident(
        value["id"], *alert, instant(value["opened_at"]) or EPOCH, instant(value["closed_at"]), len(value["owed"]),
        not value["told"], past,
    )  # fmt: skip
