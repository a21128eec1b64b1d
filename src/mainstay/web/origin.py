"""Refuses requests that another site makes a browser send (CSRF), and names that lead to this machine from outside (DNS rebinding)."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from .problems import Refused

if TYPE_CHECKING:
    from starlette.requests import Request

OWN = ("same-origin", "none")  # of Sec-Fetch-Site: our page, or typed by the user
# Headers that proxies add: a request that has one comes from elsewhere, whatever its connection says.
FORWARDED = ("forwarded", "x-forwarded-", "x-real-ip", "x-client-ip", "true-client-ip", "cf-", "via")
REFERRERS = ("origin", "referer")


def check(request: Request) -> None:
    """Raise `Refused` if a browser says that another site sent this request. Programs other than browsers say nothing."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        refused = site not in OWN
    else:  # an older browser, or no browser
        place = _place(origin or "")
        refused = origin is not None and (not place or place != request.headers.get("host", "").lower())
    if refused:
        raise Refused(403, "cross_site", "this request comes from a page of another site; open the dashboard itself")


def is_local(request: Request) -> bool:
    """Whether a request comes from this machine to this machine by its own name, and not through a proxy.

    A proxy that adds no header, such as nginx as it is installed, speaks HTTP/1.0, which no browser does; and a browser behind it says
    from which page its request comes.
    """
    headers, client = request.headers, request.client.host if request.client else ""
    if request.scope.get("http_version") == "1.0" or any(name.startswith(FORWARDED) for name in headers):
        return False
    named = [f"//{headers.get('host', '')}", *(headers[name] for name in REFERRERS if name in headers)]
    return is_loopback(client) and all(is_loopback(_host(each)) for each in named)


def _place(url: str) -> str:
    """Return the host and the port of a URL in lower case; "" for what is none."""
    try:
        return urlsplit(url).netloc.lower()
    except ValueError:
        return ""


def _host(url: str) -> str:
    """Return the host of a URL; "" for what is none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, as seen by itself."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
