"""A search as stores take it: terms that must all hold. `mainstay.query` parses the text of a search into them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from . import ids
from .errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

_EQUALS, _COMPARES, _CONTAINS = ("=",), ("=", "<", "<=", ">", ">="), ("=", "~")
# The fields of a job that a search can use, and the operators that each of them takes.
FIELDS = {
    "id": _EQUALS, "type": _EQUALS, "queue": _EQUALS, "state": _EQUALS, "priority": _COMPARES, "attempt": _COMPARES,
    "worker": _EQUALS, "key": _EQUALS, "ref": _EQUALS, "tenant": _EQUALS, "tag": _EQUALS, "parent": _EQUALS,
    "schedule": _EQUALS, "fingerprint": _EQUALS,
    "error": _CONTAINS, "code": _EQUALS, "args": _COMPARES, "took": _COMPARES, "created": _COMPARES, "finished": _COMPARES,
    "text": _CONTAINS,
}  # fmt: skip
COMPARED = frozenset(field for field, operators in FIELDS.items() if operators is _COMPARES)
SHORT_ID = 10  # a word of this length or longer that begins a stored id is taken for that id

_NUMBER = re.compile(r"-?\d{1,300}(\.\d{1,300})?", re.ASCII)


class Term(NamedTuple):
    """One condition: `field` `op` any of `values`; `path` is the dotted way into the payload for field `args`.

    For the instants `created` and `finished` an "=" carries pairs: from (included), until (excluded).
    """

    field: str
    op: str  # "=" equals · "<" "<=" ">" ">=" compares · "~" contains, any case
    values: tuple[str | int | float, ...]
    negated: bool = False
    path: tuple[str, ...] = ()


class Page(NamedTuple):
    """A page of ids, newest first. `after` fetches the next page.

    `searched` is the size of the window when the search ended at its edge: older jobs are on the next page.
    """

    ids: tuple[str, ...]
    after: str | None
    searched: int | None


def validate(terms: Sequence[Term], limit: int) -> None:
    """Raise `UsageError` for a search that no store can do."""
    if limit < 1:
        raise UsageError(f"limit={limit}: a page holds at least one job")
    for field, op, values, _, path in terms:
        if field not in FIELDS or not values:
            raise UsageError(f"a store cannot search by {field!r}; it can by {', '.join(FIELDS)}")
        if op not in FIELDS[field]:
            raise UsageError(f"a store cannot compare {field} with {op!r}; it can with {', '.join(FIELDS[field])}")
        if field == "args" and (not path or any('"' in part or "\0" in part for part in path)):
            raise UsageError(f"args.{'.'.join(path)}: a search cannot reach names with a quote in them")


def possible_id(term: Term) -> str | None:
    """Return the word of a text term if it is long enough for an id and can begin one."""
    if term.field != "text" or len(term.values) != 1:
        return None
    word = ids.prefix(str(term.values[0]))
    return word if word is not None and len(word) >= SHORT_ID else None


def reference_range(value: object) -> tuple[str, str] | None:
    """Return from and until of every reference of a type, for the value `profile/*`; None for a value that is one reference.

    A zero follows the slash, so that every text from `profile/` to `profile0` begins with the type.
    """
    text = str(value)
    return (text[:-1], f"{text[:-2]}0") if text.endswith("/*") else None


def is_number(text: str) -> bool:
    """Return whether a text spells a number."""
    return _NUMBER.fullmatch(text) is not None
