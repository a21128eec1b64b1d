"""Webhooks of an application: the endpoints that get events, their secrets and deliveries, and the events that are sent."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from ..core import webhooks as core
from ..core.clock import iso
from ..core.errors import AddressRefused, Conflict, NotFound, UsageError
from ..core.export import DeliveryRecord
from ..core.outcome import Cancel, Permanent
from ..core.payload import clean
from ..core.rules import SIGNING, WEBHOOK
from ..redacting import redactor
from ..senders.addresses import parsed
from ..senders.signature import key_of, new_secret
from .named_rules import NamedRules
from .records import NewSecret, WebhookDelivery, WebhookRecord
from .rules import EPOCH, instant
from .stored_secrets import VARIABLE, check_variable, source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ..context import Context
    from ..core.clock import Duration
    from ..core.draft import Draft
    from ..core.job import Rule
    from ..handle import Handle
    from .records import Change

DESCRIPTION = 1_000  # characters
LONGEST = 2_000  # characters of a URL
OVERLAP = "24h"  # for which the secret before signs too
DISABLED = "webhook_disabled"  # the code of jobs that end so


class Webhooks(NamedRules):
    """The verbs of webhooks: `app.webhooks`. Those that change an endpoint are in the audit trail with their actor."""

    _kind, _secret_kind, _word, _verbs = WEBHOOK, SIGNING, "webhook", "app.webhooks"

    # look -------------------------------------------------------------------------------------------------------------
    def list(self) -> list[WebhookRecord]:
        """Return every endpoint, by id."""
        signing = {rule.name: rule for rule in self._app.store.rules([SIGNING])}
        return [self._record(rule, signing.get(rule.name)) for rule in self._rules()]

    def show(self, id: str) -> WebhookRecord:
        """Return one endpoint; raise `NotFound` if there is none of that id."""
        return self._record(self._rule(id), self._secrets.rule(id))

    def deliveries(self, id: str, limit: int = 50) -> Sequence[WebhookDelivery]:
        """Return the last attempts to deliver to an endpoint, the newest first; also of one that was removed."""
        if not 1 <= limit <= core.KEPT:
            raise UsageError(f"limit={limit}: give a number from 1 to {core.KEPT:,}: that many are kept")
        found = self._app.store.deliveries(core.checked_id(id), limit)
        if not found:
            self._rule(id)
        return [
            WebhookDelivery(_at(each.at), each.job, each.attempt, each.status, each.ms, each.error, each.answer)
            for each in found
        ]

    # change -----------------------------------------------------------------------------------------------------------
    def add(
        self, url: str, events: str | Iterable[str] = "*", *, id: str | None = None, secret: str | None = None,
        description: str = "", max_failures: int = core.MAX_FAILURES, reason: str = "", actor: str = "python", dry_run: bool = False,
    ) -> NewSecret:  # fmt: skip
        """Add an endpoint that gets the events of some patterns. Without a `secret`, one is made: this is the only time it is shown.

        A secret such as `"$BILLING_SECRET"` names a variable of the environment of the workers, and is not stored.
        """
        now, name = self._app.clock.now(), core.checked_id(id or f"wh_{secrets.token_hex(6)}")
        given, made = _checked_secret(secret)
        values = _checked({"url": url, "events": events, "description": description, "max_failures": max_failures})
        values |= {"enabled": True, "enabled_at": now, "created_at": now}

        def fresh(before: Mapping[str, Any]) -> dict[str, Any]:
            if before:
                raise Conflict(f"a webhook is called {name!r} already: give another id, or change it with update")
            return values

        changed = self._edit(name, fresh, reason, actor, dry_run)  # first: of two at once, one is refused here
        if not dry_run:
            self._secrets.put(name, [[given, None]], self._secrets.rule(name))
        return NewSecret(changed, name, made)

    def update(
        self, id: str, *, url: str | None = None, events: str | Iterable[str] | None = None, description: str | None = None,
        max_failures: int | None = None, reason: str = "", actor: str = "python", dry_run: bool = False,
    ) -> Change:  # fmt: skip
        """Change an endpoint. Messages that wait are delivered to it as it is then."""
        given = {"url": url, "events": events, "description": description, "max_failures": max_failures}
        values = _checked({name: value for name, value in given.items() if value is not None})
        return self._set(id, values, reason, actor, dry_run)

    def enable(self, id: str, *, reason: str = "", actor: str = "python", dry_run: bool = False) -> Change:
        """Let an endpoint get events again; failures count from now on. Dead messages are retried as other dead jobs are."""
        enabled = {"enabled": True, "enabled_at": self._app.clock.now(), "disabled_at": None, "disabled_because": None}
        same = self._rule(id).value["set"]["enabled"]
        return self._set(id, {} if same else enabled, reason, actor, dry_run)

    def disable(self, id: str, *, reason: str = "", actor: str = "python", dry_run: bool = False) -> Change:
        """Let an endpoint get no events. Messages that wait for it are cancelled when their turn comes."""
        disabled = {"enabled": False, "disabled_at": self._app.clock.now(), "disabled_because": core.OPERATOR}
        same = self._rule(id).value["set"].get("disabled_because") == core.OPERATOR
        return self._set(id, {} if same else disabled, reason, actor, dry_run)

    def remove(self, id: str, *, reason: str = "", actor: str = "python", dry_run: bool = False) -> Change:
        """Remove an endpoint and its secret. Its deliveries stay for their time."""
        return self._remove(id, reason, actor, dry_run)

    def rotate(
        self, id: str, *, secret: str | None = None, keep: Duration = OVERLAP, reason: str = "", actor: str = "python",
        dry_run: bool = False,
    ) -> NewSecret:  # fmt: skip
        """Give an endpoint a new secret. For `keep`, the one before signs too, so that the receiver can change over."""
        given, made = _checked_secret(secret)
        changed = self._rotate(id, given, keep, reason, actor, dry_run)
        return NewSecret(changed, id, made)

    def _shown(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return shown(values)

    # send -------------------------------------------------------------------------------------------------------------
    def send(
        self, event: str, data: Any = None, *, to: str | None = None, headers: Mapping[str, str] | None = None, tx: object = None,
        **options: Any,
    ) -> Sequence[Handle[Any]]:  # fmt: skip
        """Send an event: enqueue one job for each endpoint that wants it, all or none; with `tx=` they commit with that transaction.

        The body is `{"type": event, "timestamp": …, "data": data}`. `to` names one endpoint, whatever its patterns. `options` are those of
        jobs; with a `key`, each endpoint gets the event once.
        """
        drafts = self.prepare(event, data, to=to, headers=headers, **options)
        return self._app.enqueue_many(drafts, tx=tx) if drafts else []

    async def asend(
        self, event: str, data: Any = None, *, to: str | None = None, headers: Mapping[str, str] | None = None, tx: object = None,
        **options: Any,
    ) -> Sequence[Handle[Any]]:  # fmt: skip
        """As `send`, awaited; `tx=` is then an async connection or session."""
        import asyncio

        drafts = await asyncio.to_thread(self.prepare, event, data, to=to, headers=headers, **options)
        return await self._app.aenqueue_many(drafts, tx=tx) if drafts else []

    def prepare(
        self, event: str, data: Any = None, *, to: str | None = None, headers: Mapping[str, str] | None = None, **options: Any
    ) -> Sequence[Draft]:  # fmt: skip
        """Return the jobs that `send` would enqueue: for `ctx.enqueue`, or with others for `app.enqueue_many`."""
        core.checked_event(event)
        body = {"type": event, "timestamp": iso(self._app.clock.now()), "data": data}
        given = {"payload": body} | ({"headers": dict(headers)} if headers else {})
        rules = self._rules() if to is None else [self._rule(to)]
        chosen = [rule.name for rule in rules if to is not None or _gets(rule.value["set"], event)]
        return [self._app.prepare(core.TYPE, {"webhook_id": name, **given}, **_keyed(options, name)) for name in chosen]

    # deliver: for the handler of `webhook_dispatch` ---------------------------------------------------------------------
    def destination(self, id: str) -> tuple[str, Sequence[str]]:
        """Return the URL of an endpoint, and the secrets that sign, the newest first. Raises what ends a job whose endpoint gets nothing.

        That is `Permanent` if too many deliveries failed: it is retried when the endpoint is enabled. Otherwise it is `Cancel`.
        """
        found = self._app.store.rules([WEBHOOK], id)
        values: Mapping[str, Any] = found[0].value["set"] if found else {}
        if values.get("disabled_because") == core.MANY:
            again = f"mainstay webhooks enable {id}, then mainstay retry 'type:{core.TYPE} state:dead code:{DISABLED}'"
            raise Permanent(f"{DISABLED}: {core.why(values)}. When the receiver is well again: {again}", code=DISABLED)
        if not values.get("enabled"):
            raise Cancel(f"{DISABLED}: {core.why(values) or f'no webhook is called {id!r:.80}'}", code=DISABLED)
        texts = self._secrets.in_force(id)
        if not texts:
            raise NotFound(f"the webhook {id} has no secret: mainstay webhooks rotate {id}")
        found_secrets = [self._secrets.resolved(id, text) for text in texts]
        for each in found_secrets:
            key_of(each)
        return str(values["url"]), found_secrets

    def record(
        self, id: str, attempt: Context, status: int | None, ms: int, error: str | None, answer: str
    ) -> str | None:
        """Record what came of an attempt to deliver; return why it has disabled the endpoint, if it has."""
        job, texts = attempt.job, [clean(redactor().text(text or ""), core.ANSWER) or None for text in (error, answer)]
        made = DeliveryRecord(id, 0, job.id, job.token, attempt.attempt, status, ms, *texts)
        because = self._app.store.record_delivery(made, self._app.clock.now())
        if because is not None:
            self._app.events.emit("webhook_disabled", webhook=id, reason=because)
        return because

    # rows -------------------------------------------------------------------------------------------------------------
    def _record(self, rule: Rule, signing: Rule | None) -> WebhookRecord:
        value, now = rule.value["set"], self._app.clock.now()
        older = [until for _, until in (signing.value["secrets"] if signing else [])[1:] if until > now]
        kept = self._app.store.delivery_figures(rule.name, core.counted_from(rule, now))
        return WebhookRecord(
            rule.name, value["url"], tuple(value["events"]), value["description"], value["max_failures"], value["enabled"],
            instant(value.get("disabled_at")), value.get("disabled_because"), _at(value["created_at"]), _at(rule.at),
            instant(value.get("rotated_at")), source(signing), instant(older[0]) if older else None, kept.failures,
            kept.succeeded, kept.failed, round(kept.ms / kept.succeeded) if kept.succeeded else None, instant(kept.last),
        )  # fmt: skip


def _checked_secret(secret: str | None) -> tuple[str, str | None]:
    """Return a secret as it is stored, and what to show of it: only one that is made here."""
    if secret is None:
        made = new_secret()
        return made, made
    if not secret.startswith(VARIABLE):
        key_of(secret)
    else:
        check_variable(secret)
    return secret, None


def _checked(values: Mapping[str, Any]) -> dict[str, Any]:
    checks: dict[str, Callable[[Any], Any]] = {
        "url": checked_url, "events": core.checked_events, "max_failures": core.checked_failures,
        "description": _checked_description,
    }  # fmt: skip
    return {name: checks[name](value) for name, value in values.items()}


def _checked_description(text: Any) -> str:
    if not isinstance(text, str):
        raise UsageError(f"description={text!r:.60}: give a text")
    return clean(text, DESCRIPTION)


def checked_url(url: Any) -> str:
    """Return a URL; raise for one that cannot be called. Its addresses are checked whenever something is sent there."""
    if not isinstance(url, str) or len(url) > LONGEST:
        raise UsageError(f"url: give a text of up to {LONGEST:,} characters")
    try:
        parsed(url)
    except AddressRefused as error:
        raise UsageError(f"url: {error}") from None
    return url


def _gets(values: Mapping[str, Any], event: str) -> bool:
    """Whether an endpoint gets an event. One that failed too often does: its messages are dead letters until it is enabled."""
    return core.wants(values["events"], event) and (values["enabled"] or values.get("disabled_because") == core.MANY)


def _keyed(options: Mapping[str, Any], id: str) -> dict[str, Any]:
    return {**options, "key": f"{options['key']}:{id}"} if isinstance(options.get("key"), str) else dict(options)


def shown(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of an endpoint as people read them."""
    return {
        name: instant(value) if name.endswith("_at") else value
        for name, value in values.items() if name != "enabled_at" and value not in (None, "")
    }  # fmt: skip


def _at(ms: int) -> Any:
    return instant(ms) or EPOCH
