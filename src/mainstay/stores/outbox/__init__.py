"""Enqueue, cancel and complete on the caller's own connection, inside its transaction: written once, driven sync or async.

The engine's verbs are operations (`stores/operations.py`). A `CallerConnection` executes their statements, whatever driver or
framework it comes from; the engine's `Outbox` puts them into a transaction that is not its own.
"""

from __future__ import annotations

from ...core.errors import LeaseLost, TransactionUnsupported
from ..operations import adrive
from .caller_connection import OwnWork, is_awaitable, resolved
from .detect import find, unwrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from ...core.decide import Transition
    from ..contract import Store
    from ..operations import Operations
    from .caller_connection import CallerConnection, Joined, Outbox

    T = TypeVar("T")


def finish(store: Store, tx: object, transition: Transition) -> None:
    """Apply one transition with the caller's commit; raises `LeaseLost` if its token is no longer current."""
    _require(transition, run(store, tx, lambda outbox: outbox.finish(transition)))


async def afinish(store: Store, tx: object, transition: Transition) -> None:
    """As `finish`, on an async connection."""
    _require(transition, await arun(store, tx, lambda outbox: outbox.finish(transition)))


def _require(transition: Transition, applied: bool) -> None:
    if not applied:
        raise LeaseLost(f"job {transition.id} is no longer this attempt's: roll the transaction back")


def run(store: Store, tx: object, verb: Callable[[Outbox], Operations[T]]) -> T:
    """Drive a verb on a sync connection: its coroutine awaits nothing that could suspend it."""
    coroutine = _run(store, tx, verb, awaited=False)
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    raise AssertionError("a verb on a sync connection was suspended")


async def arun(store: Store, tx: object, verb: Callable[[Outbox], Operations[T]]) -> T:
    """Drive a verb on an async connection."""
    return await _run(store, tx, verb, awaited=True)


async def _run(store: Store, tx: object, verb: Callable[[Outbox], Operations[T]], awaited: bool) -> T:
    outbox = store.outbox()
    caller = await find(tx, outbox.engine, outbox.place, awaited)
    try:
        return await adrive(_joined(outbox, caller, verb), lambda statement: _execute(caller, statement))
    except BaseException as error:
        if caller.undo is not None:
            await resolved(caller.undo())
        mapped = outbox.mapped(error)
        if mapped is error:
            raise
        raise mapped from error


def _joined(outbox: Outbox, caller: CallerConnection, verb: Callable[[Outbox], Operations[T]]) -> Joined[T]:
    """Return the verb's operations as the engine runs them on this connection."""
    if caller.engine != outbox.engine:
        raise TransactionUnsupported(
            f"tx= ({caller.kind}) is connected to another database than the store ({outbox.place}): jobs commit with your "
            "data only where both are in one database"
        )
    return outbox.in_transaction(caller, verb(outbox))


async def _execute(caller: CallerConnection, statement: Any) -> Any:
    if type(statement) is list:
        return [await caller.execute(each) for each in statement]
    if not isinstance(statement, OwnWork):
        return await caller.execute(statement)
    if not caller.awaited:
        return statement.call()
    import asyncio

    return await asyncio.to_thread(statement.call)


# After a handler: roll back the transaction that it left open, because its locks hold up everyone ------------------------
def let_go(tx: object) -> None:
    """Roll back an open transaction on a sync connection."""
    try:
        left = _roll_back(unwrapped(tx))
        if is_awaitable(left):  # an async connection, whose loop the handler has ended already
            left.close()
    except Exception:  # noqa: BLE001, S110  (closed meanwhile, or of an unknown kind: then nothing is open here)
        pass


async def alet_go(tx: object) -> None:
    """Roll back an open transaction on an async connection."""
    try:
        left = _roll_back(unwrapped(tx))
        if is_awaitable(left):
            await left
    except Exception:  # noqa: BLE001, S110  (as above)
        pass


def _roll_back(tx: Any) -> Any:
    """Start a rollback if a transaction is open; return what must be awaited, if anything."""
    if hasattr(tx, "in_atomic_block"):  # Django ends its own blocks
        over = tx.connection is None or tx.in_atomic_block or tx.get_autocommit()
        return None if over else tx.rollback()
    if hasattr(tx, "in_transaction"):  # sqlite3, aiosqlite, SQLAlchemy
        inside = tx.in_transaction() if callable(tx.in_transaction) else tx.in_transaction
        return tx.rollback() if inside else None
    if hasattr(tx, "is_in_transaction"):  # asyncpg
        return tx.execute("ROLLBACK") if tx.is_in_transaction() else None
    return tx.rollback() if tx.info.transaction_status else None  # psycopg: 0 is idle
