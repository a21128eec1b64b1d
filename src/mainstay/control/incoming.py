"""Incoming webhooks: receivers that verify who has sent a message, then create a job or publish an event."""

from __future__ import annotations

import hashlib
import logging
import secrets
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core import templates
from ..core.clock import milliseconds, span
from ..core.errors import Conflict, InvalidPayload, MainstayError, NotAllowed, UsageError
from ..core.payload import loads
from ..core.rules import INCOMING, INCOMING_SECRET
from ..core.suggest import did_you_mean
from ..core.webhooks import checked_event, checked_id
from ..senders.signature import key_of, new_secret
from . import job_templates, signatures
from .named_rules import NamedRules
from .records import NewSecret
from .rules import EPOCH, instant
from .stored_secrets import VARIABLE, check_variable, source
from .subscriptions import Published, Subscriptions, shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from ..core.clock import Duration
    from ..core.job import Rule
    from .records import Change

MOST = 1_000  # receivers
TOLERANCE, LONGEST = "5m", "1d"  # for which a signature with a time holds; and at most
ROOTS = ("data", "headers", "id")
NAMED = 200  # characters of the id of a message; of a longer one, its hash stands for it
LEAST = 8  # characters of a secret that is no key of Standard Webhooks
REFUSED = "no receiver of this name accepts this message: check the name, the secret and the clock of the sender"
_DUMMY = new_secret()  # verifies messages to receivers that do not exist, so that they take as long
_log = logging.getLogger("mainstay.incoming")


class NotVerified(NotAllowed):
    """Nobody knows who has sent the message."""


class IncomingRecord(NamedTuple):
    """A receiver of webhooks; never its secret."""

    name: str
    scheme: str  # standard, github, stripe or hmac
    header: str  # that has the signature
    event: str | None  # the event that a message publishes, a template; None: it creates a job of the type
    data: str | None  # the path in the body that is the data of the event; None: the whole body
    type: str | None
    args: dict[str, Any] | None
    options: dict[str, Any]
    message_id: str | None  # a template; None: what the signature covers
    tolerance: timedelta
    enabled: bool
    verified_by: str  # "a stored secret", or the name of a variable, $NAME
    created_at: datetime
    updated_at: datetime


class Incoming(NamedRules):
    """The verbs of receivers: `app.incoming`. Those that change one are in the audit trail with their actor."""

    _kind, _secret_kind, _word, _verbs = INCOMING, INCOMING_SECRET, "receiver", "app.incoming"

    def list(self) -> list[IncomingRecord]:
        """Return every receiver, by name."""
        known = {rule.name: rule for rule in self._app.store.rules([INCOMING_SECRET])}
        return [_record(rule, known.get(rule.name)) for rule in self._rules()]

    def show(self, name: str) -> IncomingRecord:
        """Return one receiver; raise `NotFound` if there is none of that name."""
        return _record(self._rule(name), self._secrets.rule(name))

    def add(
        self, name: str, *, scheme: str = signatures.STANDARD, secret: str | None = None, event: str | None = None, data: str | None = None,
        type: str | None = None, args: Mapping[str, Any] | None = None, header: str | None = None, message_id: str | None = None,
        tolerance: Duration = TOLERANCE, replace: bool = False, enabled: bool = True, reason: str = "", actor: str = "python",
        dry_run: bool = False, **options: Any,
    ) -> NewSecret:  # fmt: skip
        """Add a receiver at `…/api/hooks/NAME`: a message with a valid signature publishes an `event`, or creates a job of a `type`.

        Without a `secret`, one is made: this is the only time it is shown. `"$NAME"` names a variable of the environment of the server.
        `replace` changes one that is there; it keeps its secret if none is given.
        """
        before_secret = self._secrets.rule(checked_id(name))
        given, made = self._secret(scheme, secret, replace and before_secret is not None)
        values = self._checked(scheme, event, data, type, args, header, message_id, tolerance, options) | {
            "enabled": bool(enabled)
        }

        def added(before: Mapping[str, Any]) -> dict[str, Any]:
            self._check_place(name, before, replace)
            return {**values, "created_at": before.get("created_at", self._app.clock.now())}

        changed = self._edit(name, added, reason, actor, dry_run)
        if given is not None and not dry_run:
            self._secrets.put(name, [[given, None]], before_secret)
        return NewSecret(changed, name, None if dry_run else made)

    def enable(self, name: str, *, reason: str = "", actor: str = "python", dry_run: bool = False) -> Change:
        """Let a receiver accept messages again."""
        return self._set(name, {"enabled": True}, reason, actor, dry_run)

    def disable(self, name: str, *, reason: str = "", actor: str = "python", dry_run: bool = False) -> Change:
        """Let a receiver accept no messages: senders are told as if there were none of that name."""
        return self._set(name, {"enabled": False}, reason, actor, dry_run)

    def remove(self, name: str, *, reason: str = "", actor: str = "python", dry_run: bool = False) -> Change:
        """Remove a receiver and its secret."""
        return self._remove(name, reason, actor, dry_run)

    def rotate(
        self, name: str, *, secret: str | None = None, keep: Duration = "24h", reason: str = "", actor: str = "python", dry_run: bool = False,
    ) -> NewSecret:  # fmt: skip
        """Give a receiver a new secret. For `keep`, messages that the one before has signed are accepted too."""
        given, made = self._secret(self._rule(name).value["set"]["scheme"], secret, False)
        changed = self._rotate(name, str(given), keep, reason, actor, dry_run)
        return NewSecret(changed, name, None if dry_run else made)

    def _shown(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return shown(values)

    # receive ----------------------------------------------------------------------------------------------------------
    def receive(self, name: str, headers: Mapping[str, str], body: bytes) -> Sequence[Published]:
        """Verify a message, then create its jobs. The same message again creates nothing new. Header names are in lower case.

        Raises `NotVerified`, always with the same text, if there is no such receiver, or if the signature is not valid.
        """
        found = self._app.store.rules([INCOMING], name) if _may_be(name) else []
        values = found[0].value["set"] if found and found[0].value["set"]["enabled"] else None
        if not self._is_verified(name, values, headers, body) or values is None:
            raise NotVerified(REFUSED)
        data = _body(body)
        message = signatures.message_id(values["scheme"], headers, body, data)
        root = {"data": data, "headers": dict(headers), "id": message}
        if values["message_id"]:
            message = _text(name, values["message_id"], root)
        key = f"{name}:{_short(message)}"
        return self._publish(name, values, root, key) if values["event"] else self._enqueue(name, values, root, key)

    def _is_verified(
        self, name: str, values: Mapping[str, Any] | None, headers: Mapping[str, str], body: bytes
    ) -> bool:
        known, now = values or _NOBODY, self._app.clock.now() // 1000
        try:
            texts = self._secrets.in_force(name) if _may_be(name) else []  # read for no receiver too: it takes as long
            held = [self._secrets.resolved(name, text) for text in texts if values] or [_DUMMY]
            span_s = known["tolerance"] // 1000
            return signatures.verified(known["scheme"], held, headers, body, known["header"], now, span_s)
        except MainstayError as error:  # the sender learns nothing of it
            _log.error("the receiver %s refuses messages: %s", name, error)
            return False

    def _publish(self, name: str, values: Mapping[str, Any], root: dict[str, Any], key: str) -> Sequence[Published]:
        event = _text(name, values["event"], root)
        try:
            data = templates.found(root["data"], values["data"]) if values["data"] else root["data"]
        except templates.Missing:
            raise InvalidPayload(
                f"the receiver {name} takes {values['data']} of the body, which is not there"
            ) from None
        return Subscriptions(self._app).published(event, data, key)

    def _enqueue(self, name: str, values: Mapping[str, Any], root: dict[str, Any], key: str) -> Sequence[Published]:
        made = self._app.enqueue(job_templates.draft(self._app, values, root, f"the receiver {name}", key))
        return [Published(None, made.id, made.created)]

    # values -----------------------------------------------------------------------------------------------------------
    def _check_place(self, name: str, before: Mapping[str, Any], replace: bool) -> None:
        if before and not replace:
            raise Conflict(
                f"a receiver is called {name!r} already: give another name, or replace it (replace=True, --replace)"
            )
        if not before and len(self._rules()) >= MOST:
            raise Conflict(f"there are {MOST:,} receivers, which is the most: remove one")

    def _checked(
        self, scheme: str, event: Any, data: Any, type: Any, args: Any, header: Any, message_id: Any, tolerance: Any, options: Mapping[str, Any],
    ) -> dict[str, Any]:  # fmt: skip
        if (event is None) == (type is None):
            raise UsageError("give one of event= (a message publishes it) and type= (a message creates a job of it)")
        if event is not None and (args is not None or any(value is not None for value in options.values())):
            raise UsageError("args and options belong to the subscriptions of the event: give them there")
        if type is not None and data is not None:
            raise UsageError("data= belongs to event=: with type=, args takes what it needs of the body")
        if data is not None:
            templates.check(f"{templates.VALUE}data.{data}", ROOTS)
        for text in filter(None, (event, message_id)):
            templates.check_text(text, ROOTS)
        if event is not None and "{" not in event:
            checked_event(event)
        empty: dict[str, Any] = {"type": None, "args": None, "options": {}}
        job = empty if type is None else job_templates.checked(self._app, type, args, options, ROOTS)
        return {
            "scheme": scheme, "header": _checked_header(scheme, header), "event": event, "data": data, **job,
            "message_id": message_id, "tolerance": _checked_tolerance(tolerance),
        }  # fmt: skip

    def _secret(self, scheme: Any, secret: str | None, has_one: bool) -> tuple[str | None, str | None]:
        """Return a secret as it is stored, and what to show of it: only one that is made here. None: the one that is there stays."""
        if scheme not in signatures.SCHEMES:
            near = did_you_mean(scheme, signatures.SCHEMES) if isinstance(scheme, str) else ""
            raise UsageError(f"scheme={scheme!r:.40}{near}: give one of {', '.join(signatures.SCHEMES)}")
        if secret is None and has_one:
            return None, None
        if secret is None and scheme == signatures.STRIPE:
            raise UsageError(
                "give the secret that the sender has made, or $NAME of a variable that has it: with the scheme stripe none is made here"
            )
        if secret is None:
            made = new_secret() if scheme == signatures.STANDARD else secrets.token_hex(32)
            return made, made
        if secret.startswith(VARIABLE):
            check_variable(secret)
        elif scheme == signatures.STANDARD:
            key_of(secret)
        elif not (LEAST <= len(secret) <= 500 and secret.isprintable()):
            raise UsageError(
                f"give a secret of {LEAST} to 500 printable characters, or $NAME of a variable that has it"
            )
        return secret, None


_NOBODY: dict[str, Any] = {
    "scheme": signatures.STANDARD,
    "header": signatures.HEADERS[signatures.STANDARD],
    "tolerance": 300_000,
}


def _may_be(name: str) -> bool:
    """Whether a store can be asked for a receiver of this name."""
    return len(name) <= NAMED and "\0" not in name


def _checked_header(scheme: str, header: Any) -> str:
    usual = signatures.HEADERS[scheme]
    if header is None:
        return usual
    if scheme != signatures.HMAC:
        raise UsageError(f"header: the scheme {scheme} has its signature in {usual}; only that of hmac can be named")
    if not isinstance(header, str) or not header.isascii() or not header.replace("-", "").replace("_", "").isalnum():
        raise UsageError(f"header={header!r:.60}: give the name of a header, such as X-Signature")
    return header.lower()


def _checked_tolerance(tolerance: Any) -> int:
    found = span("tolerance", tolerance)
    if not 1_000 <= found <= milliseconds(LONGEST):
        raise UsageError(f"tolerance: give a duration from 1s to {LONGEST}")
    return found


def _body(body: bytes) -> Any:
    try:
        return loads(body.decode(), "body")
    except UnicodeDecodeError:
        raise InvalidPayload("the body is not JSON in UTF-8") from None


def _text(name: str, template: str, root: Mapping[str, Any]) -> str:
    try:
        return templates.text(template, root)
    except templates.Missing as error:
        raise InvalidPayload(f"the receiver {name} takes {error.args[0]}, which the message does not have") from None


def _short(message: str) -> str:
    """Return the id of a message as a part of a key."""
    plain = 0 < len(message) <= NAMED and message.isprintable()
    return message if plain else hashlib.sha256(message.encode()).hexdigest()


def _record(rule: Rule, secret: Rule | None) -> IncomingRecord:
    value = rule.value["set"]
    return IncomingRecord(
        rule.name, value["scheme"], value["header"], value["event"], value["data"], value["type"],
        job_templates.shown_args(value["args"]), value["options"], value["message_id"], timedelta(milliseconds=value["tolerance"]),
        value["enabled"], source(secret), instant(value["created_at"]) or EPOCH, instant(rule.at) or EPOCH,
    )  # fmt: skip
