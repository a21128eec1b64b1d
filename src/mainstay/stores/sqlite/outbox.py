"""SQLite's verbs inside a caller's transaction: in the same file, behind a savepoint, with our tables made there if need be."""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING, TypeVar

from ...core.errors import TransactionUnsupported
from ..outbox.guest import BARE, OPEN, Aside
from ..steps import Step
from . import faults, schema
from .claim import finish_steps
from .enqueue import enqueue_steps
from .operate import cancel_steps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...core.decide import Transition
    from ...core.draft import Draft
    from ..outbox.guest import Guest, Joined
    from ..steps import Steps
    from .connect import Database

T = TypeVar("T")


class SqliteOutbox:
    """The outbox of one database file."""

    engine = "sqlite"

    def __init__(self, db: Database) -> None:
        if db.memory:
            raise TransactionUnsupported(
                "tx= needs a store in a file: a database in memory belongs to one connection, ours"
            )
        self._db, self.place = db, db.path

    def enqueue(self, drafts: Sequence[Draft], now: int) -> Steps[list[tuple[str, bool]]]:
        return enqueue_steps(drafts, now)

    def cancel(self, ids: Sequence[str], now: int, actor: str) -> Steps[dict[str, str]]:
        return cancel_steps(ids, now, actor)

    def finish(self, transition: Transition) -> Steps[bool]:
        return finish_steps(transition)

    def fault(self, error: BaseException) -> BaseException:
        return faults.mapped(error, self.place)

    def around(self, guest: Guest, steps: Steps[T]) -> Joined[T]:
        """Join what is open, or open it.

        An open transaction may hold the write lock: in a file that is new to mainstay, nobody else could make our tables.
        """
        inside = (yield from self._checked(guest)) == OPEN
        if not inside:
            yield Aside(self._db.ready)
        yield Step("SAVEPOINT mainstay" if inside else "BEGIN IMMEDIATE")
        try:
            yield from schema.join_steps(self.place)
            result = yield from steps
            if inside:
                yield Step("RELEASE mainstay")
        except BaseException as error:
            yield from _undo(guest, error, ["ROLLBACK TO mainstay", "RELEASE mainstay"] if inside else ["ROLLBACK"])
            raise
        return result

    def _checked(self, guest: Guest) -> Joined[str]:
        """How the connection stands, once it is clear that it has our file open and a transaction to join."""
        try:
            standing = guest.standing()
            rows, _ = yield Step("PRAGMA database_list")
        except (sqlite3.ProgrammingError, ValueError) as error:  # closed, or another thread's
            raise TransactionUnsupported(f"tx= cannot be used here: {error}") from error
        if not self._same(next((row[2] for row in rows if row[1] == "main"), "")):
            raise TransactionUnsupported(
                f"tx= is connected to another database than the store ({self.place}); open that file"
            )
        if standing == BARE:
            raise TransactionUnsupported(f"tx= has no transaction open: {guest.advice}")
        return standing

    def _same(self, file: str) -> bool:
        return bool(file) and os.path.exists(self.place) and os.path.samefile(file, self.place)


def _undo(guest: Guest, error: BaseException, statements: list[str]) -> Joined[None]:
    """Take our statements back; the error that made it necessary is the one to be told."""
    if isinstance(error, GeneratorExit) or guest.standing() != OPEN:  # SQLite has rolled it back: a full disk, say
        return
    try:
        for statement in statements:
            yield Step(statement)
    except sqlite3.Error as worse:
        error.add_note(f"… and taking it back failed: {worse}")
