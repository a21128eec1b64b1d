"""Records with more fields: what a verb returns, and what a page shows beside it, in one object of the API."""

from __future__ import annotations

import typing
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from .shapes import hints

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def extends(record: type) -> Callable[[type[T]], type[T]]:
    """Give a class of named fields the fields of a record before its own. `extended` makes its values."""

    def widened(more: type[T]) -> type[T]:
        fields: dict[str, Any] = {name: hints(record)[name] for name in record._fields}  # type: ignore[attr-defined]
        made = NamedTuple(more.__name__, [*fields.items(), *typing.get_type_hints(more).items()])  # type: ignore[misc]
        made.__doc__, made.__module__ = more.__doc__, more.__module__
        return made  # type: ignore[return-value]

    return widened


def extended(kind: type[T], record: Any, **more: Any) -> T:
    """Return a record with more fields."""
    return kind(**record._asdict(), **more)
