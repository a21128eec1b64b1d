"""Log lines of attempts in as few rows as possible, on their way to the store."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING

from msgspec.json import Encoder

from ..core.updates import LEVELS, Log
from ..job_log import length, odd, redacted
from ..redacting import redactor

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..job_log import Entry

    Attempt = tuple[int | str, int]  # seq, token
    Row = tuple[Log, Sequence[str]]  # and the texts in it that may have secrets

CHUNK, CHUNK_CHARACTERS = 100, 50_000  # of lines in one row; the first comes however long it is
KNOWN, KNOWN_LENGTH = 4_096, 200  # texts without secrets that are remembered: most programs log the same few messages
_LEVEL = itemgetter(2)
_encode = Encoder().encode
_log = partial(tuple.__new__, Log)  # takes a third of the time


def pack(attempt: Attempt, lines: list[Entry], characters: int) -> list[Row]:
    """Return lines of an attempt, which have so many characters, as rows: most often as one. `cleaned` removes their secrets."""
    if len(lines) <= CHUNK and characters <= CHUNK_CHARACTERS:
        return [_row(attempt, lines)]
    return [_row(attempt, some) for some in _chunks(lines)]


def _row(attempt: Attempt, lines: list[Entry]) -> Row:
    known, unsure = redactor().known, []
    for _, _, _, _, message, fields in lines:
        if message not in known:
            unsure.append(message)
        if fields is not None and fields not in known:
            unsure.append(fields)
    return _packed(attempt, lines), unsure or ()


def _packed(attempt: Attempt, lines: list[Entry]) -> Log:
    if len(lines) == 1:
        return _log(attempt + lines[0] + (None,))
    try:
        text = _encode(lines).decode()
    except UnicodeEncodeError:  # a lone surrogate
        return _packed(attempt, redacted(lines))
    levels = set(map(_LEVEL, lines))
    worst = levels.pop() if len(levels) == 1 else max(levels, key=LEVELS.index)
    return _log((*attempt, lines[0][0], lines[-1][1], worst, None, text, None, len(lines)))


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


def cleaned(rows: list[Row]) -> list[Log]:
    """Return rows without secrets, and without what no store can hold.

    Nearly always they have neither: many texts at once cost a fraction of what each alone would.
    """
    texts = {text for _, unsure in rows for text in unsure}
    if not texts:
        return [row for row, _ in rows]
    known = redactor().known
    suspects = set(filter(_suspected, texts)) if _suspected("\n".join(texts)) else set()
    if len(known) + len(texts) > KNOWN:
        known.clear()
    known.update([text for text in texts - suspects if len(text) <= KNOWN_LENGTH][:KNOWN])
    return [row if suspects.isdisjoint(unsure) else _redacted(row) for row, unsure in rows]


def cleaned_apart(row: Row) -> Iterator[Log]:
    """Return a row as `cleaned` does; if it cannot be cleaned, those of its lines that can be."""
    try:
        yield from cleaned([row])
    except Exception:  # noqa: BLE001  (it was raised once, and reported)
        for line in _lines(row[0]):
            with suppress(Exception):
                yield from cleaned([_row(row[0][:2], [line])])


def _suspected(text: str) -> bool:
    return odd(text) or redactor().suspects_json(text)


def _redacted(row: Log) -> Log:
    return _packed(row[:2], redacted(_lines(row)))


def _lines(row: Log) -> list[Entry]:
    return [row[2:8]] if row.lines is None else list(map(tuple, json.loads(row.message)))
