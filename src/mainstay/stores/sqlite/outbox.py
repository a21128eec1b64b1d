"""SQLite's verbs inside a caller's transaction: in the same file, behind a savepoint, creating our tables if they are missing.

Cold producers enqueue through here: what only cancels and completes is imported by those verbs.
"""

from __future__ import annotations

import os
import sqlite3

from ...core.errors import TransactionUnsupported
from ..operations import Statement
from ..outbox.caller_connection import AUTOCOMMIT, OPEN, OwnWork, undo
from . import errors, schema
from .enqueue import enqueue_operations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeVar

    from ...core.decide import Transition
    from ..operations import Operations
    from ..outbox.caller_connection import CallerConnection, Joined
    from .connect import Database

    T = TypeVar("T")


class SqliteOutbox:
    """The outbox of one database file."""

    engine = "sqlite"
    enqueue = staticmethod(enqueue_operations)

    def __init__(self, db: Database) -> None:
        if db.memory:
            raise TransactionUnsupported(
                "tx= needs a store in a file: a database in memory belongs to one connection, ours"
            )
        self._db, self.place = db, db.path

    def cancel(self, ids: Sequence[str], now: int, actor: str) -> Operations[dict[str, str]]:
        from ..sql.actions import cancel_operations
        from .dialect import DIALECT

        return cancel_operations(DIALECT, ids, now, actor)

    def finish(self, transition: Transition) -> Operations[bool]:
        from .finish import finish_operations

        return finish_operations(transition)

    def setting(self, name: str) -> Operations[str | None]:
        from ..sql.maintenance import setting_operations
        from .dialect import DIALECT

        return setting_operations(DIALECT, name)

    def mapped(self, error: BaseException) -> BaseException:
        return errors.mapped(error, self.place)

    def in_transaction(self, caller: CallerConnection, operations: Operations[T]) -> Joined[T]:
        """Join the open transaction, or open one.

        An open transaction may hold the write lock. Only this transaction can then create our tables.
        """
        inside = (yield from self._checked(caller)) == OPEN
        if not inside:
            yield OwnWork(self._db.ready)
        yield Statement("SAVEPOINT mainstay" if inside else "BEGIN IMMEDIATE")
        try:
            yield from schema.migrate_operations(self.place)
            result = yield from operations
            if inside:
                yield Statement("RELEASE mainstay")
        except BaseException as error:
            # Else SQLite has rolled back already.
            if not isinstance(error, GeneratorExit) and caller.tx_status() == OPEN:
                yield from undo(error, *(("ROLLBACK TO mainstay", "RELEASE mainstay") if inside else ("ROLLBACK",)))
            raise
        return result

    def _checked(self, caller: CallerConnection) -> Joined[str]:
        """Return the transaction's status, after checking that the connection has our file open and a transaction to join."""
        try:
            status = caller.tx_status()
            rows, _ = yield Statement("PRAGMA database_list")
        except (sqlite3.ProgrammingError, ValueError) as error:  # closed, or another thread's
            raise TransactionUnsupported(f"tx= cannot be used here: {error}") from error
        file = next((row[2] for row in rows if row[1] == "main"), "")
        if not file or not os.path.exists(self.place) or not os.path.samefile(file, self.place):
            raise TransactionUnsupported(
                f"tx= is connected to another database than the store ({self.place}); open that file"
            )
        if status == AUTOCOMMIT:
            raise TransactionUnsupported(f"tx= has no transaction open: {caller.advice}")
        return status
