"""Log lines of attempts in as few rows as possible, on their way to the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.json import encode as _encode

from ..core.updates import LEVELS, Log
from ..job_log import length, redacted, suspected

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..job_log import Entry

CHUNK, CHUNK_CHARACTERS = 100, 50_000  # of lines in one row; the first comes however long it is


def pack_all(taken: list[tuple[tuple[int | str, int], list[Entry], int]]) -> list[Log]:
    """Return the lines of many attempts as updates without secrets; each attempt comes with its lines and their characters."""
    clean = not suspected([line for _, lines, _ in taken for line in lines])
    return [log for attempt, lines, characters in taken for log in pack(*attempt, lines, characters, clean)]


def pack(seq: int | str, token: int, lines: list[Entry], characters: int, clean: bool = False) -> list[Log]:
    """Return the lines of an attempt, which have so many characters, as updates without secrets: most often as one.

    They are `clean` if they are known to have none.
    """
    if not lines:
        return []
    if not clean:
        lines = redacted(lines)
    if len(lines) <= CHUNK and characters <= CHUNK_CHARACTERS:
        return [_packed(seq, token, lines)]
    return [_packed(seq, token, chunk) for chunk in _chunks(lines)]


def _packed(seq: int | str, token: int, lines: list[Entry]) -> Log:
    if len(lines) == 1:
        return Log(seq, token, *lines[0])
    levels = {line[2] for line in lines}
    worst = levels.pop() if len(levels) == 1 else max(levels, key=LEVELS.index)
    return Log(seq, token, lines[0][0], lines[-1][1], worst, None, _encode(lines).decode(), None, len(lines))


def _chunks(lines: list[Entry]) -> Iterator[list[Entry]]:
    """Return the lines in pieces that fit one row."""
    start = characters = 0
    for place, line in enumerate(lines):
        size = length(line)
        characters += size
        if place > start and (place - start == CHUNK or characters > CHUNK_CHARACTERS):
            yield lines[start:place]
            start, characters = place, size
    yield lines[start:]
