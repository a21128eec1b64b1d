"""What operations return, as the bytes of a response. The one place that takes secrets out of them."""

from __future__ import annotations

from typing import Any

import msgspec

from ..control.json_records import plain
from ..redacting import redactor


class Revealed(msgspec.Struct, kw_only=True):
    """A result that shows a secret to the one who has made it; it is returned once, as it is."""


class Fixed(dict[str, Any]):
    """A result that holds nothing stored, and is the same for everybody: its own words may look like names of secrets."""


def encoded(value: Any) -> bytes:
    """Return a value as JSON without secrets."""
    made = plain(value)
    text = msgspec.json.encode(made)
    if isinstance(value, (Revealed, Fixed)):
        return text
    found = redactor()
    return msgspec.json.encode(found.value(made)) if found.suspects_json(text.decode()) else text
