"""Who calls: the bearer of a token, or the holder of a session. Nothing is cached: what is revoked is refused at once, everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..control.sessions import Sessions
from .roles import NOBODY, Access

if TYPE_CHECKING:
    from starlette.requests import Request

    from ..app import Mainstay
    from ..control.tokens import TokenRecord
    from .site import Site

COOKIE = "mainstay_session"
LONGEST = 200  # characters of a token or a session


class Tokens:
    """The tokens and sessions of an installation, as requests carry them."""

    def __init__(self, app: Mainstay) -> None:
        self._app, self.sessions = app, Sessions(app)

    async def access_of(self, site: Site, request: Request) -> Access | None:
        """Return what the token or the session of a request permits; None if it has none that is in force.

        A token wins over a cookie. One that is not in force is refused, also where the site is open to this machine.
        """
        bearer, session = _bearer(request), request.cookies.get(COOKIE)
        if bearer is not None:
            found = await site.in_thread(lambda: self._app.tokens.find(bearer))
            return access(found, "token") if found else NOBODY
        if session and len(session) <= LONGEST:
            found = await site.in_thread(lambda: self.sessions.find(session))
            return found and access(found, "session")
        return None


def access(token: TokenRecord, how: str) -> Access:
    """Return what a token permits: its bearer acts under its name."""
    return Access(token.role, token.name, token.tenant, how=how, token=token.id)


def _bearer(request: Request) -> str | None:
    """Return the text behind `Authorization: Bearer`; "" for a header that is not valid, which no token matches."""
    given = request.headers.get("authorization")
    if given is None:
        return None
    scheme, _, text = given.partition(" ")
    return text.strip() if scheme.lower() == "bearer" and len(text) <= LONGEST else ""
