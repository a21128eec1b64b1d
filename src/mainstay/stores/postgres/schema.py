"""The schema: the sum of the numbered migrations. A fresh database gets it on first use, an old one by `mainstay migrate`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import psycopg

from ...core.errors import ConfigError, SchemaMismatch, StoreReadOnly

if TYPE_CHECKING:
    from .sql import Statements

    Connection = psycopg.Connection[tuple[Any, ...]]

FOLDER = os.path.join(os.path.dirname(__file__), "migrations")
VERSION = 1
OLDEST = 16  # `IS JSON`, by which a search passes over what is none
_LOCK = 0x6D61696E73746179  # held while migrating; the name in ASCII


def ensure(connection: Connection, load: Statements, place: str, create: bool) -> None:
    """Have the schema of this version there, or say what to do. Only a database without any gets one by itself."""
    if connection.info.server_version < OLDEST * 10_000:
        raise ConfigError(
            f"{place} is PostgreSQL {connection.info.server_version // 10_000}; mainstay needs {OLDEST} or newer"
        )
    found = version(connection, load)
    if found == VERSION:
        return
    check_not_newer(found, load, place)
    if found:
        raise SchemaMismatch(
            f"{place}: schema {load.schema} is of version {found}, this mainstay needs {VERSION}. Stop the workers and run "
            "`mainstay migrate up`."
        )
    if not create:
        raise SchemaMismatch(
            f"{place}: there is no schema {load.schema} yet: enqueue a job, start a worker or run `mainstay migrate up` first."
        )
    try:
        apply(connection, load)
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreReadOnly(
            f"{place}: there is no schema {load.schema} yet, and this role may not create it ({error.diag.message_primary}). "
            "Run `mainstay migrate up` as a role that may, or hand what `mainstay migrate sql` prints to your administrator."
        ) from error


def check_not_newer(found: int, load: Statements, place: str) -> None:
    """Raise when the schema was made by a newer mainstay than this."""
    if found > VERSION:
        raise SchemaMismatch(
            f"{place}: schema {load.schema} is of version {found}, this mainstay knows {VERSION}: it was made by a newer one. "
            "Upgrade mainstay here (pip install -U mainstay), or name another schema with ?schema=."
        )


def version(connection: Connection, load: Statements) -> int:
    """The version of the schema; 0 where there is none."""
    if not _there(connection, load.schema, "schema_version"):
        return 0
    row = connection.execute(
        load.with_schema("SELECT max(version) FROM mainstay.schema_version"), prepare=False
    ).fetchone()
    if row is None or row[0] is None:
        raise SchemaMismatch(
            f"the table {load.schema}.schema_version is empty, so nobody knows its version: restore a backup"
        )
    return int(row[0])


def apply(connection: Connection, load: Statements) -> list[int]:
    """Run the migrations that are missing, all or none, one process at a time; answers their numbers."""
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock($1::bigint)", [_LOCK], prepare=False)
        numbers = list(range(version(connection, load) + 1, VERSION + 1))  # another process may have been first
        if numbers and not _there(connection, load.schema):  # its maker may lack the right to make another
            connection.execute(f'CREATE SCHEMA "{load.schema}"', prepare=False)
        for number in numbers:
            for statement in statements(number, load):
                connection.execute(statement, prepare=False)
    return numbers


def statements(number: int, load: Statements) -> list[str]:
    """The statements of one migration."""
    lines = [line.partition("--")[0] for line in script(number, load).splitlines()]
    return [part.strip() for part in "\n".join(lines).split(";") if part.strip()]


def script(number: int, load: Statements) -> str:
    """One migration as it may be handed to an administrator."""
    name = next(name for name in sorted(os.listdir(FOLDER)) if name.startswith(f"{number:04}_"))
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        text = file.read()
    return load.with_schema(text)


def _there(connection: Connection, schema: str, table: str | None = None) -> bool:
    """Whether a schema, or a table in it, exists. Read from the catalogue: `to_regclass` may answer from a cache that is
    older than the lock under which another process has just created it.
    """
    text = (
        "SELECT 1 FROM pg_catalog.pg_namespace n WHERE n.nspname = $1::text AND ($2::text IS NULL OR EXISTS "
        "(SELECT 1 FROM pg_catalog.pg_class c WHERE c.relnamespace = n.oid AND c.relname = $2::text))"
    )
    return connection.execute(text, [schema, table], prepare=False).fetchone() is not None
