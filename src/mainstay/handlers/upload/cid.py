"""The content id (CID) of any content, as Kubo computes it: chunks of 256 KiB, a balanced tree of up to 174 links per node, SHA-256.

Both versions are computed in one pass: version 1 with raw leaves, and version 0, whose leaves are UnixFS nodes.
"""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CHUNK = 262_144
WIDTH = 174
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
RAW, NODE = b"\x01\x55", b"\x01\x70"  # of version 1: a leaf that is the content itself, and a node with links
FILE = b"\x08\x02"  # the type of a UnixFS node


class Cids(NamedTuple):
    """The ids of one content, and its bytes."""

    v1: str
    v0: str
    size: int


class _Block(NamedTuple):
    id: bytes
    content: int  # bytes of the file below it
    tree: int  # bytes of all blocks below it and its own


class Counter:
    """Computes the ids of content that comes in pieces."""

    def __init__(self) -> None:
        self._left = b""
        self._v1: list[_Block] = []
        self._v0: list[_Block] = []

    def add(self, piece: bytes) -> None:
        """Take the next piece, of any length."""
        content = self._left + piece
        full = max(len(content) - 1, 0) // CHUNK * CHUNK  # the last chunk waits for what follows
        for place in range(0, full, CHUNK):
            self._leaf(content[place : place + CHUNK])
        self._left = content[full:]

    def ids(self) -> Cids:
        """Return the ids of all pieces."""
        if self._left or not self._v1:
            self._leaf(self._left)
            self._left = b""
        one, zero = _root(self._v1, NODE), _root(self._v0, b"")
        return Cids("b" + base64.b32encode(one.id).decode().lower().rstrip("="), _base58(zero.id), one.content)

    def _leaf(self, part: bytes) -> None:
        block = _field(1, _unixfs(part, [], len(part)))
        self._v1.append(_Block(RAW + _multihash(part), len(part), len(part)))
        self._v0.append(_Block(_multihash(block), len(part), len(block)))


def cids(pieces: Iterable[bytes]) -> Cids:
    """Return the ids of content: `cids([b"hello"]).v1`."""
    counter = Counter()
    for piece in pieces:
        counter.add(piece)
    return counter.ids()


def _root(level: list[_Block], prefix: bytes) -> _Block:
    while len(level) > 1:
        level = [_parent(level[place : place + WIDTH], prefix) for place in range(0, len(level), WIDTH)]
    return level[0]


def _parent(blocks: list[_Block], prefix: bytes) -> _Block:
    links = b"".join(_field(2, _field(1, each.id) + _field(2, b"") + b"\x18" + _varint(each.tree)) for each in blocks)
    content = sum(each.content for each in blocks)
    block = links + _field(1, _unixfs(b"", [each.content for each in blocks], content))
    return _Block(prefix + _multihash(block), content, len(block) + sum(each.tree for each in blocks))


def _unixfs(data: bytes, sizes: list[int], total: int) -> bytes:
    """Return the protobuf message of a file: its type, its data, its size, and the sizes of its parts."""
    parts = b"".join(b"\x20" + _varint(size) for size in sizes)
    return FILE + (_field(2, data) if data else b"") + b"\x18" + _varint(total) + parts


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(number: int) -> bytes:
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + _varint(number >> 7)


def _multihash(block: bytes) -> bytes:
    return b"\x12\x20" + hashlib.sha256(block).digest()


def _base58(raw: bytes) -> str:
    return "".join(reversed(list(_digits(int.from_bytes(raw, "big")))))


def _digits(number: int) -> Iterator[str]:
    while number:
        number, digit = divmod(number, 58)
        yield BASE58[digit]
