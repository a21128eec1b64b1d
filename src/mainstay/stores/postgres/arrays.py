"""How lists and numbers are sent: in binary and without a type, because every statement names its types (`$1::bigint[]`).

psycopg's own way takes ten times as long a value. It also gives a statement other types for every size of number, and so
prepares it again.
"""

from __future__ import annotations

import struct
from functools import partial
from typing import TYPE_CHECKING, Any

from psycopg.adapt import Dumper
from psycopg.pq import Format

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from psycopg.adapt import AdaptersMap, PyFormat

INT, TEXT, FLOAT = 20, 25, 701  # the oids of bigint, text, double precision
_WHOLE, _LENGTH, _FLOAT, _HEAD = struct.Struct("!q"), struct.Struct("!i"), struct.Struct("!d"), struct.Struct("!iiiii")
_ONE_NUMBER = struct.Struct("!iiiiiiq")
_NULL = _LENGTH.pack(-1)


def register(adapters: AdaptersMap) -> None:
    """Make a connection send numbers and lists this way."""
    adapters.register_dumper(int, Whole)
    adapters.register_dumper(list, Column)


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

    def get_key(self, obj: list[Any], format: PyFormat) -> Any:
        return self.cls, _kind(obj)

    def upgrade(self, obj: list[Any], format: PyFormat) -> Dumper:
        dumper = Column(self.cls)
        dumper.format, dumper.encode = _LISTS[_kind(obj)]
        return dumper

    def dump(self, obj: list[Any]) -> bytes:
        return self.encode(obj)


class Packed:
    """A list that is sent many times and encoded once: 300 texts take 60 µs."""

    def __init__(self, values: list[Any]) -> None:
        self.format, encode = _LISTS[_kind(values)]
        self.data = encode(values)


def encoded(values: Sequence[Any]) -> tuple[list[bytes | None], list[Format]]:
    """Return values as libpq sends them, and the format of each. psycopg's dumpers take three times as long."""
    data: list[bytes | None] = []
    formats: list[Format] = []
    for value in values:
        kind = type(value)
        if kind is Packed:
            format, sent = value.format, value.data
        else:
            format, encode = _LISTS[_kind(value)] if kind is list else _SCALARS[kind]
            sent = encode(value)
        data.append(sent)
        formats.append(format)
    return data, formats


def _kind(values: list[Any]) -> type:
    for value in values:
        if value is not None:
            return type(value)
    return type(None)


def _numbers(values: list[int | None]) -> bytes:
    if None in values:
        return _array(INT, _WHOLE.pack, values)
    if len(values) == 1:
        return _ONE_NUMBER.pack(1, 0, INT, 1, 1, 8, values[0])
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


class _Encodings(dict[type, tuple[Format, "Callable[[Any], Any]"]]):
    """How values of a type are encoded; those of a subclass, such as a `StrEnum`, like those of their first known base."""

    def __missing__(self, kind: type) -> tuple[Format, Callable[[Any], Any]]:
        self[kind] = self[next(base for base in kind.__mro__ if base in self)]
        return self[kind]


_SCALARS = _Encodings()
_SCALARS[int] = Format.BINARY, _WHOLE.pack
_SCALARS[float] = Format.BINARY, _FLOAT.pack
_SCALARS[str] = Format.TEXT, str.encode
_SCALARS[bool] = Format.TEXT, {True: b"t", False: b"f"}.__getitem__
_SCALARS[type(None)] = Format.TEXT, lambda _: None
_LISTS = _Encodings({
    int: (Format.BINARY, _numbers),
    str: (Format.BINARY, partial(_array, TEXT, str.encode)),
    float: (Format.BINARY, partial(_array, FLOAT, _FLOAT.pack)),
    # An empty list or Nones: as text it can be an array of any type.
    type(None): (Format.TEXT, lambda values: b"{" + b",".join([b"NULL"] * len(values)) + b"}"),
})  # fmt: skip
