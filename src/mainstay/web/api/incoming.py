"""Incoming webhooks: receivers that verify messages, and the path to which messages are sent."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import msgspec

from ...control.incoming import REFUSED, NotVerified
from ...control.job_templates import check_names
from ...control.records import Change
from ..bodies import read_body
from ..call import Call
from ..changes import Reasoned, Rotation, SecretChange, given, with_secret
from ..operations import HOOKS, Body, operation
from ..problems import Refused
from ..roles import ADMIN, ANYBODY
from .events import PublishedJobs


class Receiver(msgspec.Struct, kw_only=True):
    """A receiver of webhooks, and where messages are sent to; never its secret."""

    name: str
    url: str
    scheme: str
    header: str
    event: str | None
    data: str | None
    type: str | None
    args: dict[str, Any] | None
    options: dict[str, Any]
    message_id: str | None
    tolerance: timedelta
    enabled: bool
    verified_by: str
    created_at: datetime
    updated_at: datetime


class ReceiverBody(Body, kw_only=True, frozen=True):
    """What a receiver verifies and creates: the `event` that a message publishes, or the `type` of the job that it creates.

    Without a `secret`, a new receiver gets one, which is shown once; `$NAME` names a variable of the environment of the server.
    """

    scheme: str = "standard"
    secret: str | None = None
    event: str | None = None
    data: str | None = None
    type: str | None = None
    args: dict[str, Any] | None = None
    header: str | None = None
    message_id: str | None = None
    tolerance: str = "5m"
    options: dict[str, Any] = msgspec.field(default_factory=dict)
    enabled: bool = True
    reason: str = ""
    dry_run: bool = False


class ReceiverChange(SecretChange, kw_only=True):
    """What was changed of a receiver; with the secret if one was made, which is shown this once."""

    url: str


@operation("GET", "/api/incoming")
def list_receivers(call: Call) -> list[Receiver]:
    """Return every receiver, by name."""
    return [Receiver(**each._asdict(), url=_url(call, each.name)) for each in call.app.incoming.list()]


@operation("PUT", "/api/incoming/{name}", role=ADMIN)
def set_receiver(call: Call, name: str, body: ReceiverBody) -> ReceiverChange:
    """Add a receiver, or replace the one of this name, which keeps its secret if none is given."""
    check_names(body.options)
    values = given(call, body)
    options = values.pop("options")
    made = call.app.incoming.add(name, **values, replace=True, **options)
    return ReceiverChange(**with_secret(made), url=_url(call, name))


@operation("POST", "/api/incoming/{name}/rotate", role=ADMIN)
def rotate_receiver(call: Call, name: str, body: Rotation) -> ReceiverChange:
    """Give a receiver a new secret. For some time both hold, so that the sender can change over."""
    made = call.app.incoming.rotate(name, **given(call, body))
    return ReceiverChange(**with_secret(made), url=_url(call, name))


@operation("POST", "/api/incoming/{name}/enable", role=ADMIN)
def enable_receiver(call: Call, name: str, body: Reasoned) -> Change:
    """Let a receiver accept messages again."""
    return call.app.incoming.enable(name, **given(call, body))


@operation("POST", "/api/incoming/{name}/disable", role=ADMIN)
def disable_receiver(call: Call, name: str, body: Reasoned) -> Change:
    """Let a receiver accept no messages: senders are told as if there were none of that name."""
    return call.app.incoming.disable(name, **given(call, body))


@operation("DELETE", "/api/incoming/{name}", role=ADMIN)
def remove_receiver(call: Call, name: str, body: Reasoned) -> Change:
    """Remove a receiver and its secret."""
    return call.app.incoming.remove(name, **given(call, body))


@operation("POST", "/api/hooks/{name}", role=ANYBODY, tenants=True, status=202, bucket=HOOKS)
async def receive_message(call: Call, name: str) -> PublishedJobs:
    """Receive a message: JSON, verified by its signature. 401 says nothing more: not even whether there is such a receiver."""
    body = await read_body(call.app, call.request)
    headers = dict(call.request.headers)
    try:
        found = await call.site.in_thread(lambda: call.app.incoming.receive(name, headers, body))
    except NotVerified:
        raise Refused(401, "not_verified", REFUSED) from None
    return PublishedJobs(jobs=[*found])


def _url(call: Call, name: str) -> str:
    return f"{call.request.base_url}api/hooks/{name}"
