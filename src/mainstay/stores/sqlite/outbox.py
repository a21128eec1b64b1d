"""The caller's own connection, joined for one call: jobs are enqueued and completed inside the caller's transaction."""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING, Any

from ...core.errors import TransactionUnsupported
from . import faults, schema

if TYPE_CHECKING:
    from types import TracebackType

    from .connect import Database


class Joined:
    """`with Joined(tx, db) as connection:` our statements happen there whole or not at all; the rest is the caller's."""

    def __init__(self, tx: object, db: Database) -> None:
        self._tx, self._db = checked(tx, db), db
        self._undo: tuple[str, ...] = ()
        self._keep: tuple[str, ...] = ()

    def __enter__(self) -> sqlite3.Connection:
        tx = self._tx
        self._factories = tx.row_factory, tx.text_factory  # dicts or bytes are the caller's way to read, not ours
        tx.row_factory, tx.text_factory = None, str
        try:
            self._begin()
        except BaseException as error:
            self._end(error)
            raise
        return tx

    def _begin(self) -> None:
        """Join what is open, or open it.

        An open transaction may hold the write lock: in a file that is new to mainstay, nobody else could make our tables.
        """
        if self._tx.in_transaction:
            self._undo, self._keep = ("ROLLBACK TO mainstay", "RELEASE mainstay"), ("RELEASE mainstay",)
            self._tx.execute("SAVEPOINT mainstay")
        else:
            self._undo, self._keep = ("ROLLBACK",), ()
            self._db.ready()
            self._tx.execute("BEGIN IMMEDIATE")
        schema.ensure(self._tx, self._db.path, migrate=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end(error)

    def _end(self, error: BaseException | None) -> None:
        try:
            if self._tx.in_transaction:  # else SQLite has rolled it back: a full disk, say
                for statement in self._keep if error is None else self._undo:
                    self._tx.execute(statement)
        except sqlite3.Error as failure:
            error = error or failure
        self._tx.row_factory, self._tx.text_factory = self._factories
        if error is not None:
            faults.translate(error, self._db.path)


def checked(tx: object, db: Database) -> sqlite3.Connection:
    """The caller's connection, once it is clear that it has our file open and a transaction to join."""
    if db.memory:
        raise TransactionUnsupported(
            "tx= needs a store in a file: a database in memory belongs to one connection, ours"
        )
    if not isinstance(tx, sqlite3.Connection):
        raise TransactionUnsupported(
            f"tx={type(tx).__name__}: the store is {db.path}; pass a sqlite3.Connection to that file"
        )
    try:
        same, closed = _same_file(tx, db.path), not tx.in_transaction and _commits_each_statement(tx)
    except sqlite3.ProgrammingError as error:  # closed, or another thread's
        raise TransactionUnsupported(f"tx= cannot be used here: {error}") from error
    if not same:
        raise TransactionUnsupported(f"tx= is connected to another database than the store ({db.path}); open that file")
    if closed:
        raise TransactionUnsupported(
            "tx= has no transaction open: run connection.execute('BEGIN IMMEDIATE') first, or connect without "
            "isolation_level=None and autocommit=True"
        )
    return tx


def _commits_each_statement(tx: sqlite3.Connection) -> bool:
    autocommit: Any = getattr(tx, "autocommit", -1)  # from Python 3.12 on; -1: isolation_level decides, as before
    return autocommit is True or (autocommit == -1 and tx.isolation_level is None)


def _same_file(tx: sqlite3.Connection, path: str) -> bool:
    cursor = tx.cursor()
    cursor.row_factory = None
    file = next((row[2] for row in cursor.execute("PRAGMA database_list") if row[1] in ("main", b"main")), "")
    return bool(file) and os.path.exists(path) and os.path.samefile(file, path)
