"""Values that a handler logs, saves or returns, as the stores keep them."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from .core.payload import clean
from .redacting import kept

if TYPE_CHECKING:
    from collections.abc import Callable

MESSAGE = 10_000  # characters of a log line
FIELDS = 100_000  # bytes of its fields, as JSON


def encoded(fields: dict[str, Any], simple: str | None = None) -> str | None:
    """Return the fields of a log line as JSON: `simple`, what `simple_encoder` made of them, if that is right.

    Those that JSON cannot carry are written as text: a log line fails no attempt.
    """
    if simple is not None and simple_encoder()[1](simple):
        return simple
    try:
        return encode(fields, FIELDS)
    except Exception:  # noqa: BLE001  (a value's own code may raise anything)
        return _mended(fields)


def _mended(fields: dict[str, Any]) -> str | None:
    for form in (_carried, _described):  # the last if the fields are too large together
        try:
            return encode({name: form(value) for name, value in fields.items()}, FIELDS)
        except Exception:  # noqa: BLE001, S112  (as above)
            continue
    return None


def _carried(value: Any) -> Any:
    try:
        return json.loads(encode(value, FIELDS) or "null")
    except Exception:  # noqa: BLE001  (as above)
        return _described(value)


def _described(value: Any) -> str:
    found = as_text(value, MESSAGE)
    return f"{type(value).__qualname__}: {found}" if isinstance(value, BaseException) else found


def encode(value: Any, *limit: int) -> str | None:
    """Return a value as JSON, as a result is stored, with the limit of one or with its own, in bytes."""
    from .core.codec import encode_result  # with the first value: a program that imports `ctx` need not run a handler

    return encode_result(value, *limit)


@cache
def simple_encoder() -> tuple[Callable[[Any], bytes], Callable[[str], bool]]:
    """Return what encodes simple values fast, and whether a text is of one. Imported with the first value, as above."""
    from .core.codec import encode_simple, is_simple

    return encode_simple, is_simple


def as_text(value: Any, limit: int) -> str:
    """Return a value as text that every store can hold, even if its own `__str__` fails."""
    if type(value) is str and value.isprintable() and value.isascii() and len(value) <= limit:  # nearly always
        return value
    try:
        text = str(value)
        return clean(text, limit) if len(text) <= limit else kept(text, limit)
    except Exception as error:  # noqa: BLE001  (as above)
        return f"(its __str__ raised {type(error).__name__})"
