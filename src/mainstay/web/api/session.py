"""The session: who you are, what you may see, and which installation this is; logging in with a token, and out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from starlette.responses import Response

from ... import __version__
from ...core.clock import iso
from ...core.masking import masked
from ..call import Call
from ..encode import encoded
from ..operations import LOGIN, OPERATIONS, Body, operation
from ..problems import Refused
from ..respond import HOSTED, nobody
from ..roles import ANYBODY, VIEWER
from ..tokens import COOKIE, access

if TYPE_CHECKING:
    from ..roles import Access

# The pages of the dashboard, and the path that each reads first: who may read that may see the page.
PAGES = {
    "overview": "/api/overview", "jobs": "/api/jobs", "dead": "/api/dead", "reviews": "/api/reviews", "types": "/api/types",
    "queues": "/api/queues", "limits": "/api/limits", "schedules": "/api/schedules", "workers": "/api/workers", "audit": "/api/audit",
    "alerts": "/api/alerts", "settings": "/api/settings", "webhooks": "/api/webhooks", "tokens": "/api/tokens",
    "subscriptions": "/api/subscriptions", "incoming": "/api/incoming",
}  # fmt: skip
NOT_IN_FORCE = "this token is unknown, revoked or expired; `mainstay token ls` lists those in force"


class Instance(msgspec.Struct, kw_only=True):
    """Which installation this is."""

    name: str
    environment: str | None
    accent: str | None
    url: str  # of the store, without its password
    engine: str
    version: str
    schema: str
    time: str


class Session(msgspec.Struct, kw_only=True):
    """Who calls, what they may see, and which installation this is."""

    actor: str
    role: str | None
    tenant: str | None
    authentication: str  # open, token, session or host
    instance: Instance
    creation: str  # open, authenticated or off
    pages: list[str]


class Login(Body, kw_only=True, frozen=True):
    """The token to log in with."""

    token: str


@operation("GET", "/api/session", role=ANYBODY, tenants=True, personal=True)
def read_session(call: Call) -> Session:
    """Return who calls, what they may see, and which installation this is; 401 if nobody is logged in."""
    if call.who.how == "none":
        raise nobody(call.site)
    return _session(call, call.who)


@operation("POST", "/api/session", role=ANYBODY, tenants=True, bucket=LOGIN)
def log_in(call: Call, body: Login) -> Response:
    """Exchange a token for a session, which a cookie holds. It ends 12 hours after its last use, and with its token."""
    if call.site.hosted:
        raise Refused(409, "hosted", HOSTED)
    made = call.site.tokens.sessions.open(body.token)
    if made is None:
        raise Refused(401, "unauthenticated", NOT_IN_FORCE, {"WWW-Authenticate": "Bearer"})
    text, token = made
    response = Response(encoded(_session(call, access(token, "session"))), media_type="application/json")
    _set_cookie(call, response, text)
    return response


@operation("DELETE", "/api/session", role=ANYBODY, tenants=True, status=204)
def log_out(call: Call) -> Response:
    """End the session."""
    text = call.request.cookies.get(COOKIE)
    if text:
        call.site.tokens.sessions.close(text)
    response = Response(status_code=204)
    _set_cookie(call, response, "", max_age=0)
    return response


def _set_cookie(call: Call, response: Response, text: str, max_age: int | None = None) -> None:
    """Set the cookie. Without a path, browsers send it to `…/api/` alone, wherever this is mounted and whatever proxy is before it."""
    secure = call.request.url.scheme == "https"
    response.set_cookie(COOKIE, text, max_age, path=None, secure=secure, httponly=True, samesite="lax")


def _session(call: Call, who: Access) -> Session:
    role = VIEWER if call.site.options["read_only"] else who.role  # all that it can use here
    return Session(
        actor=who.actor, role=role, tenant=who.tenant, authentication=who.how, instance=_instance(call, who),
        creation=call.site.options["creation"], pages=[name for name, path in PAGES.items() if _sees(who, path)],
    )  # fmt: skip


def _sees(who: Access, path: str) -> bool:
    found = OPERATIONS.get(("GET", path))
    return found is not None and who.permits(found.role) and (who.tenant is None or found.tenants)


def _instance(call: Call, who: Access) -> Instance:
    """Return the facts of the installation; a tenant does not learn where its store is."""
    store, options = call.app.store, call.site.options
    facts, where = store.diagnostics(), masked(store.url) if who.tenant is None else ""
    return Instance(
        name=options["name"] or "mainstay", environment=options["environment"], accent=options["accent"], url=where,
        engine=facts["engine"], version=__version__, schema=facts["schema"], time=iso(call.app.clock.now()),
    )  # fmt: skip
