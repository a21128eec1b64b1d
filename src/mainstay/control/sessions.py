"""Sessions of the HTTP API: a token is exchanged for one, and it dies with that token. Only their hashes are stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core import tokens as core
from ..core.job import Rule
from ..core.rules import SESSION, TOKEN, TOKEN_HASH
from .rules import rules_by_name
from .tokens import Tokens, note

if TYPE_CHECKING:
    from ..flow import Flow
    from .tokens import TokenRecord


class Sessions:
    """Opens, finds and closes sessions. They leave no line in the audit trail: the token's last use says when it was used."""

    def __init__(self, app: Flow) -> None:
        self._app, self._tokens = app, Tokens(app)

    def open(self, text: str) -> tuple[str, TokenRecord] | None:
        """Exchange the text of a token for that of a new session; None if the token is not in force."""
        token = self._tokens.find(text)
        if token is None:
            return None
        self._make_room(token.id)
        made, now = core.new_session(), self._app.clock.now()
        value = {"token": token.id, "expires_at": _until(token, now)}
        self._app.store.set_rule(Rule(SESSION, core.digest(made), value, "", now), was=(None,))
        return made, token

    def find(self, text: str) -> TokenRecord | None:
        """Return the token of a session, and let the session last longer; None if either has ended."""
        rule = next(iter(self._app.store.rules([SESSION], core.digest(text))), None)
        now = self._app.clock.now()
        if rule is None or rule.value["expires_at"] <= now:
            return None
        token = self._tokens.in_force(rule.value["token"])
        if token is not None and _until(token, now) - rule.value["expires_at"] >= core.SESSION_NOTED:
            note(self._app, rule, {"expires_at": _until(token, now)})
        return token

    def close(self, text: str) -> None:
        """End a session, if there is one of this text."""
        self._remove(SESSION, core.digest(text))

    def _make_room(self, token: str) -> None:
        """Remove what has ended: expired sessions, those of revoked tokens, the first ones of a token with many, hashes without a token."""
        now, hashes = self._app.clock.now(), rules_by_name(self._app, TOKEN_HASH)
        found = sorted(self._app.store.rules([SESSION]), key=lambda rule: -int(rule.value["expires_at"]))
        known = rules_by_name(self._app, TOKEN)  # read last: whatever has no token now will never have one
        mine = [rule.name for rule in found if rule.value["token"] == token]
        ended = [rule.name for rule in found if rule.value["expires_at"] <= now or rule.value["token"] not in known]
        for name in dict.fromkeys([*ended, *mine[core.MOST_SESSIONS - 1 :]]):
            self._remove(SESSION, name)
        for name in hashes.keys() - known.keys():  # a revocation was cut short
            self._remove(TOKEN_HASH, name)

    def _remove(self, kind: str, name: str) -> None:
        self._app.store.set_rule(Rule(kind, name, {}, "", self._app.clock.now()), remove=True)


def _until(token: TokenRecord, now: int) -> int:
    """Return until when a session lasts that is used now: never longer than its token."""
    most = now + core.SESSION_LASTS
    return most if token.expires_at is None else min(most, int(token.expires_at.timestamp() * 1000))
