"""Subscriptions: which jobs an event creates."""

from __future__ import annotations

from typing import Any

import msgspec

from ...control.job_templates import check_names
from ...control.records import Change
from ...control.subscriptions import SubscriptionRecord
from ..call import Call
from ..changes import Reasoned, given
from ..operations import Body, operation
from ..roles import ADMIN


class SubscriptionBody(Body, kw_only=True, frozen=True):
    """Which job an event creates. Without `args`, the data of the event are its arguments."""

    event: str
    type: str
    args: dict[str, Any] | None = None
    options: dict[str, Any] = msgspec.field(default_factory=dict)
    enabled: bool = True
    reason: str = ""
    dry_run: bool = False


@operation("GET", "/api/subscriptions")
def list_subscriptions(call: Call) -> list[SubscriptionRecord]:
    """Return every subscription, by name."""
    return call.app.subscriptions.list()


@operation("PUT", "/api/subscriptions/{name}", role=ADMIN)
def set_subscription(call: Call, name: str, body: SubscriptionBody) -> Change:
    """Add a subscription, or replace the one of this name."""
    check_names(body.options)
    return call.app.subscriptions.add(
        name, body.event, body.type, body.args, replace=True, enabled=body.enabled, reason=body.reason, actor=call.who.actor,
        dry_run=body.dry_run, **body.options,
    )  # fmt: skip


@operation("POST", "/api/subscriptions/{name}/enable", role=ADMIN)
def enable_subscription(call: Call, name: str, body: Reasoned) -> Change:
    """Let events create the jobs of a subscription again."""
    return call.app.subscriptions.enable(name, **given(call, body))


@operation("POST", "/api/subscriptions/{name}/disable", role=ADMIN)
def disable_subscription(call: Call, name: str, body: Reasoned) -> Change:
    """Let events create no jobs of a subscription."""
    return call.app.subscriptions.disable(name, **given(call, body))


@operation("DELETE", "/api/subscriptions/{name}", role=ADMIN)
def remove_subscription(call: Call, name: str, body: Reasoned) -> Change:
    """Remove a subscription. Jobs that it has created stay."""
    return call.app.subscriptions.remove(name, **given(call, body))
