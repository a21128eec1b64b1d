"""Detect the kind of transaction that a caller gave as `tx=`, by the names of its classes, without importing a package.

A framework's session or connection is unwrapped: SQLAlchemy's and Django's.
"""

from __future__ import annotations

import sys

from ...core.errors import TransactionUnsupported
from .caller_connection import OPEN, Asyncpg, driver, named, names, resolved

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import TracebackType
    from typing import Any

    from .caller_connection import CallerConnection

HINTS = {  # for the async classes of these names too
    "sqlalchemy.Engine": "open a connection or session of it, and pass that",
    "sqlalchemy.sessionmaker": "call it, and pass the session",
    "flask_sqlalchemy.SQLAlchemy": "pass its session, db.session",
    "asyncpg.Pool": "acquire a connection from it, and pass that",
    "psycopg_pool.ConnectionPool": "take a connection from it, and pass that",
}
ACCEPTED = {
    "sqlite": "a sqlite3.Connection or aiosqlite.Connection to it, or a SQLAlchemy session or Django connection over one",
    "postgres": "a psycopg or asyncpg connection to it, or a SQLAlchemy session or Django connection over one",
}


async def find(tx: object, engine: str, place: str, awaited: bool) -> CallerConnection:
    """Return the connection of a transaction, which must be async if and only if the call is `awaited`."""
    tx = unwrapped(tx)
    framework = next((name for name in names(tx) if name in FRAMEWORKS), None)
    if framework and framework.startswith("sqlalchemy.Async") == awaited:
        return await FRAMEWORKS[framework](tx)
    caller = driver(tx)
    if framework or (caller and caller.awaited != awaited):
        raise mismatched(tx, awaited)
    if caller is None:
        raise unknown(tx, engine, place)
    return caller


def unwrapped(tx: object) -> Any:
    """Return the session behind a scoped one, Django's connection behind its name or proxy; anything else as it is."""
    if isinstance(tx, str) and tx.partition(":")[0] == "django":
        return django_alias(tx)
    found = names(tx)
    if "sqlalchemy.scoped_session" in found or "sqlalchemy.async_scoped_session" in found:
        scoped: Any = tx
        return scoped()
    if found[0] == "django.ConnectionProxy":
        return django_alias(f"django:{tx.__dict__['_alias']}")
    return tx


def mismatched(tx: object, awaited: bool) -> TransactionUnsupported:
    """Return the error for an async transaction in a sync call, or a sync one in an awaited call."""
    return TransactionUnsupported(
        f"tx= is a {named(tx)}, which is not async: call enqueue, enqueue_many, cancel or ctx.complete_in with it, "
        "on the thread it belongs to"
        if awaited
        else f"tx= is a {named(tx)}, which is async: await aenqueue, aenqueue_many, acancel or ctx.acomplete_in with it"
    )


def unknown(tx: object, engine: str, place: str) -> TransactionUnsupported:
    """Return the error for an unknown object, with what to pass instead."""
    for name in names(tx):
        hint = HINTS.get(name.replace("Async", "").replace("async_", ""))
        hint = hint or ("pass its connection" if name.endswith("ursor") else None)
        if hint:
            return TransactionUnsupported(f"tx= is a {named(tx)}: {hint}")
    return TransactionUnsupported(f"tx={named(tx)}: the store is {place}; pass {ACCEPTED[engine]}")


# SQLAlchemy: its own transaction begins first, as with any statement, so that its commit or rollback ends ours too --------
async def session(tx: Any) -> CallerConnection:
    """Return the connection of a Session or an AsyncSession."""
    began = not tx.in_transaction()
    with refusing():
        inner = await resolved(tx.connection())
    caller = await connection(inner)
    caller.undo = tx.rollback if began else None
    return caller


async def connection(tx: Any) -> CallerConnection:
    """Return the connection of a Connection or an AsyncConnection."""
    awaited = hasattr(tx, "get_raw_connection")
    with refusing():
        began = not tx.in_transaction()
        if began:
            await resolved(tx.begin())
        raw = (await tx.get_raw_connection() if awaited else tx.connection).driver_connection
    caller = _over(raw)
    if caller.awaited and not awaited:
        raise TransactionUnsupported(
            f"tx= belongs to an async engine ({named(raw)}): outside of run_sync, await the verb with the AsyncSession"
        )
    if isinstance(caller, Asyncpg) and caller.tx_status() != OPEN:
        await tx.exec_driver_sql("SELECT 1")  # on asyncpg, SQLAlchemy begins with the first statement
    caller.undo = tx.rollback if began else None
    return caller


def _over(raw: Any) -> CallerConnection:
    caller = driver(raw)
    if caller is None:
        raise TransactionUnsupported(
            f"tx= is SQLAlchemy over {named(raw)}, which cannot be joined: use psycopg, asyncpg, sqlite3 or aiosqlite"
        )
    caller.advice = "use an engine without isolation_level='AUTOCOMMIT'"
    return caller


class refusing:  # noqa: N801  (used as a function; `contextlib` is heavy)
    """Map SQLAlchemy's own refusals (closed, not begun, no bind) to ours; other errors pass."""

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        ours = {"InvalidRequestError", "ResourceClosedError"}
        if kind is not None and not ours.isdisjoint(each.__name__ for each in kind.__mro__):
            raise TransactionUnsupported(f"tx= cannot be used here: {error}") from error


# Django ---------------------------------------------------------------------------------------------------------------
async def django(tx: Any) -> CallerConnection:
    """Return the connection of Django's `django.db.connection`, or of one of `django.db.connections`."""
    if tx.needs_rollback:
        raise TransactionUnsupported("tx= cannot be used here: its transaction has failed already; roll it back first")
    tx.ensure_connection()
    caller = driver(tx.connection)
    if caller is None:
        raise TransactionUnsupported(f"tx= is Django's connection to {tx.vendor}: the jobs are not there")
    caller.advice = "put `with transaction.atomic():` around it"
    return caller


def django_alias(name: str) -> Any:
    """Return this thread's connection for `"django"` or `"django:alias"`."""
    if "django" not in sys.modules:
        raise TransactionUnsupported(f"tx={name!r}: this program has not loaded Django")
    from importlib import import_module

    connections = import_module("django.db").connections
    alias = name.partition(":")[2] or "default"
    if alias not in connections:
        raise TransactionUnsupported(f"tx={name!r}: DATABASES has {', '.join(connections)}")
    return connections[alias]


FRAMEWORKS: dict[str, Callable[[Any], Awaitable[CallerConnection]]] = {
    "sqlalchemy.Session": session,
    "sqlalchemy.AsyncSession": session,
    "sqlalchemy.Connection": connection,
    "sqlalchemy.AsyncConnection": connection,
    "django.BaseDatabaseWrapper": django,
}
