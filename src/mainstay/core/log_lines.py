"""Lines of a log as stores keep them: one by one, or several of an attempt in one row (`worker.packed_lines`), which is cheaper to write."""

from __future__ import annotations

import json
from typing import Any

from .updates import Line


def unpack(line: Line, count: int | None) -> list[Line]:
    """Return the lines of a row, which has so many; None: it is one line."""
    return [line] if count is None else [Line._make(each) for each in json.loads(line.message)]


def loaded(text: str | None) -> dict[str, Any]:
    """Return the fields of a line."""
    return json.loads(text) if text else {}
