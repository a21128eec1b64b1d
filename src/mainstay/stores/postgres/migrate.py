"""The migrations of a PostgreSQL schema, for `mainstay migrate`: step by step, so that a killed one goes on where it stopped.

A step is one transaction, which also counts it, or one `CREATE INDEX CONCURRENTLY`, during which workers go on. Nothing
depends on a session, so a pooler may stand in between.
"""

from __future__ import annotations

import re
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ...core.errors import StoreBusy
from ..operations import statements
from ..schema import check_stopped, later, number
from . import schema
from .connect import LIMITED, Database

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .connect import Connection

PATIENCE = 1.0  # seconds for which the end of another run, or of a build that it left, is awaited
_INDEX = re.compile(r"CREATE INDEX CONCURRENTLY IF NOT EXISTS (\w+)")
# A build waits for the transactions of others as long as they take. Behind a pooler the session has none of our settings.
_PATIENT = "SELECT set_config('lock_timeout', '0', false) WHERE current_setting('enable_seqscan') = 'off'"
# Held by a transaction of its own. Who waited for it would have a snapshot, and an index build waits for old snapshots:
# so this does not wait, and a second statement ends the first one's snapshot.
_ONLY_ONE = "SELECT pg_try_advisory_xact_lock(hashtextextended($1::text, 0))"
_UNLIMITED = "SET LOCAL idle_in_transaction_session_timeout = 0"
_STATE = """
SELECT i.indisvalid, EXISTS (SELECT 1 FROM pg_catalog.pg_stat_progress_create_index p WHERE p.index_relid = c.oid)
FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1::text AND c.relname = $2::text
"""
_COUNT = "UPDATE mainstay.schema_version SET step = step + 1 WHERE version = $1::bigint"  # the last step changes it
_ALIVE = "SELECT id FROM mainstay.worker WHERE expires_at > extract(epoch FROM clock_timestamp()) * 1000"


class Migrations:
    """See `stores.schema.Migrations`."""

    needed = schema.VERSION

    def __init__(self, url: str) -> None:
        self._db = Database(url)
        self._dialect = self._db.dialect
        self.where = {"store": self._db.place, "schema": self._dialect.schema}

    def found(self) -> tuple[int, int, int]:
        with self._db.aside() as connection:
            return schema.versions(connection, self._dialect)

    def pending(self, since: int) -> list[str]:
        return later(schema.NAMES, since)

    def up(self, report: Callable[[str], None]) -> list[int]:
        with self._db.aside() as connection:
            schema.check_server(connection, self._db.place)
            before, readable_from, _ = schema.versions(connection, self._dialect)
            if not before:
                schema.initialise(connection, self._db)
            elif not schema.fits(before, readable_from, self._db):
                schema.execute(connection, _PATIENT)
                with self._only_one():
                    while self._step(connection, report):
                        pass
        return list(map(number, self.pending(before)))

    def sql(self, since: int) -> str | None:
        texts = [schema.script(name, self._dialect, since > 0).strip() for name in self.pending(since)]
        if since == 0:
            return "\n".join(["BEGIN;", f'CREATE SCHEMA IF NOT EXISTS "{self._dialect.schema}";', *texts, "COMMIT;"])
        steps = [step.strip() for text in texts for step in schema.STEP.split(text)]
        return "\n".join(step if _INDEX.search(step) else f"BEGIN;\n{step}\nCOMMIT;" for step in steps)

    @contextmanager
    def _only_one(self) -> Iterator[None]:
        """Raise while another process runs the steps. The server may need a moment to see that one was killed."""
        with self._db.aside() as guard, guard.transaction():
            name = f"mainstay migrate {self._dialect.schema}"
            if not _comes_true(lambda: schema.execute(guard, _ONLY_ONE, name) == [(True,)]):
                raise StoreBusy(f"{schema.shown(self._db)}: another `mainstay migrate up` runs. Wait for its end.")
            schema.execute(guard, _UNLIMITED)
            yield

    # one step -----------------------------------------------------------------------------------------------------
    def _step(self, connection: Connection, report: Callable[[str], None]) -> bool:
        """Run the next step; False: there is none."""
        version, _, done = schema.versions(connection, self._dialect)
        if version >= self.needed:
            return False
        (name, *_) = self.pending(version)
        steps = schema.STEP.split(schema.script(name, self._dialect, online=True))
        report(f"{name}: step {done + 1} of {len(steps)}")
        todo = statements(steps[done])
        if _INDEX.match(todo[0]):
            self._build_index(connection, todo.pop())
        with connection.transaction():
            schema.execute(connection, LIMITED.text)
            if done + 1 == len(steps) and version < schema.READABLE_FROM:
                workers = [id for (id,) in schema.execute(connection, self._dialect.with_schema(_ALIVE))]
                check_stopped(workers, version, self.needed, schema.shown(self._db))
            for statement in todo:
                schema.execute(connection, statement)
            schema.execute(connection, self._dialect.with_schema(_COUNT), version)
        return True

    def _build_index(self, connection: Connection, statement: str) -> None:
        """Build an index, and drop first what a killed build has left. A build may go on for a moment after its client was killed."""
        name = _INDEX.findall(statement)[0]
        if not _comes_true(lambda: not self._state(connection, name)[2]):
            raise StoreBusy(
                f"{schema.shown(self._db)}: the server still builds the index {name} for a client that has gone. "
                "Run `mainstay migrate up` again when it is done."
            )
        there, valid, _ = self._state(connection, name)
        if there and not valid:
            schema.execute(connection, self._dialect.with_schema(f"DROP INDEX CONCURRENTLY mainstay.{name}"))
        if not valid:
            schema.execute(connection, statement)

    def _state(self, connection: Connection, name: str) -> tuple[bool, bool, bool]:
        """Return whether an index is there, is valid, and is being built."""
        rows = schema.execute(connection, _STATE, self._dialect.schema, name)
        return (True, *rows[0]) if rows else (False, False, False)


def _comes_true(condition: Callable[[], bool]) -> bool:
    """Return whether something is true within a moment."""
    limit = time.monotonic() + PATIENCE
    while not (true := condition()) and time.monotonic() < limit:
        time.sleep(0.05)
    return true
