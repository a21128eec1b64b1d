"""The schema: the sum of the numbered migrations, applied on first use, refused when it is newer than this code."""

from __future__ import annotations

import os

from ...core.errors import ConfigError, SchemaMismatch
from ..operations import Statement
from .sql import run

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

    from ..operations import Operations

FOLDER = os.path.join(os.path.dirname(__file__), "migrations")
VERSION = 1
OLDEST = (3, 37, 0)  # STRICT tables, RETURNING


def ensure(connection: sqlite3.Connection, path: str, migrate: bool) -> None:
    """Bring the file to this version, or say why that cannot be."""
    found = version(connection)
    if found == VERSION:
        return
    _check_library()
    refuse_newer(path, found)
    if not migrate:
        raise SchemaMismatch(f"{path} has no mainstay schema yet: enqueue a job or start a worker first.")
    apply(connection)


def refuse_newer(path: str, found: int) -> None:
    """Raise when a file is of a later version than this code."""
    if found > VERSION:
        raise SchemaMismatch(
            f"{path} has schema {found}, this mainstay knows {VERSION}: it was written by a newer version. "
            "Upgrade mainstay here (pip install -U mainstay), or use another file."
        )


def version(connection: sqlite3.Connection) -> int:
    """The schema's version; 0 where there is none. Not `user_version`: that one is the user's."""
    return run(connection, version_operations())


def version_operations() -> Operations[int]:
    """As `version`, on whichever connection."""
    there, _ = yield Statement("SELECT 1 FROM sqlite_schema WHERE name = 'mainstay_schema'")
    if not there:
        return 0
    rows, _ = yield Statement("SELECT version FROM mainstay_schema")
    if not rows:
        raise SchemaMismatch("the table mainstay_schema is empty, so nobody knows its version: restore a backup")
    found: int = rows[0][0]
    return found


def migrate_operations(path: str) -> Operations[None]:
    """Bring the file to this version inside a caller's transaction."""
    found = yield from version_operations()
    if found == VERSION:
        return
    _check_library()
    refuse_newer(path, found)
    for number in range(found + 1, VERSION + 1):
        for statement in statements(number):
            yield Statement(statement)


def apply(connection: sqlite3.Connection) -> None:
    """Run the migrations that are missing, all or none: in the transaction that is open, or else in one of their own."""
    if connection.in_transaction:
        _migrate(connection)
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        _migrate(connection)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _migrate(connection: sqlite3.Connection) -> None:
    for number in range(version(connection) + 1, VERSION + 1):  # another process may have been first
        for statement in statements(number):
            connection.execute(statement)


def statements(number: int) -> list[str]:
    """The statements of one migration."""
    name = next(name for name in sorted(os.listdir(FOLDER)) if name.startswith(f"{number:04}_"))
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        lines = [line.partition("--")[0] for line in file]
    return [part.strip() for part in "".join(lines).split(";") if part.strip()]


def _check_library() -> None:
    import sqlite3

    if sqlite3.sqlite_version_info < OLDEST:
        raise ConfigError(
            f"this Python has SQLite {sqlite3.sqlite_version}; mainstay needs {'.'.join(map(str, OLDEST))} or newer"
        )
