"""How lists and numbers are sent: in binary and without a type, because every statement names its types (`$1::bigint[]`).

psycopg's own way takes ten times as long a value. It also gives a statement other types for every size of number, and so
prepares it again.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from psycopg.adapt import Dumper
from psycopg.pq import Format

if TYPE_CHECKING:
    from psycopg.adapt import AdaptersMap, PyFormat

INT, TEXT, FLOAT = 20, 25, 701  # the oids of bigint, text, double precision
_WHOLE, _LENGTH, _FLOAT, _HEAD = struct.Struct("!q"), struct.Struct("!i"), struct.Struct("!d"), struct.Struct("!iiiii")
_NULL = _LENGTH.pack(-1)


def register(adapters: AdaptersMap) -> None:
    """Make a connection send numbers and lists this way."""
    adapters.register_dumper(int, Whole)
    adapters.register_dumper(list, Column)
    adapters.register_dumper(Packed, PackedColumn)


class Whole(Dumper):
    """A whole number of 64 bits."""

    format = Format.BINARY
    oid = 0

    def dump(self, obj: int) -> bytes:
        return _WHOLE.pack(obj)


class Column(Dumper):
    """A list of numbers, texts or floats, any of them None; the first that is not None tells which."""

    format = Format.BINARY
    oid = 0

    def get_key(self, obj: list[Any], format: PyFormat) -> Any:
        return self.cls, _kind(obj)

    def upgrade(self, obj: list[Any], format: PyFormat) -> Dumper:
        return _DUMPERS[_kind(obj)](self.cls)

    def dump(self, obj: list[Any]) -> bytes:
        raise NotImplementedError("psycopg calls `upgrade` first, for a dumper of one kind")


class Numbers(Column):
    """A list of whole numbers."""

    def dump(self, obj: list[int | None]) -> bytes:
        if None in obj:
            return _array(INT, [None if value is None else _WHOLE.pack(value) for value in obj])
        flat: list[Any] = [8] * (2 * len(obj))
        flat[1::2] = obj
        return _HEAD.pack(1, 0, INT, len(obj), 1) + struct.pack("!" + "iq" * len(obj), *flat)


class Texts(Column):
    """A list of texts."""

    def dump(self, obj: list[str | None]) -> bytes:
        return _array(TEXT, [None if value is None else value.encode() for value in obj])


class Floats(Column):
    """A list of floats."""

    def dump(self, obj: list[float | None]) -> bytes:
        return _array(FLOAT, [None if value is None else _FLOAT.pack(value) for value in obj])


class Nothings(Column):
    """A list of Nones, or an empty one. As text it can be an array of any type."""

    format = Format.TEXT

    def dump(self, obj: list[None]) -> bytes:
        return b"{" + b",".join([b"NULL"] * len(obj)) + b"}"


class Packed:
    """A list that is sent many times and encoded once: 300 texts take 60 µs."""

    def __init__(self, values: list[Any]) -> None:
        dumper = _DUMPERS[_kind(values)](list)
        self.format, self.data = dumper.format, dumper.dump(values)


class PackedColumn(Dumper):
    """A list that is encoded already."""

    oid = 0

    def get_key(self, obj: Packed, format: PyFormat) -> Any:
        return self.cls, obj.format

    def upgrade(self, obj: Packed, format: PyFormat) -> Dumper:
        dumper = PackedColumn(self.cls)
        dumper.format = obj.format
        return dumper

    def dump(self, obj: Packed) -> bytes:
        return obj.data


_DUMPERS: dict[type, type[Column]] = {int: Numbers, str: Texts, float: Floats, type(None): Nothings}


def _kind(values: list[Any]) -> type:
    return type(next((value for value in values if value is not None), None))


def _array(element: int, values: list[bytes | None]) -> bytes:
    length = _LENGTH.pack
    parts = [_HEAD.pack(1, None in values, element, len(values), 1)]
    for value in values:
        if value is None:
            parts.append(_NULL)
        else:
            parts += (length(len(value)), value)
    return b"".join(parts)
