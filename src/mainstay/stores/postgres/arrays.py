"""How lists and numbers are sent: in binary and without a type, because every statement names its types (`$1::bigint[]`).

psycopg's own way takes ten times as long a value. It also gives a statement other types for every size of number, and so
prepares it again.
"""

from __future__ import annotations

import struct
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from psycopg.adapt import Dumper
from psycopg.pq import Format

if TYPE_CHECKING:
    from collections.abc import Callable

    from psycopg.adapt import AdaptersMap, PyFormat

INT, TEXT, FLOAT = 20, 25, 701  # the oids of bigint, text, double precision
_WHOLE, _LENGTH, _FLOAT, _HEAD = struct.Struct("!q"), struct.Struct("!i"), struct.Struct("!d"), struct.Struct("!iiiii")
_NULL = _LENGTH.pack(-1)
_PACKED = attrgetter("data")


def register(adapters: AdaptersMap) -> None:
    """Make a connection send numbers and lists this way."""
    adapters.register_dumper(int, Whole)
    adapters.register_dumper(list, Column)
    adapters.register_dumper(Packed, Column)


class Whole(Dumper):
    """A whole number of 64 bits."""

    format = Format.BINARY
    oid = 0

    def dump(self, obj: int) -> bytes:
        return _WHOLE.pack(obj)


class Column(Dumper):
    """A list of numbers, texts or floats, any of them None. The first that is not None tells which, and so the dumper."""

    oid = 0
    encode: Callable[[list[Any]], bytes]

    def get_key(self, obj: Any, format: PyFormat) -> Any:
        return self.cls, obj.format if type(obj) is Packed else _kind(obj)

    def upgrade(self, obj: Any, format: PyFormat) -> Dumper:
        dumper = Column(self.cls)
        dumper.format, dumper.encode = (obj.format, _PACKED) if type(obj) is Packed else _ENCODINGS[_kind(obj)]
        return dumper

    def dump(self, obj: Any) -> bytes:
        return self.encode(obj)


class Packed:
    """A list that is sent many times and encoded once: 300 texts take 60 µs."""

    def __init__(self, values: list[Any]) -> None:
        self.format, encode = _ENCODINGS[_kind(values)]
        self.data = encode(values)


def _kind(values: list[Any]) -> type:
    return type(next((value for value in values if value is not None), None))


def _numbers(values: list[int | None]) -> bytes:
    if None in values:
        return _array(INT, _WHOLE.pack, values)
    flat: list[Any] = [8] * (2 * len(values))
    flat[1::2] = values
    return _HEAD.pack(1, 0, INT, len(values), 1) + struct.pack("!" + "iq" * len(values), *flat)


def _array(element: int, encode: Callable[[Any], bytes], values: list[Any]) -> bytes:
    parts = [_HEAD.pack(1, None in values, element, len(values), 1)]
    length = _LENGTH.pack
    for value in values:
        if value is None:
            parts.append(_NULL)
        else:
            data = encode(value)
            parts += (length(len(data)), data)
    return b"".join(parts)


def _nothings(values: list[None]) -> bytes:
    return b"{" + b",".join([b"NULL"] * len(values)) + b"}"


_ENCODINGS: dict[type, tuple[Format, Callable[[list[Any]], bytes]]] = {
    int: (Format.BINARY, _numbers),
    str: (Format.BINARY, partial(_array, TEXT, str.encode)),
    float: (Format.BINARY, partial(_array, FLOAT, _FLOAT.pack)),
    type(None): (Format.TEXT, _nothings),  # an empty list or Nones: as text it can be an array of any type
}
