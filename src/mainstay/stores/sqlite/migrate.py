"""The migrations of a SQLite file, for `mainstay migrate`. All of them run in one transaction."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..schema import number
from . import errors, schema
from .connect import Database

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator


class Migrations:
    """See `stores.schema.Migrations`."""

    needed = schema.VERSION

    def __init__(self, url: str) -> None:
        self._db = Database(url)
        self.where = {"store": self._db.path}

    def found(self) -> tuple[int, int, int]:
        if not errors.identity(self._db.path):
            return 0, 0, 0
        with connected(self._db) as connection:
            return *schema.versions(connection), 0

    def pending(self, since: int) -> list[str]:
        return schema.pending(since)

    def up(self, report: Callable[[str], None]) -> list[int]:
        with connected(self._db) as connection:
            before, _ = schema.versions(connection)
            names = self.pending(before)
            for name in names:
                report(name)
            schema.ensure(connection, self._db.path, create=True)
        return list(map(number, names))

    def sql(self, since: int) -> str | None:
        texts = [schema.script(name).strip() for name in self.pending(since)]
        return "\n".join(["BEGIN IMMEDIATE;", *texts, "COMMIT;"])


@contextmanager
def connected(db: Database) -> Iterator[sqlite3.Connection]:
    """Give a new connection outside of any transaction, whatever schema the file has."""
    try:
        connection = db.connect()
        try:
            yield connection
        finally:
            connection.close()
    except BaseException as error:
        errors.translate(error, db.path)
        raise
