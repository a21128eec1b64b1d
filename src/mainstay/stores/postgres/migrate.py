"""The migrations of a PostgreSQL schema, for `mainstay migrate`: step by step, so that a killed one goes on where it stopped.

A step is one transaction, which also counts it, or one `CREATE INDEX CONCURRENTLY`, which lets workers go on. Nothing
depends on a session, so a pooler may stand in between.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ..schema import check_stopped
from . import schema
from .connect import LIMITED, Database

if TYPE_CHECKING:
    from collections.abc import Callable

    from .schema import Connection

_INDEX = re.compile(r"CREATE INDEX CONCURRENTLY IF NOT EXISTS (\w+) ON (\S+)")
# A build waits for the transactions of others as long as they take. Behind a pooler the session has none of our settings.
_PATIENT = "SELECT set_config('lock_timeout', '0', false) WHERE current_setting('enable_seqscan') = 'off'"
_VALID = """
SELECT i.indisvalid FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1::text AND c.relname = $2::text
"""
_ALIVE = "SELECT id FROM mainstay.worker WHERE expires_at > extract(epoch FROM clock_timestamp()) * 1000"


class Migrations:
    """See `stores.schema.Migrations`."""

    needed = schema.VERSION

    def __init__(self, url: str) -> None:
        self._db = Database(url)
        self._load = self._db.load
        self.where = {"store": self._db.place, "schema": self._load.schema}

    def found(self) -> tuple[int, int, int]:
        with self._db.aside() as connection:
            return schema.versions(connection, self._load)

    def pending(self, since: int) -> list[str]:
        return schema.names(since)

    def up(self, report: Callable[[str], None]) -> list[int]:
        with self._db.aside() as connection:
            schema.check_server(connection, self._db.place)
            connection.execute(_PATIENT, prepare=False)
            before, readable_from, _ = schema.versions(connection, self._load)
            if not before:
                schema.initialise(connection, self._load, self._db.place)
            elif not schema.fits(before, readable_from, self._load, self._db.place):
                while self._step(connection, report):
                    pass
        return list(range(before + 1, self.needed + 1))

    def sql(self, since: int) -> str | None:
        begin = [f'CREATE SCHEMA IF NOT EXISTS "{self._load.schema}";'] * (since == 0)
        texts = [schema.script(number, self._load, since > 0) for number in range(since + 1, self.needed + 1)]
        if since == 0:
            return "\n".join(["BEGIN;", *begin, *(text.strip() for text in texts), "COMMIT;"])
        steps = [step.strip() for text in texts for step in schema.STEP.split(text)]
        return "\n".join(step if _INDEX.search(step) else f"BEGIN;\n{step}\nCOMMIT;" for step in steps)

    # one step -----------------------------------------------------------------------------------------------------
    def _step(self, connection: Connection, report: Callable[[str], None]) -> bool:
        """Run the next step; False: there is none."""
        version, _, step = schema.versions(connection, self._load)
        if version >= self.needed:
            return False
        steps = schema.STEP.split(schema.script(version + 1, self._load, online=True))
        report(f"{schema.names(version)[0]}: step {step + 1} of {len(steps)}")
        if _INDEX.search(steps[step]):
            self._build_index(connection, steps[step])
        with connection.transaction():
            connection.execute(LIMITED.text, prepare=False)
            connection.execute("SELECT pg_advisory_xact_lock($1::bigint)", [schema.LOCK], prepare=False)
            if schema.versions(connection, self._load)[::2] == (version, step):  # no other process did it meanwhile
                self._run(connection, steps[step], version, step + 1 == len(steps))
        return True

    def _run(self, connection: Connection, step: str, version: int, last: bool) -> None:
        """Run the statements of a step and count it. The last step is the one that old code cannot live with."""
        if last and version < schema.READABLE_FROM:
            workers = [row[0] for row in self._execute(connection, _ALIVE)]
            check_stopped(workers, version, self.needed, schema.shown(self._load, self._db.place))
        if not _INDEX.search(step):
            for statement in schema.statements(step):
                connection.execute(statement, prepare=False)
        connection.execute(
            self._load.with_schema("UPDATE mainstay.schema_version SET step = step + 1 WHERE version = $1"),
            [version],
            prepare=False,
        )

    def _build_index(self, connection: Connection, step: str) -> None:
        """Build an index, and drop first what a killed build has left. Waits for a build that goes on without its client."""
        (statement,) = schema.statements(step)
        name, table = _INDEX.findall(statement)[0]
        while (valid := self._valid(connection, name, table)) is not True:
            if valid is False:
                self._execute(connection, f"DROP INDEX CONCURRENTLY IF EXISTS mainstay.{name}")
            self._execute(connection, statement)

    def _valid(self, connection: Connection, name: str, table: str) -> bool | None:
        """Return whether the index is valid, or None when there is none. A build holds the same lock until its end."""
        with connection.transaction():
            self._execute(connection, f"LOCK TABLE {table} IN SHARE UPDATE EXCLUSIVE MODE")
            row = connection.execute(_VALID, [self._load.schema, name], prepare=False).fetchone()
        return None if row is None else bool(row[0])

    def _execute(self, connection: Connection, text: str) -> list[tuple[Any, ...]]:
        cursor = connection.execute(self._load.with_schema(text), prepare=False)
        return cursor.fetchall() if cursor.description else []
