"""PostgreSQL's verbs inside a caller's transaction: in the same database, with a savepoint where a refusal is likely.

A savepoint costs two round trips, and a transaction with many of them slows down the whole server. So only drafts with keys
or parents get one: another job may have the key, or be about to commit it; a parent may not exist. Any other failure (a timeout, a server that goes away) ends
the caller's transaction, as it would with any other statement.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar
from weakref import WeakSet

from ...core.errors import StoreReadOnly, TransactionUnsupported, UsageError
from ...core.verdict import STORED
from ..operations import Statement
from ..outbox.caller_connection import AUTOCOMMIT, BROKEN, CLOSED, IDLE, OwnWork, undo
from ..sql.actions import cancel_operations
from ..sql.admission import finished, wake
from . import errors
from .claim import finish_operations
from .enqueue import follow_registrations, identified, insert_operations, undeclared

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ...core.decide import Transition
    from ...core.draft import Draft
    from ..operations import Operations
    from ..outbox.caller_connection import CallerConnection, Joined
    from .connect import Database

T = TypeVar("T")
FOREIGN = ("asyncpg", "psycopg2")
FAILED = "tx= cannot be used here: its transaction has failed already; roll it back first"


class PostgresOutbox:
    """The outbox of one schema of a database."""

    engine = "postgres"

    def __init__(self, db: Database) -> None:
        self._db, self._dialect, self.place = db, db.dialect, db.place
        self._home: tuple[Any, ...] = ()  # the database of the store
        self._known: WeakSet[Any] = WeakSet()  # connections that are known to be in the same

    # the verbs ----------------------------------------------------------------------------------------------------
    def enqueue(self, drafts: Sequence[Draft], now: int) -> Operations[list[tuple[str, bool]]]:
        if not drafts:
            return []
        fresh = identified(drafts, now)
        yield from follow_registrations(self._dialect, undeclared(drafts))
        operations = insert_operations(self._dialect, drafts, now, fresh)
        refusable = any(draft.lock is not None or draft.after for draft in drafts)
        outcomes = yield from (whole(operations) if refusable else operations)
        if any(created for _, created in outcomes):
            yield from self._notify("jobs")
        return outcomes

    def cancel(self, ids: Sequence[str], now: int, actor: str) -> Operations[dict[str, str]]:
        outcomes = yield from cancel_operations(self._dialect, ids, now, actor)
        if "cancelling" in outcomes.values():
            yield from self._notify("cancel")
        return outcomes

    def finish(self, transition: Transition) -> Operations[bool]:
        verdicts, _ = yield from finish_operations(self._dialect, [transition])
        if verdicts != [STORED]:
            return False
        if transition.rules:
            yield from wake(
                self._dialect, (yield from finished(self._dialect, [transition], transition.at, joined=True))
            )
        if transition.children or transition.rules:
            yield from self._notify("jobs")
        return True

    def setting(self, name: str) -> Operations[str | None]:
        from ..sql.maintenance import setting_operations

        return setting_operations(self._dialect, name)

    def _notify(self, what: str) -> Operations[None]:
        """Notify with the caller's commit: only the server knows when that is."""
        if self._db.listen != "no":
            yield self._dialect.statement("notify", channel=self._dialect.schema, what=what)

    # the transaction ----------------------------------------------------------------------------------------------
    def in_transaction(self, caller: CallerConnection, operations: Operations[T]) -> Joined[T]:
        """Join the open transaction, or the one that the first statement opens."""
        status = _checked(caller)
        try:
            if caller.identity not in self._known:
                yield from self._check_place(caller)
            return (yield from operations)
        except BaseException as error:
            if status == IDLE and caller.tx_status() not in (IDLE, CLOSED):  # an error leaves nothing open that was not
                yield from undo(error, "ROLLBACK")
            raise

    def _check_place(self, caller: CallerConnection) -> Joined[None]:
        """Raise if the caller is in another database, or may not write to our tables in this one."""
        schema = self._dialect.schema
        if not self._home:
            yield OwnWork(self._find_home)  # which creates the schema first, if there is none
        (*found, allowed), *_ = (yield self._dialect.statement("outbox", schema=schema)).rows
        if tuple(found) != self._home:
            yield OwnWork(self._find_home)  # the server may have been restarted
        if tuple(found) != self._home:
            raise TransactionUnsupported(
                f"tx= is connected to another database than the store ({self.place}): jobs commit with your data only where "
                "both are in one database"
            )
        if not allowed:
            raise StoreReadOnly(
                f"{self.place}: the role of tx= may not write to the schema {schema}. As its owner: GRANT USAGE ON SCHEMA "
                f"{schema}, and ALL ON ALL TABLES and ALL SEQUENCES IN SCHEMA {schema}, to that role"
            )
        self._known.add(caller.identity)

    def _find_home(self) -> None:
        self._home = self._db.execute("outbox", schema=self._dialect.schema).rows[0][:2]

    def mapped(self, error: BaseException) -> BaseException:
        """Return the error of any driver as one of ours."""
        if type(error).__module__.partition(".")[0] not in FOREIGN:
            return errors.mapped(error, self.place)
        state = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)
        if state == "25P02":
            return TransactionUnsupported(FAILED)
        if state is None:
            return UsageError(f"a value cannot be stored: {error}") if isinstance(error, ValueError) else error
        return errors.foreign(error, state, self.place)


def _checked(caller: CallerConnection) -> str:
    """Return the transaction's status, after checking that there is one to join."""
    status = caller.tx_status()
    unfit = {
        CLOSED: "tx= cannot be used here: the connection is closed",
        BROKEN: FAILED,
        AUTOCOMMIT: f"tx= has no transaction open: {caller.advice}",
    }
    if status in unfit:
        raise TransactionUnsupported(unfit[status])
    if caller.encoding.upper() not in ("UTF8", "UTF-8", "UNICODE"):
        raise TransactionUnsupported(
            f"tx= has the client_encoding {caller.encoding}, with which some texts cannot be sent: connect with client_encoding=UTF8, "
            "or run SET client_encoding = 'UTF8' first"
        )
    return status


def whole(operations: Operations[T]) -> Operations[T]:
    """Run operations whole or not at all, and leave the transaction usable in either case."""
    yield Statement("SAVEPOINT mainstay")
    try:
        result = yield from operations
    except BaseException as error:
        yield from undo(error, "ROLLBACK TO SAVEPOINT mainstay", "RELEASE SAVEPOINT mainstay")
        raise
    yield Statement("RELEASE SAVEPOINT mainstay")
    return result
