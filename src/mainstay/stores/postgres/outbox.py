"""PostgreSQL's verbs inside a caller's transaction: in the same database, with a savepoint where a refusal is to be expected.

A savepoint costs two round trips, and a transaction with many of them slows down the whole server. So there is one only for
keys: another may have one, or be about to commit it. What else can go wrong (a timeout, a server that goes away) ends the
caller's transaction, as it would end it from any other statement.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar
from weakref import WeakSet

from ...core.errors import StoreReadOnly, TransactionUnsupported, UsageError
from ...core.verdict import STORED
from ..operations import Statement
from ..outbox.caller_connection import AUTOCOMMIT, BROKEN, CLOSED, IDLE, Aside
from ..sql.actions import cancel_operations
from . import errors
from .claim import finish_operations
from .enqueue import enqueue_operations

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ...core.decide import Transition
    from ...core.draft import Draft
    from ..operations import Operations
    from ..outbox.caller_connection import CallerConnection, Joined
    from .connect import Database
    from .dialect import PostgresDialect

T = TypeVar("T")
FOREIGN = ("asyncpg", "psycopg2")


class PostgresOutbox:
    """The outbox of one schema of a database."""

    engine = "postgres"

    def __init__(self, db: Database, dialect: PostgresDialect) -> None:
        self._db, self._dialect, self.place = db, dialect, db.place
        self._home: tuple[Any, ...] = ()  # which database we are in
        self._known: WeakSet[Any] = WeakSet()  # connections that were seen to be in the same

    # the verbs ----------------------------------------------------------------------------------------------------
    def enqueue(self, drafts: Sequence[Draft], now: int) -> Operations[list[tuple[str, bool]]]:
        operations = self._enqueue(drafts, now)
        return whole(operations) if any(draft.lock is not None for draft in drafts) else operations

    def _enqueue(self, drafts: Sequence[Draft], now: int) -> Operations[list[tuple[str, bool]]]:
        if not drafts:
            return []
        answers = yield from enqueue_operations(self._dialect, drafts, now)
        if any(created for _, created in answers):
            yield from self._ring("jobs")
        return answers

    def cancel(self, ids: Sequence[str], now: int, actor: str) -> Operations[dict[str, str]]:
        answers = yield from cancel_operations(self._dialect, ids, now, actor)
        if "cancelling" in answers.values():
            yield from self._ring("cancel")
        return answers

    def finish(self, transition: Transition) -> Operations[bool]:
        if (yield from finish_operations(self._dialect, [transition])) != [STORED]:
            return False
        if transition.children:
            yield from self._ring("jobs")
        return True

    def _ring(self, what: str) -> Operations[None]:
        """Ring with the caller's commit: nobody else knows when that is."""
        if self._db.listen != "no":
            yield Statement(self._db.load("notify"), (self._db.load.schema, what))

    # the transaction ----------------------------------------------------------------------------------------------
    def around(self, caller: CallerConnection, operations: Operations[T]) -> Joined[T]:
        """Join what is open, or what the first statement opens."""
        standing = _checked(caller)
        try:
            if caller.lasting not in self._known:
                yield from self._check_place(caller)
            return (yield from operations)
        except BaseException as error:
            if standing == IDLE and caller.standing() not in (
                IDLE,
                CLOSED,
            ):  # a refusal leaves nothing open that was not
                yield from undo(error, "ROLLBACK")
            raise

    def _check_place(self, caller: CallerConnection) -> Joined[None]:
        """Raise when the caller is in another database, or may not write to our tables in this one."""
        if not self._home:
            yield Aside(self._find_home)  # which makes the schema first, where there is none
        (*found, allowed), *_ = (yield Statement(self._db.load("outbox"), (self._db.load.schema,))).rows
        if tuple(found) != self._home:
            yield Aside(self._find_home)  # the server may have been started anew
        if tuple(found) != self._home:
            raise TransactionUnsupported(
                f"tx= is connected to another database than the store ({self.place}): jobs commit with your data only where "
                "both are in one database"
            )
        if not allowed:
            schema = self._db.load.schema
            raise StoreReadOnly(
                f"{self.place}: the role of tx= may not write to the schema {schema}. As its owner: GRANT USAGE ON SCHEMA "
                f"{schema}, and ALL ON ALL TABLES and ALL SEQUENCES IN SCHEMA {schema}, to that role"
            )
        self._known.add(caller.lasting)

    def _find_home(self) -> None:
        self._home = self._db.execute("outbox", self._db.load.schema).rows[0][:2]

    def fault(self, error: BaseException) -> BaseException:
        """A driver's error as one of ours, whichever driver it is."""
        if type(error).__module__.partition(".")[0] not in FOREIGN:
            return errors.mapped(error, self.place)
        state = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)
        if state == "25P02":
            return _failed()
        if state is None:
            return UsageError(f"a value cannot be stored: {error}") if isinstance(error, ValueError) else error
        kind, advice = errors.by_state(state)
        words = " ".join(str(error).split()).rstrip(".")
        return kind(f"{self.place}: {words}. {advice}".rstrip(". ") + ".")


def _checked(caller: CallerConnection) -> str:
    """How the connection stands, once it is clear that it has a transaction to join."""
    standing = caller.standing()
    if standing == CLOSED:
        raise TransactionUnsupported("tx= cannot be used here: the connection is closed")
    if standing == BROKEN:
        raise _failed()
    if standing == AUTOCOMMIT:
        raise TransactionUnsupported(f"tx= has no transaction open: {caller.advice}")
    return standing


def _failed() -> TransactionUnsupported:
    return TransactionUnsupported("tx= cannot be used here: its transaction has failed already; roll it back first")


def whole(operations: Operations[T]) -> Operations[T]:
    """Steps that happen whole or not at all, and leave the transaction usable in either case."""
    yield Statement("SAVEPOINT mainstay")
    try:
        result = yield from operations
    except BaseException as error:
        yield from undo(error, "ROLLBACK TO SAVEPOINT mainstay", "RELEASE SAVEPOINT mainstay")
        raise
    yield Statement("RELEASE SAVEPOINT mainstay")
    return result


def undo(error: BaseException, *statements: str) -> Operations[None]:
    """Take steps back; the error that made it necessary is the one to be told."""
    if isinstance(error, GeneratorExit):
        return
    try:
        for statement in statements:
            yield Statement(statement)
    except Exception as worse:  # noqa: BLE001  (of whichever driver)
        error.add_note(f"… and taking it back failed: {worse}")
