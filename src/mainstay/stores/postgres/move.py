"""Settings, and an installation row by row: out of this store, or into it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.errors import Conflict
from ...core.export import ANOTHER, Batch
from ..operations import Statement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..operations import Operations
    from .connect import Database

CURSOR = {"jobs": 1, "attempts": 2, "logs": 3, "actions": 1, "types": 0, "settings": 0}  # columns; 0: all at once

BYTES = 8 << 20  # of texts in one parcel: one job more than that is enough


def setting(db: Database, name: str) -> str | None:
    """One setting."""
    rows = db.execute("setting", name).rows
    return rows[0][0] if rows else None


def set_setting(db: Database, name: str, value: str | None) -> None:
    """Change or remove a setting."""
    if value is None:
        db.execute("set_setting_none", name)
    else:
        db.execute("set_setting", name, value)


def export_rows(db: Database, part: str, after: str | None, limit: int) -> Batch:
    """The next rows of a part."""
    width = CURSOR[part]
    if width == 0:
        return Batch(db.execute(f"export_{part}").rows, None)
    places = [int(number) for number in after.split()] if after else [-1] * width
    rows = db.execute(f"export_{part}", *places, limit, *[BYTES] * (part == "jobs")).rows
    last = " ".join(map(str, rows[-1][-width:])) if rows else None  # large ones may be fewer than asked for
    return Batch([row[:-width] for row in rows], last)


def import_rows(db: Database, part: str, rows: Sequence[tuple[Any, ...]], was: str, mark: str) -> None:
    """Insert rows as they are, with the mark of how far the move is."""
    db.run(lambda: _load(db, part, rows, was, mark))


def _load(db: Database, part: str, rows: Sequence[tuple[Any, ...]], was: str, mark: str) -> Operations[None]:
    _, moved = yield Statement(db.load("import_mark"), (was, mark))
    if not moved:
        raise Conflict(ANOTHER)
    if rows:
        yield Statement(db.load(f"import_{part}"), tuple(map(list, zip(*rows, strict=True))))
