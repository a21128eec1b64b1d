"""Secrets that a text gives by name: `password=hunter2`, `{"api_key": "…"}`, `Authorization: Bearer …`, `--token …`.

One pass from left to right: a value that was replaced is not looked at again, so the time grows with the length of the text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LONGEST = 64  # characters of a name on each side of the letters that were found
LINES = ("authorization", "cookie")  # headers: their values have several words
A_WORD = "pass"  # a name that is also a word: of a test, of a pass over a file
COUNTS = ("token", A_WORD)  # what numbers with such a name are
SAID = ("password", "passwd", "passphrase", "passcode")  # before a quoted value: ALTER USER … PASSWORD 'x'
REDACTED = ("[redacted:", "***")  # what a value begins with that was replaced before
PLAIN = frozenset(("none", "null", "true", "false", "str", "bytes", "int", "bool", "none)", "..."))
_PAINT = r"(?:(?:\x1b|\\x1b|\\u001b|\\033)\[[\d;]{0,20}m){0,3}"  # colours, as structlog prints them
_BEFORE = re.compile(r"(?:\x1b\[[\d;]{0,20}m)?([\w.-]*)\Z")
_AFTER = re.compile(rf"[\w.-]{{0,{LONGEST}}}+")
_SEPARATOR = re.compile(
    rf"""(?:\\*["']|%(?:25)*2[27])?{_PAINT}\s{{0,4}}(?:=>|==?|:=?|>|[：＝]|%(?:25)*3[AaDd]){_PAINT}\s{{0,4}}{_PAINT}"""
)
_QUOTE = re.compile(r"""[bBrRuUfF]{0,2}(\\*)(\"{3}|'{3}|["'])""")
_VARIABLE = re.compile(r"\$(?:[A-Z][A-Z0-9_]{2,64}|\{[A-Z][A-Z0-9_]{2,64}\})")  # of a shell: $MAINSTAY_TOKEN
# Each with all backslashes before it.
_QUOTES = {mark: re.compile(rf"(?<!\\)(\\*+){mark}") for mark in ('"""', "'''", '"', "'")}
_PAIR = re.compile(r"""\\*["'],\s{0,4}(?=[bBrRuU]?\\*["'])""")  # ('password', 'x'): a name and its value
_PAIRED = re.compile(r"""(?:\(|[\[,]\s{0,4}\[)\s{0,4}[bBrRuU]?\\*["']\Z""")  # what stands before a name in a pair
_NEXT = re.compile(r"""["'],\s?(?=["'])""")  # between the words of a command that is printed as a list
_BARE = re.compile(r"""[^\s,;&"'<>)\]}]*+""")
_LINE = re.compile(r"""(?:=\\*+"[^"\n\r]*+"|[^\n\r"'<>])*+""")  # Digest username="u", response="…"
_BRACKETS = re.compile(r"""(?s)"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|[\[\]{}()]""")
_CODE = re.compile(r"[A-Za-z_][\w.]*+")


def may_name(text: str) -> bool:
    """Whether a text has what stands between a name and its value. One line: it is on the path of each log line."""
    return (
        ":" in text
        or "=" in text
        or "'" in text
        or '"' in text
        or ">" in text
        or "--" in text
        or "%3" in text
        or "：" in text
        or "＝" in text
    )


def without(text: str, letters: re.Pattern[str], kind_of: Callable[[str], str | None]) -> str:
    """Return a text without the values whose names `kind_of` knows; `letters` finds what is in each such name."""
    parts: list[str] = []
    copied = 0
    for head, end, kind in values(text, letters, kind_of):
        parts += [text[copied:head], f"[redacted:{kind}]"]
        copied = end
    return "".join([*parts, text[copied:]]) if parts else text


def values(text: str, letters: re.Pattern[str], kind_of: Callable[[str], str | None]) -> Iterator[tuple[int, int, str]]:
    """Yield where the values of such names begin and end, and what they are, from left to right."""
    done = 0
    for found in letters.finditer(text):
        if found.start() < done:
            continue
        start, done = _name(text, found, done)
        kind = kind_of(text[start:done])
        value = _value(text, start, done, kind) if kind else None
        if kind is None or value is None:
            continue
        head, end = _extent(text, value, kind)
        if head < end and not _is_shown(text[head:end], kind, kind_of):
            yield head, end, kind
            done = end


def _name(text: str, found: re.Match[str], done: int) -> tuple[int, int]:
    """Return where the name around these letters begins and ends."""
    left = max(done, found.start() - LONGEST)
    before = _BEFORE.search(text[left : found.start()])
    after = _AFTER.match(text, found.end())
    return left + (before.start(1) if before else 0), after.end() if after else found.end()


def _value(text: str, start: int, end: int, kind: str) -> int | None:
    """Return where the value of a name begins; None: it has none."""
    option, gap, first = text.startswith("--", start), text[end : end + 1], text[end + 1 : end + 2]
    if gap == " " and ((option and first not in ("-", "")) or (first in ("'", '"') and kind in SAID)):
        return end + 1
    separator = _SEPARATOR.match(text, end) or (_NEXT.match(text, end) if option else _pair(text, start, end))
    if separator is None or (kind == A_WORD and separator[0] == ": "):
        return None
    return separator.end()


def _pair(text: str, start: int, end: int) -> re.Match[str] | None:
    """Return what stands between a name and its value in a pair, as in `[(b'authorization', b'…')]`."""
    found = _PAIR.match(text, end)
    return found if found and _PAIRED.search(text[max(start - 16, 0) : start]) else None


def _extent(text: str, start: int, kind: str) -> tuple[int, int]:
    """Return where a value begins, behind its quote, and where it ends; one without an end is cut off, and ends with the text.

    The end of a value that is redacted already is not looked for: many in one line would each cost the rest of the line.
    """
    quote = _QUOTE.match(text, start)
    head = quote.end() if quote else start
    if text.startswith(REDACTED, head):
        return head, head
    if quote:
        return head, _closed(text, quote)
    if text[start : start + 1] in ("{", "[", "("):
        return start, _balanced(text, start)
    shape = _LINE if kind in LINES else _BARE
    found = shape.match(text, start)
    end = found.end() if found else start
    return start, _balanced(text, end - 1) if text[start:end].endswith("(") else end  # Secret("…")


def _closed(text: str, quote: re.Match[str]) -> int:
    """Return where a quoted value ends. Each level of quoting doubles the backslashes, and adds one before a quote."""
    own = len(quote[1])  # backslashes before the quote itself: it may be quoted inside a quoted text
    for found in _QUOTES[quote[2]].finditer(text, quote.end()):
        inside = len(found[1]) - own
        if inside >= 0 and inside % (2 * own + 2) == 0:
            return found.end(1) - own
    return len(text)


def _balanced(text: str, start: int) -> int:
    depth = 0
    for found in _BRACKETS.finditer(text, start):
        depth += (found[0] in "[{(") - (found[0] in ")}]")
        if depth == 0:
            return found.end()
    return len(text)


def _is_shown(value: str, kind: str, kind_of: Callable[[str], str | None]) -> bool:
    """Whether a value tells nothing: it is empty, a count of tokens, a variable, or code that names a secret (`password=password`)."""
    if not value.strip() or value.casefold() in PLAIN or _VARIABLE.fullmatch(value):
        return True
    if kind in COUNTS and value.isdecimal():
        return True
    return _CODE.fullmatch(value) is not None and kind_of(value) is not None
