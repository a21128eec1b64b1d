"""Runs an operation for a request: who calls, whether they may, with which arguments; and makes the response."""

from __future__ import annotations

import inspect
import logging
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.responses import Response

from . import origin
from .bodies import read_body
from .call import Call
from .encode import encoded
from .problems import MEDIA, Refused, is_inner, problem_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.datastructures import QueryParams
    from starlette.requests import Request

    from .operations import Body, Operation
    from .roles import Access
    from .site import Site

NO_CONTENT = 204
LOG_IN = "log in first: `mainstay token create NAME --role viewer` prints what you need"
HOSTED = "the application around this dashboard decides who you are: log in there"
_log = logging.getLogger("mainstay.web")


async def respond(site: Site, operation: Operation, request: Request) -> Response:
    """Return the response to a request, whatever happens."""
    who = None
    try:
        who = await site.who(request)
        check(site, operation, request, who)
        arguments = await _arguments(site, operation, request)
        result = await run(site, operation, Call(site.app, who, site, request), arguments)
        if operation.changes:
            site.recent.forget()
        return _response(operation, result)
    except Exception as error:  # noqa: BLE001  (the one place that turns errors into responses)
        return failed(error, operation, who)


def check(site: Site, operation: Operation, request: Request, who: Access) -> None:
    """Raise `Refused` if this caller may not do this, or if another site makes its browser do it."""
    lowest = site.lowest(operation)
    if not who.permits(lowest):
        if who.how == "none":
            raise nobody(site)
        raise Refused(403, "not_allowed", f"this needs the role {lowest}; you are {who.role}")
    if who.tenant is not None and not operation.tenants:
        raise Refused(403, "not_allowed", f"this is about the whole installation; you see the tenant {who.tenant} only")
    if operation.changes and who.how != "token":
        origin.check(request)
    site.rates.check(operation, request, who)


def nobody(site: Site) -> Refused:
    """Return the refusal of a caller who is not logged in: by a token, or where the host application has its log-in."""
    if site.hosted:
        return Refused(401, "hosted", HOSTED)
    return Refused(401, "unauthenticated", LOG_IN, {"WWW-Authenticate": "Bearer"})


async def _arguments(site: Site, operation: Operation, request: Request) -> dict[str, Any]:
    found = arguments(operation, request.path_params, request.query_params)
    if operation.body is not None:
        found["body"] = _decoded(await _body(site, request) or b"{}", operation.body)
    return found


def _decoded(text: bytes, kind: type[Body]) -> Body:
    try:
        return msgspec.json.decode(text, type=kind)
    except UnicodeDecodeError:
        raise Refused(422, "not_valid", "the body is not UTF-8: send JSON in UTF-8") from None
    except RecursionError:
        raise Refused(
            422, "not_valid", "the body has too many levels: send JSON with fewer lists inside lists"
        ) from None


def arguments(operation: Operation, parts: Mapping[str, Any], given: QueryParams) -> dict[str, Any]:
    """Return the arguments that the path of a call and its parameters give to an operation."""
    found: dict[str, Any] = {name: parts[name] for name in operation.names}
    if operation.query is not None:
        found["query"] = msgspec.convert(_parameters(operation.query, given), operation.query, strict=False)
    elif given:
        raise Refused(422, "not_valid", f"this takes no parameters: {', '.join(given)}")
    return found


def _parameters(query: type, given: QueryParams) -> dict[str, Any]:
    """Return the parameters of a call; one that may come several times is a list."""
    many = {
        field.encode_name for field in msgspec.structs.fields(query) if getattr(field.type, "__origin__", None) is list
    }
    return {name: given.getlist(name) if name in many else given[name] for name in given}


async def _body(site: Site, request: Request) -> bytes:
    """Return the body of a request: JSON, or nothing."""
    found = await read_body(site.app, request)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if found and kind != "application/json":
        raise Refused(415, "not_json", "send JSON, with the header Content-Type: application/json")
    return found


async def run(site: Site, operation: Operation, call: Call, arguments: dict[str, Any]) -> Any:
    """Run the function of an operation: in a thread, because stores wait; an async one here."""
    if inspect.iscoroutinefunction(operation.run):
        return await operation.run(call, **arguments)
    return await site.in_thread(lambda: operation.run(call, **arguments))


def _response(operation: Operation, result: Any) -> Response:
    if isinstance(result, Response):
        return result
    if operation.status == NO_CONTENT:
        return Response(status_code=NO_CONTENT)
    # A result of a change may say itself what has become of it.
    status = (getattr(result, "http_status", None) if operation.changes else None) or operation.status
    return Response(encoded(result), status, media_type="application/json")


def failed(error: Exception, operation: Operation | None = None, who: Access | None = None) -> Response:
    """Return the response to an error; one that nobody has foreseen is logged with its traceback."""
    problem, headers = problem_of(error, who)
    if problem.code == "internal_error":
        _log.error("%s failed", operation.name if operation else "a request", exc_info=error)
    elif is_inner(error):
        _log.warning("%s failed: %s", operation.name if operation else "a request", error)
    return Response(msgspec.json.encode(problem), problem.status, headers, MEDIA)
