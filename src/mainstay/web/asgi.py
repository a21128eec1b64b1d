"""The ASGI application of a site: the operations as routes, the files of the dashboard, and headers that protect its pages."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from .problems import Refused
from .respond import failed, respond
from .table import operations

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from .operations import Operation
    from .site import Site

STATIC = os.path.join(os.path.dirname(__file__), "static")
POLICY = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
]


def application(site: Site) -> ASGIApp:
    """Return the ASGI application of a site. It needs no start and no end, so that it can be mounted anywhere."""
    routes = [_route(site, path, each) for path, each in _by_path(operations()).items()]
    files = Mount("/assets", StaticFiles(directory=os.path.join(STATIC, "assets"), check_dir=False))
    icon = Route("/icon.svg", _icon, methods=["GET"])
    page = Route("/{nothing:path}", _page, methods=["GET"])
    made = Starlette(routes=[*routes, files, icon, page], exception_handlers={HTTPException: _not_routed})  # type: ignore[dict-item]
    return _protected(made)


def _by_path(listed: Iterable[Operation]) -> dict[str, dict[str, Operation]]:
    found: dict[str, dict[str, Operation]] = {}
    for each in listed:
        found.setdefault(each.path, {})[each.method] = each
    return found


def _route(site: Site, path: str, by_method: dict[str, Operation]) -> Route:
    async def endpoint(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        return await respond(site, by_method[method], request)

    return Route(path, endpoint, methods=list(by_method))


async def _icon(_request: Request) -> Response:
    return FileResponse(os.path.join(STATIC, "icon.svg"))


async def _page(request: Request) -> Response:
    """Return the one page of the dashboard. Its own paths stand behind the #, so only the mount point itself has a page."""
    if request.path_params["nothing"]:
        return failed(Refused(404, "not_found", "there is no such path: api/openapi.json lists all"))
    if not request.url.path.endswith("/"):  # relative paths of the page need it
        return RedirectResponse(f"{request.url.path.rpartition('/')[2]}/")
    return FileResponse(os.path.join(STATIC, "index.html"), headers={"Cache-Control": "no-cache"})


async def _not_routed(_request: Request, error: HTTPException) -> Response:
    code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "refused")
    detail = f"{error.detail}: api/openapi.json lists every path and its methods"
    return failed(Refused(error.status_code, code, detail, dict(error.headers or {})))


def _protected(inner: ASGIApp) -> ASGIApp:
    async def outer(scope: Scope, receive: Receive, send: Send) -> None:
        await inner(scope, receive, functools.partial(_send, scope, send) if scope["type"] == "http" else send)

    return outer


async def _send(scope: Scope, send: Send, message: Message) -> None:
    """Send a message; the first one gets the headers. What the API returns is kept by no cache."""
    if message["type"] == "http.response.start":
        headers: list[Any] = message.setdefault("headers", [])
        headers += HEADERS
        if "/api/" in scope["path"] and not any(name.lower() == b"cache-control" for name, _ in headers):
            headers.append((b"cache-control", b"no-store"))
    await send(message)
