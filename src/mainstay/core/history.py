"""The order in which jobs ended."""

from __future__ import annotations

from .errors import UsageError

LAST = (1 << 63) - 1  # above all instants, and all numbers of jobs


def place_of(after: str, numbered: bool) -> tuple[int, str]:
    """Return a place in that order, as a page of it ends: the instant, and what the engine adds to it, a number or an id."""
    at, _, rest = after.partition(":")
    if not at.isdecimal() or not (rest.isdecimal() if numbered else rest.isalnum()):
        raise UsageError(f'"{after}" is no place to continue from: take the one that the page before names')
    return min(int(at), LAST), rest
