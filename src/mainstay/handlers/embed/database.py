"""The tables of the application in which vectors are stored and from which texts are read. All names in statements are those of the settings."""

from __future__ import annotations

import re
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from mainstay import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)?")
MARKS = {"qmark": "?", "format": "%s", "pyformat": "%s"}  # of a value in a statement, by the paramstyle of a driver


class Space(NamedTuple):
    """A table of vectors, one for each id: the names of its columns. Without a name for `metadata` none is stored."""

    table: str
    id: str = "id"
    vector: str = "vector"
    metadata: str = ""


class Rows(NamedTuple):
    """A table whose rows have a text and a column for its vector."""

    table: str
    id: str = "id"
    text: str = "text"
    vector: str = "vector"


def check_names(names: Iterable[str]) -> None:
    """Raise `ConfigError` for what cannot be the name of a table or column."""
    for name in names:
        if not NAME.fullmatch(name):
            raise ConfigError(
                f"{name!r:.100} is not the name of a table or column: letters, digits and _, as in public.notes"
            )


def quoted(name: str) -> str:
    """Return a name of the settings as it stands in a statement."""
    return ".".join(f'"{part}"' for part in name.split("."))


class Database:
    """A connection, and statements in the way of its driver."""

    def __init__(self, connection: Any) -> None:
        self._mark = _mark(getattr(connection, "driver_connection", connection))
        if not self._mark or not hasattr(connection, "cursor"):
            raise ConfigError(
                "connect= must return a DB-API connection: that of sqlite3, of psycopg, or engine.raw_connection() of SQLAlchemy"
            )
        self._connection = connection

    def upsert(self, space: Space, rows: Sequence[Sequence[Any]]) -> None:
        """Store rows of id, vector and, if the space has them, metadata, in place of those with the same id."""
        columns = [quoted(name) for name in (space.id, space.vector, space.metadata) if name]
        changed = ", ".join(f"{name} = excluded.{name}" for name in columns[1:])
        marks = ", ".join("?" * len(columns))
        target = f"{quoted(space.table)} ({', '.join(columns)})"
        self._write(f"INSERT INTO {target} VALUES ({marks}) ON CONFLICT ({columns[0]}) DO UPDATE SET {changed}", rows)  # noqa: S608

    def update(self, table: str, column: str, row: str, values: Sequence[tuple[Any, Any]]) -> None:
        """Set a column to the first of each pair, where the column `row` is the second."""
        self._write(f"UPDATE {quoted(table)} SET {quoted(column)} = ? WHERE {quoted(row)} = ?", values)  # noqa: S608

    def texts(self, rows: Rows, ids: Sequence[Any]) -> dict[str, Any]:
        """Return the texts of rows, by the text of their ids."""
        row, marks = quoted(rows.id), ", ".join("?" * len(ids))
        query = f"SELECT {row}, {quoted(rows.text)} FROM {quoted(rows.table)} WHERE {row} IN ({marks})"  # noqa: S608
        with closing(self._connection.cursor()) as cursor:
            cursor.execute(query.replace("?", self._mark), ids)
            return {str(key): text for key, text in cursor.fetchall()}

    def _write(self, statement: str, values: Sequence[Sequence[Any]]) -> None:
        if values:
            with closing(self._connection.cursor()) as cursor:
                cursor.executemany(statement.replace("?", self._mark), values)

    def commit(self) -> None:
        """End the transaction; without this, `close` rolls it back."""
        self._connection.commit()

    def close(self) -> None:
        """Give the connection back."""
        self._connection.close()


def _mark(connection: Any) -> str:
    """Return what stands for a value in the statements of a driver; nothing if the connection is of none."""
    modules = [sys.modules.get(each.__module__.partition(".")[0]) for each in type(connection).__mro__]
    return next((MARKS[style] for each in modules if (style := getattr(each, "paramstyle", "")) in MARKS), "")


def is_out_of_reach(error: Exception) -> bool:
    """Whether the database is out of reach, or too busy: no fault of what was to be stored."""
    return bool({each.__name__ for each in type(error).__mro__} & {"OperationalError", "InterfaceError"})
