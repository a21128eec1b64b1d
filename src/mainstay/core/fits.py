"""Whether a JSON value fits a JSON Schema that `Schema.json_schema` wrote, and why not: for those who lack the type's code."""

from __future__ import annotations

import json
from typing import Any

from .payload import clean
from .suggest import did_you_mean

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,),
    "null": (type(None),),
}  # fmt: skip


def fits(value: Any, schema: Any, top: dict[str, Any]) -> bool:
    """Return whether a value fits. `top` holds the definitions."""
    return misfit(value, schema, top) is None


def misfit(value: Any, schema: Any, top: dict[str, Any], path: str = "payload") -> str | None:
    """Return the first reason why a value does not fit; None if it does. Words that are not known count as fitting."""
    if not isinstance(schema, dict):
        return None if schema else f"{path} is not an argument"
    if "$ref" in schema:
        return misfit(value, top.get("$defs", {}).get(schema["$ref"].rpartition("/")[2], {}), top, path)
    if "anyOf" in schema:
        reasons = [misfit(value, each, top, path) for each in schema["anyOf"]]
        return None if None in reasons else f"{path} is {_shown(value)}, which fits none of its types"
    if "enum" in schema or "const" in schema:
        known = schema.get("enum", [schema.get("const")])
        return None if value in known else f"{path} is {_shown(value)}, not one of {_shown(known)}"
    kind = schema.get("type")
    if kind in _TYPES and (not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind != "boolean")):
        return f"{path} is {_shown(value)}, not of type {kind}"
    if isinstance(value, list):
        items = schema.get("items", True)
        return next((why for n, each in enumerate(value) if (why := misfit(each, items, top, f"{path}[{n}]"))), None)
    return _object(value, schema, top, path) if isinstance(value, dict) else None


def _object(value: dict[str, Any], schema: dict[str, Any], top: dict[str, Any], path: str) -> str | None:
    known, more = schema.get("properties", {}), schema.get("additionalProperties", True)
    missing = [name for name in schema.get("required", ()) if name not in value]
    if missing:
        return f"{path} lacks {', '.join(missing)}"
    for name, item in value.items():
        if name not in known and more is False:
            return f"{path} has {clean(name, 40)!r}, which is not an argument{did_you_mean(name, known)}"
        why = misfit(item, known.get(name, more), top, f"{path}.{clean(name, 40)}")
        if why:
            return why
    return None


def _shown(value: Any) -> str:
    return clean(json.dumps(value, ensure_ascii=False), 60)
