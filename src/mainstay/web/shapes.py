"""Records as JSON Schema sees them: the type of what `json_records.plain` makes of a value."""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

# What the modules of records import for type checkers only.
_NAMES = {"datetime": datetime, "timedelta": timedelta, "Mapping": Mapping, "Sequence": Sequence, "Any": Any}


def shape(kind: Any) -> Any:
    """Return the type of the JSON that a value of this type becomes: records become structs, durations numbers of seconds."""
    if kind is timedelta:
        return float
    if _is_record(kind):
        return _struct(kind)
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        return functools.reduce(lambda one, other: one | other, map(shape, inner))
    if origin in (list, tuple, Sequence):
        return list[shape(inner[0])]  # type: ignore[misc]  # made at run time
    return dict[str, shape(inner[1])] if origin in (dict, Mapping) else kind  # type: ignore[misc]


def hints(record: type) -> dict[str, Any]:
    """Return the types of the fields of a record."""
    return typing.get_type_hints(record, localns=_NAMES)


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and (
        hasattr(kind, "_fields") or (issubclass(kind, msgspec.Struct) and not kind.__name__.endswith("Shape"))
    )


@functools.cache
def _struct(record: type) -> type[msgspec.Struct]:
    """Return a struct with the fields of a record, and its docstring."""
    found = hints(record)
    fields = [(name, shape(found[name])) for name in getattr(record, "_fields", None) or _fields(record)]
    return msgspec.defstruct(record.__name__, fields, namespace={"__doc__": record.__doc__}, module=__name__)


def _fields(record: Any) -> tuple[str, ...]:
    return tuple(record.__struct_fields__)
