"""A search as stores take it: terms that must all hold. `mainstay.query` parses the text of a search into them."""

from __future__ import annotations

from typing import NamedTuple


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
    """A page of ids, newest first. `after` asks for the next one; `searched` is the window a text search looked at."""

    ids: tuple[str, ...]
    after: str | None
    searched: int | None
