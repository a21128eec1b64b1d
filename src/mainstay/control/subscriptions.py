"""Event subscriptions: an event that is published creates the jobs that subscribe to it, all or none."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.errors import Conflict, InvalidPayload
from ..core.payload import encode, loads
from ..core.rules import SUBSCRIPTION
from ..core.webhooks import checked_event, checked_events, checked_id, wants
from . import job_templates
from .named_rules import NamedRules
from .rules import EPOCH, instant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from ..core.draft import Draft
    from ..core.job import Rule
    from ..handle import Handle
    from .records import Change

MOST = 1_000  # subscriptions: so many jobs are enqueued in one transaction
ROOTS = ("data", "event")


class SubscriptionRecord(NamedTuple):
    """A subscription: which job an event creates."""

    name: str
    event: str  # a pattern: invoice.paid, invoice.*, *
    type: str
    args: dict[str, Any] | None  # a template; None: the data of the event
    options: dict[str, Any]
    enabled: bool
    created_at: datetime
    updated_at: datetime


class Published(NamedTuple):
    """A job that an event has created, or found: it is not new if the event was published before under the same key."""

    subscription: str | None
    id: str
    created: bool


class Subscriptions(NamedRules):
    """The verbs of subscriptions: `app.subscriptions`. Those that change one are in the audit trail with their actor."""

    _kind, _word, _verbs = SUBSCRIPTION, "subscription", "app.subscriptions"

    def list(self) -> list[SubscriptionRecord]:
        """Return every subscription, by name."""
        return [_record(rule) for rule in self._rules()]

    def show(self, name: str) -> SubscriptionRecord:
        """Return one subscription; raise `NotFound` if there is none of that name."""
        return _record(self._rule(name))

    def add(
        self, name: str, event: str, type: str, args: Mapping[str, Any] | None = None, *, replace: bool = False, enabled: bool = True,
        reason: str = "", actor: str = "python", dry_run: bool = False, **options: Any,
    ) -> Change:  # fmt: skip
        """Let events of a pattern create jobs of a type: `add("ledger", "invoice.paid", "book", {"invoice": "$.data.id"}, queue="money")`.

        `args` is a template; without it, the data of the event are the arguments. `options` are queue, priority, delay, tags,
        and key, tenant and ref, in which `{data.id}` stands for a value. `replace` changes one that is there.
        """
        (pattern,) = checked_events([event])
        made = job_templates.checked(self._app, type, args, options, ROOTS)
        values = {"event": pattern, **made, "enabled": bool(enabled)}

        def added(before: Mapping[str, Any]) -> dict[str, Any]:
            if before and not replace:
                raise Conflict(
                    f"a subscription is called {name!r} already: give another name, or replace it (replace=True, --replace)"
                )
            if not before and len(self._rules()) >= MOST:
                raise Conflict(f"there are {MOST:,} subscriptions, which is the most: remove one")
            return {**values, "created_at": before.get("created_at", self._app.clock.now())}

        return self._edit(checked_id(name), added, reason, actor, dry_run)

    def enable(self, name: str, *, reason: str = "", actor: str = "python", dry_run: bool = False) -> Change:
        """Let events create the jobs of a subscription again."""
        return self._set(name, {"enabled": True}, reason, actor, dry_run)

    def disable(self, name: str, *, reason: str = "", actor: str = "python", dry_run: bool = False) -> Change:
        """Let events create no jobs of a subscription."""
        return self._set(name, {"enabled": False}, reason, actor, dry_run)

    def remove(self, name: str, *, reason: str = "", actor: str = "python", dry_run: bool = False) -> Change:
        """Remove a subscription. Jobs that it has created stay."""
        return self._remove(name, reason, actor, dry_run)

    def _shown(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return shown(values)

    # publish ----------------------------------------------------------------------------------------------------------
    def publish(self, event: str, data: Mapping[str, Any] | None, key: str | None, tx: object) -> Sequence[Handle[Any]]:
        """Enqueue the jobs that an event creates, in one transaction."""
        drafts = [draft for _, draft in self.prepare(event, data, key)]
        return self._app.enqueue_many(drafts, tx=tx) if drafts else []

    async def apublish(
        self, event: str, data: Mapping[str, Any] | None, key: str | None, tx: object
    ) -> Sequence[Handle[Any]]:
        """As `publish`, awaited."""
        import asyncio

        made = await asyncio.to_thread(self.prepare, event, data, key)
        return await self._app.aenqueue_many([draft for _, draft in made], tx=tx) if made else []

    def published(self, event: str, data: Mapping[str, Any] | None, key: str | None = None) -> Sequence[Published]:
        """As `publish`; return which subscription has created which job."""
        made = self.prepare(event, data, key)
        handles = self._app.enqueue_many([draft for _, draft in made]) if made else []
        return [Published(name, handle.id, handle.created) for (name, _), handle in zip(made, handles, strict=True)]

    def prepare(
        self, event: str, data: Mapping[str, Any] | None = None, key: str | None = None
    ) -> Sequence[tuple[str, Draft]]:
        """Return the jobs that an event would create, each with the name of its subscription."""
        if data is not None and not isinstance(data, dict):
            raise InvalidPayload(f"the data of an event is an object, not {type(data).__name__}")
        given = loads(encode(data or {}, self._app.max_payload))  # as it arrives: a copy, and JSON only
        root = {"event": checked_event(event), "data": given}
        rules = [rule for rule in self._rules() if _takes(rule, event)]
        return [(rule.name, self._draft(rule, root, key)) for rule in rules]

    def _draft(self, rule: Rule, root: Mapping[str, Any], key: str | None) -> Draft:
        own = None if key is None else f"{key}:{rule.name}"
        whose = f"the subscription {rule.name} of {root['event']}"
        return job_templates.draft(self._app, rule.value["set"], root, whose, own)


def _takes(rule: Rule, event: str) -> bool:
    values = rule.value["set"]
    return bool(values["enabled"]) and wants([values["event"]], event)


def _record(rule: Rule) -> SubscriptionRecord:
    value = rule.value["set"]
    return SubscriptionRecord(
        rule.name, value["event"], value["type"], job_templates.shown_args(value["args"]), value["options"], value["enabled"],
        instant(value["created_at"]) or EPOCH, instant(rule.at) or EPOCH,
    )  # fmt: skip


def shown(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a subscription, or of a receiver, as people read them."""
    found = {name: value for name, value in values.items() if name != "created_at" and value not in (None, {}, "")}
    return {name: _SHOWN[name](value) if name in _SHOWN else value for name, value in found.items()}


_SHOWN: dict[str, Callable[[Any], Any]] = {
    "args": job_templates.shown_args,
    "rotated_at": instant,
    "tolerance": lambda ms: timedelta(milliseconds=ms),
}
