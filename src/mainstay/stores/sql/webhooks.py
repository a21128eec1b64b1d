"""Deliveries of webhooks: recorded with what follows from them for their endpoint, read, and removed when they are old."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core import webhooks as core
from ...core.export import Batch, DeliveryRecord
from ...core.rules import WEBHOOK
from ..operations import together
from .breaker import put_rule, rule_of
from .rules import audited
from .store import rows

if TYPE_CHECKING:
    from ..operations import Operations
    from .store import SqlStore

KEY = {"job": "text", "token": "bigint"}


def record_delivery(store: SqlStore, delivery: DeliveryRecord, now: int) -> str | None:
    """Record a delivery; return why it has disabled its endpoint, if it has."""
    return store.write(lambda: _record(store, delivery, store.engine_now(now)), by_worker=True)


def _record(store: SqlStore, delivery: DeliveryRecord, now: int | None) -> Operations[str | None]:
    """Under the lock of admission if it failed, as `set_rule` is: failures are counted one after the other."""
    dialect, endpoint = store.dialect, delivery.endpoint
    put = dialect.statement("delivery_put", **delivery._asdict() | {"now": now})
    trim = dialect.statement("delivery_trim", endpoint=endpoint, now=now, window=core.WINDOW, most=core.KEPT)
    if delivery.error is None:
        yield from together(put, trim)
        return None
    ((instant,),) = (yield dialect.statement("admit_lock", now=now)).rows
    found = (yield dialect.statement("rules_named", kind=WEBHOOK, names=[endpoint])).rows
    rule = rule_of(found[0]) if found else None
    since, most = core.counted_from(rule, instant), core.disabled_at(rule, delivery.status)
    *_, counted = yield from together(put, trim, dialect.statement("delivery_failures", endpoint=endpoint, since=since))
    if rule is None or most is None or counted.rows[0][0] < most:
        return None
    after = core.disabled(rule, delivery.status, instant)
    yield put_rule(dialect, after)
    yield from audited(dialect, after, rule)
    return str(after.value["set"]["disabled_because"])


def deliveries(store: SqlStore, endpoint: str, limit: int) -> list[DeliveryRecord]:
    """Return deliveries to an endpoint, the newest first."""
    return list(map(DeliveryRecord._make, store.read(rows(store, "deliveries", endpoint=endpoint, limit=limit))))


def delivery_figures(store: SqlStore, endpoint: str, since: int) -> core.Figures:
    """Return how the deliveries to an endpoint went."""
    ((failures, succeeded, failed, ms, last),) = store.read(
        rows(store, "delivery_figures", endpoint=endpoint, since=since)
    )
    return core.Figures(failures, succeeded, failed, int(ms), last)


def prune_deliveries(store: SqlStore, now: int, keep: int, limit: int) -> int:
    """Delete old deliveries."""
    bound = {"now": store.engine_now(now), "keep": keep, "limit": limit}
    found = store.read(rows(store, "prune_deliveries", **bound), by_worker=True)
    if found:  # a delivery never changes its age: no lock is needed
        store.single(together(*store.dialect.delete("delivery", KEY, found)), by_worker=True)
    return len(found)


def export_deliveries(store: SqlStore, after: str | None, limit: int) -> Batch:
    """Return the next deliveries as `mainstay move` copies them."""
    job, _, token = (after or " -1").partition(" ")
    found = list(
        map(DeliveryRecord._make, store.read(rows(store, "export_deliveries", job=job, token=int(token), limit=limit)))
    )
    last = found[-1] if len(found) == limit else None
    return Batch(list(found), f"{last.job} {last.token}" if last else None)
