"""The schema: the sum of the numbered migrations. A database without one gets it on first use; `migrate` upgrades others."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import psycopg

from ...core.errors import ConfigError, SchemaMismatch, StoreReadOnly
from ..schema import outdated, readable

if TYPE_CHECKING:
    from .sql import Statements

    Connection = psycopg.Connection[tuple[Any, ...]]

FOLDER = os.path.join(os.path.dirname(__file__), "migrations")
VERSION = max(int(name[:4]) for name in os.listdir(FOLDER) if name.endswith(".sql"))  # the last migration
READABLE_FROM = 2
OLDEST = 16  # `IS JSON`, by which a search passes over what is none
STEP = re.compile(r"^-- step.*\n", re.MULTILINE)  # the line between two steps of a migration
LOCK = 0x6D61696E73746179  # of a transaction that changes the schema; the name in ASCII


def ensure(connection: Connection, load: Statements, place: str, create: bool) -> None:
    """Raise an error that says what to do, unless this code can use the schema. With `create`, a missing one is created."""
    check_server(connection, place)
    version, readable_from, _ = versions(connection, load)
    if not version and create:
        initialise(connection, load, place)
    elif not version:
        raise SchemaMismatch(
            f"{place}: there is no schema {load.schema} yet: enqueue a job, start a worker or run `mainstay migrate up` first."
        )
    elif not fits(version, readable_from, load, place):
        raise outdated(version, VERSION, shown(load, place))


def check_server(connection: Connection, place: str) -> None:
    """Raise when the server is too old."""
    if connection.info.server_version < OLDEST * 10_000:
        raise ConfigError(
            f"{place} is PostgreSQL {connection.info.server_version // 10_000}; mainstay needs {OLDEST} or newer"
        )


def fits(version: int, readable_from: int, load: Statements, place: str) -> bool:
    """Return whether this code can use the schema; raise when it is too new."""
    return readable(version, readable_from, VERSION, shown(load, place), "schema, named by ?schema=")


def shown(load: Statements, place: str) -> str:
    """The name of an installation in errors."""
    return f"{place}, schema {load.schema},"


def versions(connection: Connection, load: Statements) -> tuple[int, int, int]:
    """Return version, readable_from and how many steps of the next migration are done; version 0: there is no schema."""
    if not _there(connection, load.schema, "schema_version"):
        return 0, 0, 0
    text = load.with_schema("SELECT * FROM mainstay.schema_version")  # schema 1 has one column
    row = connection.execute(text, prepare=False).fetchone()
    if row is None:
        raise SchemaMismatch(
            f"the table {load.schema}.schema_version is empty, so its version is not known: restore a backup"
        )
    return row[0], *(row[1:] or (row[0], 0))


def initialise(connection: Connection, load: Statements, place: str) -> None:
    """Create the newest schema, or say who can."""
    try:
        with connection.transaction():
            _create(connection, load)
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreReadOnly(
            f"{place}: there is no schema {load.schema} yet, and this role may not create it ({error.diag.message_primary}). "
            "Run `mainstay migrate up` as a role that may, or hand what `mainstay migrate sql` prints to your administrator."
        ) from error


def _create(connection: Connection, load: Statements) -> None:
    connection.execute("SELECT pg_advisory_xact_lock($1::bigint)", [LOCK], prepare=False)
    if versions(connection, load)[0]:  # another process was first
        return
    if not _there(connection, load.schema):  # the schema's owner may lack the right to create another
        connection.execute(f'CREATE SCHEMA "{load.schema}"', prepare=False)
    for number in range(1, VERSION + 1):
        for statement in statements(script(number, load, online=False)):
            connection.execute(statement, prepare=False)


def statements(text: str) -> list[str]:
    """Return the statements of a migration or of one step."""
    lines = [line.partition("--")[0] for line in text.splitlines()]
    return [part.strip() for part in "\n".join(lines).split(";") if part.strip()]


def names(since: int = 0) -> list[str]:
    """Return the names of the migrations after a version."""
    return [name.removesuffix(".sql") for name in sorted(os.listdir(FOLDER)) if int(name[:4]) > since]


def script(number: int, load: Statements, online: bool) -> str:
    """Return the text of one migration. Not `online`: as one transaction, which cannot contain CONCURRENTLY."""
    with open(os.path.join(FOLDER, names(number - 1)[0] + ".sql"), encoding="utf-8") as file:
        text = file.read()
    return load.with_schema(text if online else text.replace(" CONCURRENTLY", ""))


def _there(connection: Connection, schema: str, table: str | None = None) -> bool:
    """Return whether a schema, or a table in it, exists. Reads the catalogue: `to_regclass` may use a cache that is
    older than the lock under which another process has just created it.
    """
    text = (
        "SELECT 1 FROM pg_catalog.pg_namespace n WHERE n.nspname = $1::text AND ($2::text IS NULL OR EXISTS "
        "(SELECT 1 FROM pg_catalog.pg_class c WHERE c.relnamespace = n.oid AND c.relname = $2::text))"
    )
    return connection.execute(text, [schema, table], prepare=False).fetchone() is not None
