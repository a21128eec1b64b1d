"""The word that was probably meant, for errors about a name that does not exist."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def closest(word: str, known: Iterable[str]) -> str | None:
    """The known word closest to this one, or None when none is close."""
    from difflib import get_close_matches

    by_folded = {name.casefold(): name for name in known}
    found = get_close_matches(word.casefold(), list(by_folded), n=1, cutoff=0.6)
    return by_folded[found[0]] if found else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """` (did you mean "width"?)`, or nothing."""
    found = closest(word, known)
    return f' (did you mean "{found}"?)' if found else ""


def without_suggestion(text: str) -> str:
    """Return an error without the name that was probably meant: it may be one that the reader is not to know."""
    import re

    return re.sub(r' \(did you mean ".*?"\?\)', "", text)
