"""The schema: the sum of the numbered migrations. A database without one gets it on first use; `migrate` upgrades others."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import psycopg

from ...core.errors import ConfigError, SchemaMismatch, StoreReadOnly
from ..operations import statements
from ..schema import number, outdated, readable

if TYPE_CHECKING:
    from .connect import Connection, Database
    from .dialect import PostgresDialect

FOLDER = os.path.join(os.path.dirname(__file__), "migrations")
NAMES = sorted(name.removesuffix(".sql") for name in os.listdir(FOLDER) if name.endswith(".sql"))  # of the migrations
VERSION = number(NAMES[-1])
READABLE_FROM = 2
OLDEST = 16  # `IS JSON`, by which a search passes over what is none
STEP = re.compile(r"^-- step.*\n", re.MULTILINE)  # the line between two steps of a migration
LOCK = 0x6D61696E73746179  # of a transaction that changes the schema; the name in ASCII
# Reads the catalogue: `to_regclass` may use a cache that is older than the lock under which another process has just created it.
_THERE = """
SELECT c.relname FROM pg_catalog.pg_namespace n
LEFT JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = 'schema_version' WHERE n.nspname = $1::text
"""


# What every process asks first: mostly there is a schema, and one round trip is enough.
_GLANCE = "SELECT current_setting('enable_seqscan'), v.* FROM mainstay.schema_version v"


def glance(connection: Connection, dialect: PostgresDialect) -> tuple[str, tuple[int, int, int]]:
    """Return a setting by which poolers are told apart, and what `versions` returns."""
    try:
        rows = execute(connection, dialect.with_schema(_GLANCE))
    except psycopg.errors.UndefinedTable:
        rows = []
    if rows:
        return rows[0][0], _versions(*rows[0][1:])
    return execute(connection, "SELECT current_setting('enable_seqscan')")[0][0], versions(connection, dialect)


def ensure(connection: Connection, db: Database, found: tuple[int, int, int]) -> None:
    """Raise an error that says what to do, unless this code can use the schema. With `db.create`, a missing one is created."""
    check_server(connection, db.place)
    version, readable_from, _ = found
    if not version and db.create:
        initialise(connection, db)
    elif not version:
        raise SchemaMismatch(
            f"{db.place}: there is no schema {db.dialect.schema} yet: enqueue a job, start a worker or run `mainstay migrate up` first."
        )
    elif not fits(version, readable_from, db):
        raise outdated(version, VERSION, shown(db))


def check_server(connection: Connection, place: str) -> None:
    """Raise when the server is too old, or the database cannot hold every text."""
    found = connection.info.server_version // 10_000
    if found < OLDEST:
        raise ConfigError(f"{place} is PostgreSQL {found}; mainstay needs {OLDEST} or newer")
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise ConfigError(
            f"{place} has the encoding {encoding}, which cannot hold every text. Use a database that was created with "
            "ENCODING 'UTF8': CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0"
        )


def fits(version: int, readable_from: int, db: Database) -> bool:
    """Return whether this code can use the schema; raise when it is too new."""
    return readable(version, readable_from, VERSION, shown(db), "schema, named by ?schema=")


def shown(db: Database) -> str:
    """The name of an installation in errors."""
    return f"{db.place}, schema {db.dialect.schema},"


def versions(connection: Connection, dialect: PostgresDialect) -> tuple[int, int, int]:
    """Return version, readable_from and how many steps of the next migration are done; version 0: there is no schema."""
    if execute(connection, _THERE, dialect.schema) != [("schema_version",)]:
        return 0, 0, 0
    rows = execute(connection, dialect.with_schema("SELECT * FROM mainstay.schema_version"))  # schema 1 has one column
    if not rows:
        raise SchemaMismatch(
            f"the table {dialect.schema}.schema_version is empty, so its version is not known: restore a backup"
        )
    return _versions(*rows[0])


def _versions(version: int, readable_from: int | None = None, done: int = 0) -> tuple[int, int, int]:
    return version, version if readable_from is None else readable_from, done


def initialise(connection: Connection, db: Database) -> None:
    """Create the newest schema, or say who can."""
    try:
        with connection.transaction():
            _create(connection, db.dialect)
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreReadOnly(
            f"{db.place}: there is no schema {db.dialect.schema} yet, and this role may not create it ({error.diag.message_primary}). "
            "Run `mainstay migrate up` as a role that may, or hand what `mainstay migrate sql` prints to your administrator."
        ) from error


def _create(connection: Connection, dialect: PostgresDialect) -> None:
    execute(connection, "SELECT pg_advisory_xact_lock($1::bigint)", LOCK)
    if versions(connection, dialect)[0]:  # another process was first
        return
    if not execute(connection, _THERE, dialect.schema):  # the schema's owner may lack the right to create another
        execute(connection, f'CREATE SCHEMA "{dialect.schema}"')
    for name in NAMES:
        for statement in statements(script(name, dialect, online=False)):
            execute(connection, statement)


def execute(connection: Connection, text: str, *values: Any) -> list[tuple[Any, ...]]:
    """Return the rows of a statement that is not prepared."""
    cursor = connection.execute(text, values or None, prepare=False)
    return cursor.fetchall() if cursor.description else []


def script(name: str, dialect: PostgresDialect, online: bool) -> str:
    """Return the text of one migration. Not `online`: as one transaction, which cannot contain CONCURRENTLY."""
    with open(os.path.join(FOLDER, name + ".sql"), encoding="utf-8") as file:
        text = file.read()
    return dialect.with_schema(text if online else text.replace(" CONCURRENTLY", ""))
