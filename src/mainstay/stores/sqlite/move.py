"""Settings, and an installation row by row: out of this store, or into it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ...core.errors import Conflict
from ...core.export import ANOTHER, Batch, JobRecord
from . import inserts
from .sql import load

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from .connect import Database

CURSOR = {"jobs": 1, "attempts": 2, "logs": 3, "actions": 1, "types": 0, "settings": 0}  # columns; 0: all at once
JOB, BODY = 23, 29  # where the columns of the job end in a JobRecord, and those of its body
LARGE = 4 << 20  # characters in one parcel: no row is added to so many
_LOAD = {"actions": "audit"}  # what another statement does already


def setting(db: Database, name: str) -> str | None:
    """One setting."""
    with db.reading() as connection:
        row = connection.execute(load("setting"), {"name": name}).fetchone()
    return row[0] if row else None


def set_setting(db: Database, name: str, value: str | None) -> None:
    """Change or remove a setting."""
    statement = "set_setting_none" if value is None else "set_setting"
    with db.writing() as connection:
        connection.execute(load(statement), {"name": name, "value": value})


def export_rows(db: Database, part: str, after: str | None, limit: int) -> Batch:
    """The next rows of a part."""
    width = CURSOR[part]
    places = [int(number) for number in after.split()] if after else [-1] * width
    bound = dict(zip(("after", "after2", "after3"), places, strict=False)) | {"limit": limit}
    with db.reading() as connection:
        rows, cut = _some(connection.execute(load(f"export_{part}"), bound))
    if width == 0:
        return Batch(rows, None)
    last = " ".join(map(str, rows[-1][-width:])) if cut or len(rows) == limit else None
    return Batch([row[:-width] for row in rows], last)


def _some(cursor: sqlite3.Cursor) -> tuple[list[tuple[Any, ...]], bool]:
    """Rows until they are large enough, and whether there may be more."""
    rows, size = [], 0
    for row in cursor:
        rows.append(row)
        size += sum(len(value) for value in row if type(value) is str)
        if size > LARGE:
            return rows, True
    return rows, False


def import_rows(db: Database, part: str, rows: Sequence[tuple[Any, ...]], was: str, mark: str) -> None:
    """Insert rows as they are, with the mark of how far the move is."""
    with db.writing() as connection:
        if not connection.execute(load("import_mark"), {"was": was, "mark": mark}).rowcount:
            raise Conflict(ANOTHER)
        if part == "jobs":
            _load_jobs(connection, rows)
        else:
            connection.executemany(load(_LOAD.get(part, f"import_{part}")), rows)


def _load_jobs(connection: sqlite3.Connection, rows: Sequence[tuple[Any, ...]]) -> None:
    """Jobs with what stands beside them, numbered in the order given."""
    (last,) = connection.execute(load("import_seq")).fetchone()
    jobs = list(enumerate(map(JobRecord._make, rows), last + 1))
    beside: dict[str, list[tuple[Any, ...]]] = {
        "import_jobs": [(seq, *job[:JOB]) for seq, job in jobs],
        inserts.insert_bodies(inserts.BODY, 1): [(seq, *job[JOB:BODY]) for seq, job in jobs],
        "import_result": [(seq, job.result) for seq, job in jobs if job.result is not None],
        "import_checkpoint": [
            (seq, job.token, job.created_at, job.checkpoint) for seq, job in jobs if job.checkpoint is not None
        ],
        "import_progress": [
            (seq, job.token, job.created_at, *job[-3:]) for seq, job in jobs if job[-3:] != (None, None, None)
        ],
        "enqueue_tag": [(tag, seq) for seq, job in jobs if job.tags for tag in json.loads(job.tags)],
    }
    for statement, values in beside.items():
        connection.executemany(statement if statement.startswith("INSERT") else load(statement), values)
