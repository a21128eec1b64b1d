"""Deliveries of webhooks. Of each endpoint: the hash `delivery` has them by job and token, the set `delivered` their order.

The set `failed` has those of the last 24 hours that failed, for the count; `deliveries` has the endpoints.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from msgspec import msgpack

from ...core import webhooks as core
from ...core.export import Batch, DeliveryRecord
from ...core.rules import WEBHOOK
from . import header
from .reads import rule_of
from .rules import audit_line, text_of

if TYPE_CHECKING:
    from .store import RedisStore


def record_delivery(store: RedisStore, delivery: DeliveryRecord, now: int) -> str | None:
    """Record a delivery; return why it has disabled its endpoint, if it has."""
    while True:
        text = store.server.read("HGET", f"rule:{WEBHOOK}", delivery.endpoint) or ""
        rule = rule_of(WEBHOOK, delivery.endpoint, text) if text else None
        most = core.disabled_at(rule, delivery.status)
        after = None if rule is None or most is None else core.disabled(rule, delivery.status, now)
        asked = ["", ""] if after is None else [text_of(after), audit_line(after, rule)]
        reply = store.server.run(
            "record_delivery",
            [
                store.engine_now(now), delivery.endpoint, *_stored(delivery), int(delivery.error is not None), text,
                "" if most is None else most, core.counted_from(rule, 0), core.WINDOW, core.KEPT, *asked,
            ],
        )  # fmt: skip
        if reply != "changed":
            return None if after is None or reply != "disabled" else str(after.value["set"]["disabled_because"])


def _stored(delivery: DeliveryRecord) -> tuple[str, str]:
    """Return under which name a delivery is stored, and its values; the time is apart."""
    return f"{delivery.job} {delivery.token}", header.dumps(delivery[4:])


def _delivery(endpoint: str, at: str, member: str, text: str) -> DeliveryRecord:
    job, _, token = member.partition(" ")
    return DeliveryRecord(endpoint, int(float(at)), job, int(token), *json.loads(text))


def deliveries(store: RedisStore, endpoint: str, limit: int) -> list[DeliveryRecord]:
    """Return deliveries to an endpoint, the newest first."""
    found = store.server.run("deliveries", [endpoint, limit])
    return [_delivery(endpoint, *found[place : place + 3]) for place in range(0, len(found), 3)]


def delivery_figures(store: RedisStore, endpoint: str, since: int) -> core.Figures:
    """Return how the deliveries to an endpoint went."""
    failures, succeeded, failed, ms, last = store.server.run("delivery_figures", [endpoint, since])
    return core.Figures(failures, succeeded, failed, ms, last or None)


def prune_deliveries(store: RedisStore, now: int, keep: int, limit: int) -> int:
    """Delete old deliveries."""
    deleted: int = store.server.run("prune_deliveries", [store.engine_now(now), keep, limit])
    return deleted


def export_deliveries(store: RedisStore, after: str | None, _limit: int) -> Batch:
    """Return the deliveries to the next endpoint as `mainstay move` copies them."""
    found = store.server.read("ZRANGEBYLEX", "deliveries", "-" if after is None else f"({after}", "+", "LIMIT", 0, 1)
    return Batch(list(deliveries(store, found[0], 0)), found[0]) if found else Batch([], None)


def packed_delivery(*row: Any) -> tuple[str, bytes]:
    """Return the commands that add a delivery."""
    delivery = DeliveryRecord._make(row)
    (member, text), endpoint = _stored(delivery), delivery.endpoint
    commands: list[tuple[Any, ...]] = [
        ("HSET", f"delivery:{endpoint}", member, text), ("ZADD", f"delivered:{endpoint}", delivery.at, member),
        ("ZADD", "deliveries", 0, endpoint),
    ]  # fmt: skip
    if delivery.error is not None:
        commands.append(("ZADD", f"failed:{endpoint}", delivery.at, member))
    return "", msgpack.encode(commands)
