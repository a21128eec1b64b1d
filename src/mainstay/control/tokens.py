"""Tokens of the HTTP API: who may use it, with which role, for which tenant, and until when."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core import tokens as core
from ..core.clock import span
from ..core.errors import Conflict, NotFound, StoreError, UsageError
from ..core.job import Rule, RuleChanged
from ..core.rules import TOKEN, TOKEN_HASH
from ..core.suggest import did_you_mean
from ..options import checked_tenant
from .rules import EPOCH, edit, instant, rules_by_name

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from ..core.clock import Duration
    from ..flow import Flow
    from .records import Change

EXPIRES = "90d"
_log = logging.getLogger("mainstay.tokens")


class TokenRecord(NamedTuple):
    """A token of the HTTP API; never its secret."""

    id: str
    name: str  # under which its bearer acts
    role: str  # viewer, operator or admin
    tenant: str | None  # whose jobs its bearer sees, with those of the tenants below it; None: all jobs
    created_at: datetime
    created_by: str
    expires_at: datetime | None  # None: never
    last_used_at: datetime | None  # to the minute
    expired: bool


class NewToken(NamedTuple):
    """A token that was made: its text is shown here and nowhere else. None: it was a dry run."""

    change: Change
    id: str
    text: str | None


class Tokens:
    """The verbs of tokens: `app.tokens`. Those that change something are in the audit trail with their actor."""

    def __init__(self, app: Flow) -> None:
        self._app = app

    def list(self) -> list[TokenRecord]:
        """Return every token, the oldest first."""
        used = rules_by_name(self._app, TOKEN_HASH)
        found = [self._record(rule, used.get(rule.name)) for rule in self._app.store.rules([TOKEN])]
        return sorted(found, key=lambda each: (each.created_at, each.name, each.id))

    def show(self, id: str) -> TokenRecord:
        """Return one token; raise `NotFound` if there is none of that id."""
        token, used = self._read(id)
        if token is None:
            known = [rule.name for rule in self._app.store.rules([TOKEN])]
            raise NotFound(f"no token is called {id!r:.60}{did_you_mean(id, known)}; app.tokens.list() lists them")
        return self._record(token, used)

    def create(
        self, name: str, role: str = core.VIEWER, *, tenant: str | None = None, expires: Duration | None = EXPIRES,
        reason: str = "", actor: str = "python", dry_run: bool = False,
    ) -> NewToken:  # fmt: skip
        """Make a token. Its text is shown this once: only a hash of it is stored. `expires=None`: it holds until it is revoked."""
        now, values = self._app.clock.now(), self._checked(name, role, tenant, expires)
        made = core.new_text()

        def fresh(before: Mapping[str, Any]) -> dict[str, Any]:
            if before:  # one in 10¹² for each token that there is
                raise Conflict("the random id of the new token is taken: repeat it")
            return {**values, "created_at": now, "created_by": actor}

        changed = edit(self._app, TOKEN, made.id, fresh, reason, actor, dry_run, shown)
        if dry_run:
            return NewToken(changed, made.id, None)
        # A row of its own, so that no audit line has the hash. Until it is there, nobody can use the token.
        self._app.store.set_rule(Rule(TOKEN_HASH, made.id, {"hash": core.digest(made.text)}, "", now), was=(None,))
        return NewToken(changed, made.id, made.text)

    def revoke(self, id: str, *, reason: str = "", actor: str = "python", dry_run: bool = False) -> Change:
        """Remove a token. It and its sessions are refused from now on, in every process."""
        self.show(id)
        made = edit(self._app, TOKEN, id, lambda _: {}, reason, actor, dry_run, shown)
        if not dry_run:
            self._app.store.set_rule(Rule(TOKEN_HASH, id, {}, "", self._app.clock.now()), remove=True)
        return made

    def find(self, text: str) -> TokenRecord | None:
        """Return the token of this text, and note that it is used; None if it is unknown, revoked or expired."""
        id = core.id_of(text)
        token, used = self._read(id) if id else (None, None)
        known = used is not None and core.matches(text, used.value["hash"])
        return self._in_force(token, used) if known else None

    def in_force(self, id: str) -> TokenRecord | None:
        """Return a token by its id, and note that it is used; None if it was revoked or has expired. For sessions."""
        return self._in_force(*self._read(id))

    def _in_force(self, token: Rule | None, used: Rule | None) -> TokenRecord | None:
        """Return a token that has both rows and has not expired; note its use at most once a minute, without an audit line."""
        if token is None or used is None or (found := self._record(token, used)).expired:
            return None
        now = self._app.clock.now()
        if now - used.value.get("used_at", 0) >= core.NOTED:
            note(self._app, used, {"used_at": now})
        return found

    # rows -------------------------------------------------------------------------------------------------------------
    def _read(self, id: str) -> tuple[Rule | None, Rule | None]:
        """Return the row of a token and that of its hash: only who has both can be let in."""
        found = {rule.kind: rule for rule in self._app.store.rules([TOKEN, TOKEN_HASH], str(id))}
        return found.get(TOKEN), found.get(TOKEN_HASH)

    def _checked(self, name: str, role: str, tenant: str | None, expires: Duration | None) -> dict[str, Any]:
        lasts = None if expires is None else span("expires", expires)
        if lasts is not None and lasts <= 0:
            raise UsageError("expires: give a duration above zero, such as 90d, or None: it then holds until revoked")
        if len(self._app.store.rules([TOKEN])) >= core.MOST:
            raise Conflict(f"there are {core.MOST:,} tokens, which is the most: revoke those that nobody uses")
        scope = None if tenant is None else checked_tenant(tenant)
        if scope is not None and scope.endswith("/*"):
            above = scope.removesuffix("/*")
            raise UsageError(f"tenant={scope!r:.60}: a token for {above} sees the tenants below it too")
        named, of = core.checked_token_name(name), core.checked_role(role)
        until = None if lasts is None else self._app.clock.now() + lasts
        return {"name": named, "role": of, "tenant": scope, "expires_at": until}

    def _record(self, rule: Rule, used: Rule | None) -> TokenRecord:
        value, now = rule.value["set"], self._app.clock.now()
        until, last = value["expires_at"], used.value.get("used_at") if used else None
        return TokenRecord(
            rule.name, value["name"], value["role"], value["tenant"], instant(value["created_at"]) or EPOCH, value["created_by"],
            instant(until), instant(last), until is not None and until <= now,
        )  # fmt: skip


def note(app: Flow, rule: Rule, values: Mapping[str, Any]) -> None:
    """Note that a token or a session is used."""
    try:
        with suppress(RuleChanged):  # another process has noted it, or it is removed at this moment
            app.store.set_rule(rule._replace(value={**rule.value, **values}, at=app.clock.now()), was=(rule,))
    except StoreError as error:  # a store that cannot be written must not keep operators from looking at it
        _log.warning("the use of a %s is not noted: %s", rule.kind, error)


def shown(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a token as people read them."""
    return {
        name: instant(value) if name.endswith("_at") else value for name, value in values.items() if value is not None
    }
