"""Tokens: who may use this API, with which role, for which tenant, and until when."""

from __future__ import annotations

from ...control.json_records import plain
from ...control.records import Change
from ...control.tokens import EXPIRES, TokenRecord
from ..call import Call
from ..encode import Revealed
from ..operations import Body, operation
from ..roles import ADMIN


class NewToken(Body, kw_only=True, frozen=True):
    """The token to make."""

    name: str
    role: str = "viewer"
    tenant: str | None = None
    expires: str | None = EXPIRES
    reason: str = ""


class Reason(Body, kw_only=True, frozen=True):
    """Why a token is revoked."""

    reason: str = ""
    dry_run: bool = False


class MadeToken(Revealed, kw_only=True):
    """A token with its text, which is shown this once."""

    id: str
    name: str
    role: str
    tenant: str | None
    created_at: str
    created_by: str
    expires_at: str | None
    last_used_at: str | None
    expired: bool
    token: str


@operation("GET", "/api/tokens", role=ADMIN)
def list_tokens(call: Call) -> list[TokenRecord]:
    """Return every token, the oldest first; never their texts."""
    return call.app.tokens.list()


@operation("POST", "/api/tokens", role=ADMIN, status=201)
def create_token(call: Call, body: NewToken) -> MadeToken:
    """Make a token, and return its text this once. `expires` null: it holds until it is revoked."""
    made = call.app.tokens.create(
        body.name, body.role, tenant=body.tenant, expires=body.expires, reason=body.reason, actor=call.who.actor
    )
    return MadeToken(**plain(call.app.tokens.show(made.id)), token=made.text or "")


@operation("DELETE", "/api/tokens/{id}", role=ADMIN)
def revoke_token(call: Call, id: str, body: Reason) -> Change:
    """Revoke a token. It and its sessions are refused from now on."""
    return call.app.tokens.revoke(id, reason=body.reason, actor=call.who.actor, dry_run=body.dry_run)
