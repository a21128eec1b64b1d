"""The OpenAPI 3.1 description of the API, made from the table of operations."""

from __future__ import annotations

import inspect
import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.responses import Response

from .. import __version__
from .problems import MEDIA, Problem
from .roles import ANYBODY
from .shapes import shape

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .operations import Operation

REFERENCE = "#/components/schemas/{name}"
SECURITY = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "A token that `mainstay token create` has made."},
    "login": {"type": "apiKey", "in": "cookie", "name": "mainstay_session", "description": "Made by POST /api/session."},
}  # fmt: skip


def described(operations: Iterable[Operation]) -> dict[str, Any]:
    """Return the description of these operations."""
    listed = list(operations)
    kinds = list(dict.fromkeys(kind for each in listed for kind in _kinds(each)))
    schemas, components = msgspec.json.schema_components(kinds, ref_template=REFERENCE)
    known = dict(zip(map(repr, kinds), schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for each in listed:
        paths.setdefault(re.sub(r":\w+}", "}", each.path), {})[each.method.lower()] = _operation(each, known)
    return {
        "openapi": "3.1.0",
        "info": {"title": "mainstay", "version": __version__, "description": "Durable background jobs: look at them and operate them."},
        "servers": [{"url": ".."}],
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": SECURITY},
    }  # fmt: skip


def _kinds(each: Operation) -> list[Any]:
    taken = [kind for kind in (each.query, each.body) if kind is not None]
    return [Problem, *taken, *([shape(each.returns)] if _is_json(each) else [])]


def _is_json(each: Operation) -> bool:
    made_by_itself = isinstance(each.returns, type) and issubclass(each.returns, Response)
    return each.returns is not type(None) and not made_by_itself


def _operation(each: Operation, known: dict[str, Any]) -> dict[str, Any]:
    summary, _, rest = inspect.cleandoc(each.run.__doc__ or "").partition("\n\n")
    found: dict[str, Any] = {
        "operationId": each.name,
        "tags": [each.resource],
        "summary": summary,
        "description": f"{rest}\n\nLowest role: {each.role}.".strip(),
        "parameters": [*map(_path_parameter, each.names), *_query_parameters(each.query)],
        "responses": {**_successes(each, known), "default": _failure(known)},
        "security": [] if each.role == ANYBODY else [{name: []} for name in SECURITY],
        "x-role": each.role,
        "x-tenants": each.tenants,
    }
    if each.body is not None:
        needed = any(field.required for field in msgspec.structs.fields(each.body))
        found["requestBody"] = {"content": _content("application/json", known[repr(each.body)]), "required": needed}
    return found


def _path_parameter(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}


def _query_parameters(query: Any) -> list[dict[str, Any]]:
    if query is None:
        return []
    (_,), components = msgspec.json.schema_components([query], ref_template=REFERENCE)
    properties = components[query.__name__]["properties"]
    return [
        {"name": field.encode_name, "in": "query", "required": field.required, "schema": properties[field.encode_name]}
        for field in msgspec.structs.fields(query)
    ]


def _successes(each: Operation, known: dict[str, Any]) -> dict[str, Any]:
    """Return the responses by status: some results say by their status whether something was made or goes on."""
    varies = each.changes and hasattr(each.returns, "http_status")
    return {
        str(status): _success(each, status, known) for status in sorted({each.status, 200} if varies else {each.status})
    }


def _success(each: Operation, status: int, known: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"description": HTTPStatus(status).phrase}
    if status == HTTPStatus.NO_CONTENT:
        return found
    if _is_json(each):
        found["content"] = _content(each.media, known[repr(shape(each.returns))])
    elif each.returns is not type(None):
        found["content"] = {each.media: {"schema": {"type": "string"}}}
    return found


def _failure(known: dict[str, Any]) -> dict[str, Any]:
    return {"description": "What went wrong, and what to do", "content": _content(MEDIA, known[repr(Problem)])}


def _content(media: str, schema: Any) -> dict[str, Any]:
    return {media: {"schema": schema}}
