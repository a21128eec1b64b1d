"""Temporary patches of the real code, and the register of those that are mistakes."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from mainstay.stores.sqlite import sql

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager


class Variant(NamedTuple):
    """One mistake, and the invariants that the checker must see broken."""

    name: str
    story: str
    breaks: frozenset[str]
    apply: Callable[[], AbstractContextManager[object]]
    only: str = ""  # the hardship that shows it


VARIANTS: dict[str, Variant] = {}
MISSING = object()


def variant(*breaks: str, only: str = "") -> Callable[[Callable[[], AbstractContextManager[object]]], None]:
    """Register a function that returns the patch; its docstring describes the mistake."""

    def add(function: Callable[[], AbstractContextManager[object]]) -> None:
        name = function.__name__.strip("_")
        VARIANTS[name] = Variant(name, function.__doc__ or "", frozenset(breaks), function, only)

    return add


@contextmanager
def patched(*patches: tuple[Any, str, Any]) -> Iterator[None]:
    """Replace attributes for a while; raise `LookupError` for one that does not exist."""
    missing = [f"{target!r} has no {name}" for target, name, _ in patches if not hasattr(target, name)]
    if missing:
        raise LookupError(f"{', '.join(missing)}: bring this variant up to date")
    before = [(target, name, vars(target).get(name, MISSING)) for target, name, _ in patches]
    for target, name, value in patches:
        setattr(target, name, value)
    try:
        yield
    finally:
        for target, name, value in before:
            if value is MISSING:
                delattr(target, name)
            else:
                setattr(target, name, value)


@contextmanager
def statements(**changes: tuple[str, ...]) -> Iterator[None]:
    """Change the text of statements for a while, by pairs of old and new; raise `LookupError` for an old one not there."""
    cache = sql._cache
    texts = {name: sql.load(name) for name in changes}
    for name, pairs in changes.items():
        cache[name] = texts[name]
        for old, new in zip(pairs[::2], pairs[1::2], strict=True):
            if old not in cache[name]:
                raise LookupError(f"{name}.sql no longer says {old!r}: bring this variant up to date")
            cache[name] = cache[name].replace(old, new)
    try:
        yield
    finally:
        cache.update(texts)
