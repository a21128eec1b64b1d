"""Connections inside frameworks: SQLAlchemy's sessions and connections, Django's. Each function returns a `CallerConnection`."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...core.errors import TransactionUnsupported
from .caller_connection import OPEN, named, resolved
from .drivers import Asyncpg, driver

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .caller_connection import CallerConnection


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


@contextmanager
def refusing() -> Iterator[None]:
    """Map SQLAlchemy's own refusals (closed, not begun, no bind) to ours; other errors pass."""
    try:
        yield
    except Exception as error:
        if not {"InvalidRequestError", "ResourceClosedError"}.isdisjoint(kind.__name__ for kind in type(error).__mro__):
            raise TransactionUnsupported(f"tx= cannot be used here: {error}") from error
        raise


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
