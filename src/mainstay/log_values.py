"""Values that a handler logs, saves or returns, as the stores keep them."""

from __future__ import annotations

import json
from typing import Any

from .core.payload import clean

MESSAGE = 10_000  # characters of a log line


def encoded(fields: dict[str, Any]) -> str | None:
    """Return the fields of a log line as JSON. Those that JSON cannot carry are written as text: a log line fails no attempt."""
    for form in (lambda value: value, _carried, _described):  # the last if the fields are too large together
        try:
            return encode({name: form(value) for name, value in fields.items()})
        except Exception:  # noqa: BLE001, S112  (a value's own code may raise anything)
            continue
    return None


def _carried(value: Any) -> Any:
    try:
        return json.loads(encode(value) or "null")
    except Exception:  # noqa: BLE001  (as above)
        return _described(value)


def _described(value: Any) -> str:
    found = text(value, MESSAGE)
    return f"{type(value).__qualname__}: {found}" if isinstance(value, BaseException) else found


def encode(value: Any) -> str | None:
    """Return a value as JSON, as a result is stored."""
    from .core.codec import encode_result  # here: a program that imports `ctx` need not run a handler

    return encode_result(value)


def text(value: Any, limit: int) -> str:
    """Return a value as text that every store can hold, even if its own `__str__` fails."""
    try:
        return clean(str(value), limit)
    except Exception as error:  # noqa: BLE001  (as above)
        return f"(its __str__ raised {type(error).__name__})"
