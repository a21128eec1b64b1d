"""Webhooks: the endpoints that get events, and how their deliveries went."""

from __future__ import annotations

from typing import Annotated

import msgspec

from ...control.records import Change, WebhookDelivery, WebhookRecord
from ...core.webhooks import MAX_FAILURES
from ..call import Call
from ..changes import Reasoned, Rotation, SecretChange, given, with_secret
from ..operations import Query, operation
from ..roles import ADMIN


class WebhookBody(Reasoned, frozen=True, kw_only=True):
    """An endpoint that gets the events of some patterns. Without a `secret`, one is made, which is shown once; `$NAME` names a variable of the workers."""

    url: str
    events: list[str] = msgspec.field(default_factory=lambda: ["*"])
    id: str | None = None
    secret: str | None = None
    description: str = ""
    max_failures: int = MAX_FAILURES


class WebhookValues(Reasoned, frozen=True, kw_only=True):
    """What is changed of an endpoint."""

    url: str | None = None
    events: list[str] | None = None
    description: str | None = None
    max_failures: int | None = None


class Newest(Query, frozen=True, kw_only=True):
    """How many deliveries."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=200)] = 50


@operation("GET", "/api/webhooks")
def list_webhooks(call: Call) -> list[WebhookRecord]:
    """Return the endpoints that get events, without their secrets."""
    return call.app.webhooks.list()


@operation("GET", "/api/webhooks/{id}/deliveries")
def list_deliveries(call: Call, id: str, query: Newest) -> list[WebhookDelivery]:
    """Return the last deliveries to an endpoint, newest first."""
    return list(call.app.webhooks.deliveries(id, query.limit))


@operation("POST", "/api/webhooks", role=ADMIN, status=201)
def add_webhook(call: Call, body: WebhookBody) -> SecretChange:
    """Add an endpoint that gets events."""
    return SecretChange(**with_secret(call.app.webhooks.add(**given(call, body))))


@operation("PATCH", "/api/webhooks/{id}", role=ADMIN)
def change_webhook(call: Call, id: str, body: WebhookValues) -> Change:
    """Change an endpoint. Messages that wait are delivered to it as it is then."""
    return call.app.webhooks.update(id, **given(call, body))


@operation("POST", "/api/webhooks/{id}/enable", role=ADMIN)
def enable_webhook(call: Call, id: str, body: Reasoned) -> Change:
    """Let an endpoint get events again; failures count from now on."""
    return call.app.webhooks.enable(id, **given(call, body))


@operation("POST", "/api/webhooks/{id}/disable", role=ADMIN)
def disable_webhook(call: Call, id: str, body: Reasoned) -> Change:
    """Let an endpoint get no events. Messages that wait for it are cancelled when their turn comes."""
    return call.app.webhooks.disable(id, **given(call, body))


@operation("POST", "/api/webhooks/{id}/rotate", role=ADMIN)
def rotate_webhook(call: Call, id: str, body: Rotation) -> SecretChange:
    """Give an endpoint a new secret. For some time both sign, so that the receiver can change over."""
    return SecretChange(**with_secret(call.app.webhooks.rotate(id, **given(call, body))))


@operation("DELETE", "/api/webhooks/{id}", role=ADMIN)
def remove_webhook(call: Call, id: str, body: Reasoned) -> Change:
    """Remove an endpoint and its secret. Its deliveries stay for their time."""
    return call.app.webhooks.remove(id, **given(call, body))
