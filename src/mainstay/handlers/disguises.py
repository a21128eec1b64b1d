"""Characters that other programs read as nothing, or as others: a value that is written with them is found all the same."""

from __future__ import annotations

import re
import sys

# Characters without a width, the colours of a terminal, and characters that are written as a number in JSON, HTML and URLs.
WRITTEN = re.compile(
    r"[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff]|\x1b\[[0-9;?]{0,20}[A-Za-z]"
    r"|\\u(?P<hex>[0-9A-Fa-f]{4})|&#(?P<number>[0-9]{1,7});|%(?P<byte>[2-7][0-9A-Fa-f])"
)
# Wide characters, spaces and dashes by the plain ones.
PLAIN: dict[int, int | str] = {wide: wide - 0xFEE0 for wide in range(0xFF01, 0xFF5F)}
PLAIN |= dict.fromkeys((0xA0, 0x2007, 0x202F, 0x3000), " ") | dict.fromkeys(range(0x2010, 0x2016), "-")


def as_read(text: str) -> tuple[str, list[int], list[int]]:
    """Return a text as it is read, and where each of its characters starts and ends."""
    parts, starts, ends, place = [], list[int](), list[int](), 0
    for found in (*WRITTEN.finditer(text), None):
        until = found.start() if found else len(text)
        parts.append(text[place:until])
        starts += range(place, until)
        ends += range(place + 1, until + 1)
        if found:
            place = found.end()
            parts.append(read := _character(found))
            starts += [found.start()] * len(read)
            ends += [place] * len(read)
    return "".join(parts), starts, ends


def _character(found: re.Match[str]) -> str:
    """Return the character that is written as a number; nothing for one without a width."""
    base = 10 if found["number"] else 16
    number = found["hex"] or found["number"] or found["byte"]
    return chr(int(number, base)) if number and int(number, base) <= sys.maxunicode else ""
