"""The schema: the sum of the numbered migrations. A new file gets it on first use, an older one when no worker runs."""

from __future__ import annotations

import os

from ...core.errors import ConfigError, SchemaMismatch
from ..operations import Statement, statements
from .sql import run

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

    from ..operations import Operations

FOLDER = os.path.join(os.path.dirname(__file__), "migrations")
NAMES = sorted(name[:-4] for name in os.listdir(FOLDER) if name.endswith(".sql"))  # of the migrations
VERSION = int(NAMES[-1][:4])
OLDEST = (3, 37, 0)  # STRICT tables, RETURNING


def ensure(connection: sqlite3.Connection, path: str, create: bool) -> None:
    """Bring the file to this version, or raise an error that says what to do. Without `create` a new file stays empty."""
    version, readable_from = versions(connection)
    if version == VERSION and readable_from <= VERSION:  # nearly always
        return
    if not version and not create:
        raise SchemaMismatch(f"{path} has no mainstay schema yet: enqueue a job or start a worker first.")
    if not version or not _readable(version, readable_from, path):
        _apply(connection, path)


def versions(connection: sqlite3.Connection) -> tuple[int, int]:
    """Return version and readable_from; (0, 0): there is no schema."""
    return run(connection, _versions())


def _versions() -> Operations[tuple[int, int]]:
    """Not `user_version`: that one is the user's."""
    there, _ = yield Statement("SELECT 1 FROM sqlite_schema WHERE name = 'mainstay_schema'")
    if not there:
        return 0, 0
    rows, _ = yield Statement("SELECT * FROM mainstay_schema")  # schema 1 has no column readable_from
    if not rows:
        raise SchemaMismatch("the table mainstay_schema is empty, so its version is not known: restore a backup")
    return rows[0][0], rows[0][-1]


def migrate_operations(path: str) -> Operations[None]:
    """Bring the file to this version inside an open transaction, which may be a caller's."""
    version, readable_from = yield from _versions()
    if (version == VERSION and readable_from <= VERSION) or (version and _readable(version, readable_from, path)):
        return
    import sqlite3

    if sqlite3.sqlite_version_info < OLDEST:
        needed = ".".join(map(str, OLDEST))
        raise ConfigError(f"this Python has SQLite {sqlite3.sqlite_version}; mainstay needs {needed} or newer")
    if version:
        workers, _ = yield Statement("SELECT id, expires_at FROM mainstay_worker")
        _check_stopped(workers, version, path)
    for name in pending(version):
        for statement in statements(script(name)):
            yield Statement(statement)


def _apply(connection: sqlite3.Connection, path: str) -> None:
    """Run the migrations that are missing, all or none."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        run(connection, migrate_operations(path))
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def pending(version: int) -> list[str]:
    """Return the names of the migrations after a version. As `stores.schema.later`, which a cold producer need not import."""
    return [name for name in NAMES if int(name[:4]) > version]


def script(name: str) -> str:
    """Return the text of one migration."""
    with open(os.path.join(FOLDER, name + ".sql"), encoding="utf-8") as file:
        return file.read()


def _readable(version: int, readable_from: int, path: str) -> bool:
    from ..schema import readable

    return readable(version, readable_from, VERSION, path, "file")


def _check_stopped(workers: list[tuple[str, int]], version: int, path: str) -> None:
    """Raise while a worker is alive: it holds its lock, or has no lock file and its lease runs."""
    from ...core.clock import SystemClock
    from .. import worker_locks
    from ..schema import check_stopped

    files, now = worker_locks.files(path), SystemClock().now()
    alive = [id for id, expires in workers if (not worker_locks.free(files[id]) if id in files else expires > now)]
    check_stopped(alive, version, VERSION, path)
