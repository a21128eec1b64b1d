"""Lines of a log as stores keep them: one by one, or several of an attempt in one row, which is many times cheaper to write."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .updates import LEVELS, Line, Log

if TYPE_CHECKING:
    from collections.abc import Iterator

CHUNK, CHUNK_CHARACTERS = 100, 50_000  # of lines in one row; the first comes however long it is


def pack(seq: int | str, token: int, lines: list[Line], characters: int) -> list[Log]:
    """Return the lines of an attempt, which have so many characters, as updates: most often as one."""
    if len(lines) <= CHUNK and characters <= CHUNK_CHARACTERS:
        return [_packed(seq, token, lines)] if lines else []
    return [_packed(seq, token, chunk) for chunk in _chunks(lines)]


def _packed(seq: int | str, token: int, lines: list[Line]) -> Log:
    if len(lines) == 1:
        return Log(seq, token, *lines[0])
    from msgspec.json import encode as _encode  # readers of logs, and producers, do without it

    levels = {line[2] for line in lines}
    worst = levels.pop() if len(levels) == 1 else max(levels, key=LEVELS.index)
    return Log(seq, token, lines[0][0], lines[-1][1], worst, None, _encode(lines).decode(), None, len(lines))


def _chunks(lines: list[Line]) -> Iterator[list[Line]]:
    """Return the lines in pieces that fit one row."""
    start = characters = 0
    for place, line in enumerate(lines):
        size = len(line[4]) + len(line[5] or "")
        characters += size
        if place > start and (place - start == CHUNK or characters > CHUNK_CHARACTERS):
            yield lines[start:place]
            start, characters = place, size
    yield lines[start:]


def unpack(line: Line, count: int | None) -> list[Line]:
    """Return the lines of a row, which has so many; None: it is one line."""
    return [line] if count is None else [Line._make(each) for each in json.loads(line.message)]


def loaded(text: str | None) -> dict[str, Any]:
    """Return the fields of a line."""
    return json.loads(text) if text else {}
