"""What connections come wrapped in: SQLAlchemy's sessions and connections, Django's. Each answers the driver's guest."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...core.errors import TransactionUnsupported
from .caller_connection import OPEN, named
from .drivers import Asyncpg, driver

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .caller_connection import CallerConnection


# SQLAlchemy: its own transaction is begun first, as any statement would, so that its commit or rollback ends ours too ----
def session(tx: Any) -> CallerConnection:
    """The guest of a Session."""
    began = not tx.in_transaction()
    with refusing():
        inner = tx.connection()
    caller = connection(inner)
    caller.undo = tx.rollback if began else None
    return caller


def connection(tx: Any) -> CallerConnection:
    """The guest of a Connection."""
    with refusing():
        began = not tx.in_transaction()
        if began:
            tx.begin()
        raw = tx.connection.driver_connection
    caller = _over(raw)
    if caller.awaited:
        raise TransactionUnsupported(
            f"tx= belongs to an async engine ({named(raw)}): outside of run_sync, await the verb with the AsyncSession"
        )
    caller.undo = tx.rollback if began else None
    return caller


async def async_session(tx: Any) -> CallerConnection:
    """The guest of an AsyncSession."""
    began = not tx.in_transaction()
    with refusing():
        inner = await tx.connection()
    caller = await async_connection(inner)
    caller.undo = tx.rollback if began else None
    return caller


async def async_connection(tx: Any) -> CallerConnection:
    """The guest of an AsyncConnection."""
    with refusing():
        began = not tx.in_transaction()
        if began:
            await tx.begin()
        raw = (await tx.get_raw_connection()).driver_connection
    caller = _over(raw)
    if isinstance(caller, Asyncpg) and caller.standing() != OPEN:
        await tx.exec_driver_sql("SELECT 1")  # SQLAlchemy begins on asyncpg with its first statement, not before
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
    """SQLAlchemy's own refusals (closed, not begun, no bind) as ours; what else goes wrong stays what it is."""
    try:
        yield
    except Exception as error:
        if not {"InvalidRequestError", "ResourceClosedError"}.isdisjoint(kind.__name__ for kind in type(error).__mro__):
            raise TransactionUnsupported(f"tx= cannot be used here: {error}") from error
        raise


# Django ---------------------------------------------------------------------------------------------------------------
def django(tx: Any) -> CallerConnection:
    """The guest of Django's connection: `django.db.connection`, or one of `django.db.connections`."""
    if tx.needs_rollback:
        raise TransactionUnsupported("tx= cannot be used here: its transaction has failed already; roll it back first")
    tx.ensure_connection()
    caller = driver(tx.connection)
    if caller is None:
        raise TransactionUnsupported(f"tx= is Django's connection to {tx.vendor}: the jobs are not there")
    caller.advice = "put `with transaction.atomic():` around it"
    return caller


def django_alias(name: str) -> Any:
    """The connection behind `"django"` or `"django:alias"`, as this thread has it."""
    if "django" not in sys.modules:
        raise TransactionUnsupported(f"tx={name!r}: this program has not loaded Django")
    from importlib import import_module

    connections = import_module("django.db").connections
    alias = name.partition(":")[2] or "default"
    if alias not in connections:
        raise TransactionUnsupported(f"tx={name!r}: DATABASES has {', '.join(connections)}")
    return connections[alias]
