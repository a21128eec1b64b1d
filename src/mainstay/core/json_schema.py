"""Whether a JSON value fits a JSON Schema: of its words, those that `Schema.json_schema` writes."""

from __future__ import annotations

from typing import Any

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,),
    "null": (type(None),),
}  # fmt: skip


def fits(value: Any, schema: Any, top: dict[str, Any]) -> bool:
    """Return whether a value fits; words that are not known here count as fitting. `top` holds the definitions."""
    if not isinstance(schema, dict):
        return bool(schema)
    if "$ref" in schema:
        return fits(value, top.get("$defs", {}).get(schema["$ref"].rpartition("/")[2], {}), top)
    if "anyOf" in schema:
        return any(fits(value, each, top) for each in schema["anyOf"])
    if "enum" in schema or "const" in schema:
        return value in schema.get("enum", [schema.get("const")])
    kind = schema.get("type")
    if kind in _TYPES and (not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind != "boolean")):
        return False
    if isinstance(value, dict):
        return _object(value, schema, top)
    return not isinstance(value, list) or all(fits(item, schema.get("items", True), top) for item in value)


def _object(value: dict[str, Any], schema: dict[str, Any], top: dict[str, Any]) -> bool:
    known, more = schema.get("properties", {}), schema.get("additionalProperties", True)
    complete = value.keys() >= set(schema.get("required", ()))
    return complete and all(fits(item, known.get(name, more), top) for name, item in value.items())
