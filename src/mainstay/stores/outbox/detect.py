"""Which kind of transaction a caller gave as `tx=`, by the names of its classes: no package is imported to find out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.errors import TransactionUnsupported
from . import frameworks
from .caller_connection import named, names
from .drivers import driver

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from .caller_connection import CallerConnection

FRAMES: dict[str, Callable[[Any], CallerConnection]] = {
    "sqlalchemy.Session": frameworks.session,
    "sqlalchemy.Connection": frameworks.connection,
    "django.BaseDatabaseWrapper": frameworks.django,
}
ASYNC_FRAMES: dict[str, Callable[[Any], Awaitable[CallerConnection]]] = {
    "sqlalchemy.AsyncSession": frameworks.async_session,
    "sqlalchemy.AsyncConnection": frameworks.async_connection,
}
NEARLY = {
    "sqlalchemy.Engine": "open a connection or session of it, and pass that",
    "sqlalchemy.AsyncEngine": "open a connection or session of it, and pass that",
    "sqlalchemy.sessionmaker": "call it, and pass the session",
    "sqlalchemy.async_sessionmaker": "call it, and pass the session",
    "flask_sqlalchemy.SQLAlchemy": "pass its session, db.session",
    "asyncpg.Pool": "acquire a connection from it, and pass that",
    "psycopg_pool.ConnectionPool": "take a connection from it, and pass that",
    "psycopg_pool.AsyncConnectionPool": "take a connection from it, and pass that",
}
TAKEN = {
    "sqlite": "a sqlite3.Connection or aiosqlite.Connection to it, or a SQLAlchemy session or Django connection over one",
    "postgres": "a psycopg or asyncpg connection to it, or a SQLAlchemy session or Django connection over one",
}


def find(tx: object, engine: str, place: str) -> CallerConnection:
    """The guest of a sync transaction."""
    tx = unwrapped(tx)
    for name in names(tx):
        if name in FRAMES:
            return FRAMES[name](tx)
        if name in ASYNC_FRAMES:
            raise awaited(tx)
    caller = driver(tx)
    if caller is None:
        raise unknown(tx, engine, place)
    if caller.awaited:
        raise awaited(tx)
    return caller


async def afind(tx: object, engine: str, place: str) -> CallerConnection:
    """The guest of an async transaction."""
    tx = unwrapped(tx)
    for name in names(tx):
        if name in ASYNC_FRAMES:
            return await ASYNC_FRAMES[name](tx)
        if name in FRAMES:
            raise plain(tx)
    caller = driver(tx)
    if caller is None:
        raise unknown(tx, engine, place)
    if not caller.awaited:
        raise plain(tx)
    return caller


def unwrapped(tx: object) -> Any:
    """The session behind a scoped one, Django's connection behind its name or proxy; anything else as it is."""
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
    """The refusal of an async transaction in a plain call."""
    return TransactionUnsupported(
        f"tx= is a {named(tx)}, which is async: await aenqueue, aenqueue_many, acancel or ctx.acomplete_in with it"
    )


def plain(tx: object) -> TransactionUnsupported:
    """The refusal of a sync transaction in an awaited call."""
    return TransactionUnsupported(
        f"tx= is a {named(tx)}, which is not async: call enqueue, enqueue_many, cancel or ctx.complete_in with it, "
        "on the thread it belongs to"
    )


def unknown(tx: object, engine: str, place: str) -> TransactionUnsupported:
    """The refusal of what is no transaction we know, with the nearest thing that is."""
    for name in names(tx):
        if name in NEARLY:
            return TransactionUnsupported(f"tx= is a {named(tx)}: {NEARLY[name]}")
        if name.endswith("ursor"):
            return TransactionUnsupported(f"tx= is a {named(tx)}: pass its connection")
    return TransactionUnsupported(f"tx={named(tx)}: the store is {place}; pass {TAKEN[engine]}")
