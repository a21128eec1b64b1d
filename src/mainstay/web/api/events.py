"""Events: publishing one creates the jobs that subscribe to it."""

from __future__ import annotations

from typing import Any

import msgspec

from ...control.subscriptions import Published
from ..call import Call
from ..operations import CREATION, Body, operation


class EventBody(Body, kw_only=True, frozen=True):
    """The data of an event. With a `key`, publishing it again creates nothing new."""

    data: dict[str, Any] = msgspec.field(default_factory=dict)
    key: str | None = None


class PublishedJobs(msgspec.Struct, kw_only=True):
    """The jobs that an event or a message has created, or found."""

    jobs: list[Published]


@operation("POST", "/api/events/{event}", status=201, bucket=CREATION)
def publish_event(call: Call, event: str, body: EventBody) -> PublishedJobs:
    """Publish an event: enqueue the jobs that subscribe to it, all or none."""
    return PublishedJobs(jobs=[*call.app.subscriptions.published(event, body.data, body.key)])
