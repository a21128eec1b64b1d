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

FRAMEWORKS: dict[str, Callable[[Any], CallerConnection]] = {
    "sqlalchemy.Session": frameworks.session,
    "sqlalchemy.Connection": frameworks.connection,
    "django.BaseDatabaseWrapper": frameworks.django,
}
ASYNC_FRAMEWORKS: dict[str, Callable[[Any], Awaitable[CallerConnection]]] = {
    "sqlalchemy.AsyncSession": frameworks.async_session,
    "sqlalchemy.AsyncConnection": frameworks.async_connection,
}
HINTS = {
    "sqlalchemy.Engine": "open a connection or session of it, and pass that",
    "sqlalchemy.AsyncEngine": "open a connection or session of it, and pass that",
    "sqlalchemy.sessionmaker": "call it, and pass the session",
    "sqlalchemy.async_sessionmaker": "call it, and pass the session",
    "flask_sqlalchemy.SQLAlchemy": "pass its session, db.session",
    "asyncpg.Pool": "acquire a connection from it, and pass that",
    "psycopg_pool.ConnectionPool": "take a connection from it, and pass that",
    "psycopg_pool.AsyncConnectionPool": "take a connection from it, and pass that",
}
ACCEPTED = {
    "sqlite": "a sqlite3.Connection or aiosqlite.Connection to it, or a SQLAlchemy session or Django connection over one",
    "postgres": "a psycopg or asyncpg connection to it, or a SQLAlchemy session or Django connection over one",
}


def find(tx: object, engine: str, place: str) -> CallerConnection:
    """Return the connection of a sync transaction."""
    tx = unwrapped(tx)
    for name in names(tx):
        if name in FRAMEWORKS:
            return FRAMEWORKS[name](tx)
        if name in ASYNC_FRAMEWORKS:
            raise awaited(tx)
    caller = driver(tx)
    if caller is None:
        raise unknown(tx, engine, place)
    if caller.awaited:
        raise awaited(tx)
    return caller


async def afind(tx: object, engine: str, place: str) -> CallerConnection:
    """Return the connection of an async transaction."""
    tx = unwrapped(tx)
    for name in names(tx):
        if name in ASYNC_FRAMEWORKS:
            return await ASYNC_FRAMEWORKS[name](tx)
        if name in FRAMEWORKS:
            raise plain(tx)
    caller = driver(tx)
    if caller is None:
        raise unknown(tx, engine, place)
    if not caller.awaited:
        raise plain(tx)
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


def awaited(tx: object) -> TransactionUnsupported:
    """Return the error for an async transaction in a sync call."""
    return TransactionUnsupported(
        f"tx= is a {named(tx)}, which is async: await aenqueue, aenqueue_many, acancel or ctx.acomplete_in with it"
    )


def plain(tx: object) -> TransactionUnsupported:
    """Return the error for a sync transaction in an awaited call."""
    return TransactionUnsupported(
        f"tx= is a {named(tx)}, which is not async: call enqueue, enqueue_many, cancel or ctx.complete_in with it, "
        "on the thread it belongs to"
    )


def unknown(tx: object, engine: str, place: str) -> TransactionUnsupported:
    """Return the error for an unknown object, with what to pass instead."""
    for name in names(tx):
        if name in HINTS:
            return TransactionUnsupported(f"tx= is a {named(tx)}: {HINTS[name]}")
        if name.endswith("ursor"):
            return TransactionUnsupported(f"tx= is a {named(tx)}: pass its connection")
    return TransactionUnsupported(f"tx={named(tx)}: the store is {place}; pass {ACCEPTED[engine]}")
