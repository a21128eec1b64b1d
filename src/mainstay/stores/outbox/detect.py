"""Detect the kind of transaction that a caller gave as `tx=`, by the names of its classes, without importing a package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.errors import TransactionUnsupported
from . import frameworks
from .caller_connection import named, names
from .drivers import driver

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from .caller_connection import CallerConnection

FRAMEWORKS: dict[str, Callable[[Any], Awaitable[CallerConnection]]] = {
    "sqlalchemy.Session": frameworks.session,
    "sqlalchemy.AsyncSession": frameworks.session,
    "sqlalchemy.Connection": frameworks.connection,
    "sqlalchemy.AsyncConnection": frameworks.connection,
    "django.BaseDatabaseWrapper": frameworks.django,
}
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
        return frameworks.django_alias(tx)
    found = names(tx)
    if "sqlalchemy.scoped_session" in found or "sqlalchemy.async_scoped_session" in found:
        scoped: Any = tx
        return scoped()
    if found[0] == "django.ConnectionProxy":
        return frameworks.django_alias(f"django:{tx.__dict__['_alias']}")
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
