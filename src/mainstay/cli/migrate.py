"""`migrate`: which version of mainstay's tables a store has, and the steps to the one that this mainstay needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..core.settings import masked
from . import exits
from .exits import Hint
from .options import command, shaped, targeted
from .output import plural

if TYPE_CHECKING:
    from ..stores.postgres.connect import Database
    from .output import Output
    from .target import Target

ENGINES = ("postgresql", "postgres")


@command(
    "mainstay migrate status --url postgresql://app@db/app\n"
    "mainstay migrate up --url postgresql://owner@db/app\n"
    "mainstay migrate sql --url postgresql://app@db/app --since 0"
)
@click.argument("action", type=click.Choice(["status", "up", "sql"]), default="status")
@click.option(
    "--since", type=click.IntRange(0), help="For sql: the version that is there; without it the store is asked."
)
@shaped
@targeted
def migrate(target: Target, action: str, since: int | None, output: Output) -> int:
    """Bring a store's tables to this version of mainstay, or print how.

    status tells the versions (exit code 3: `up` is to be run) · up changes the tables, in one transaction · sql prints the
    statements for who may not run them. SQLite files bring themselves up to date; Redis has no tables.
    """
    url = target.url()
    if url.partition(":")[0] not in ENGINES:
        raise Hint(f"{masked(url)} needs no migrations: only PostgreSQL does", "mainstay doctor")
    from ..stores.postgres.connect import Database

    db = Database(url)
    if action == "sql":
        output.line(_script(db, _found(db) if since is None else since))
        return exits.OK
    return _up(db, output) if action == "up" else _status(db, output)


def _found(db: Database) -> int:
    from ..stores.postgres import schema

    with db.aside() as connection:
        return schema.version(connection, db.load)


def _script(db: Database, since: int) -> str:
    from ..stores.postgres import schema

    numbers = range(since + 1, schema.VERSION + 1)
    if not numbers:
        return f"-- schema {db.load.schema} is of version {since}: there is nothing to do"
    begin = [f'CREATE SCHEMA IF NOT EXISTS "{db.load.schema}";'] if since == 0 else []
    return "\n".join(["BEGIN;", *begin, *(schema.script(number, db.load).strip() for number in numbers), "COMMIT;"])


def _status(db: Database, output: Output) -> int:
    from ..stores.postgres import schema

    found = _found(db)
    record = {"store": db.place, "schema": db.load.schema, "version": found, "needed": schema.VERSION}
    if output.shape.machine:
        output.record(record)
    else:
        output.line(_told(record))
    return exits.OK if found == schema.VERSION else exits.PARTIAL if found < schema.VERSION else exits.FAILED


def _told(record: dict[str, Any]) -> str:
    place = f"{record['store']}: schema {record['schema']}"
    if record["version"] == record["needed"]:
        return f"{place} is of version {record['version']}, as it should be"
    if record["version"] > record["needed"]:
        return f"{place} is of version {record['version']}, newer than this mainstay's {record['needed']}: upgrade mainstay"
    state = f"is of version {record['version']}" if record["version"] else "is not there yet"
    return f"{place} {state}, version {record['needed']} is needed: stop the workers, then run mainstay migrate up"


def _up(db: Database, output: Output) -> int:
    from ..stores.postgres import schema

    with db.aside() as connection:
        schema.check_not_newer(schema.version(connection, db.load), db.load, db.place)
        numbers = schema.apply(connection, db.load)
    if output.shape.machine:
        output.record({"store": db.place, "schema": db.load.schema, "version": schema.VERSION, "applied": numbers})
    elif numbers:
        output.line(
            f"{db.place}: {plural(len(numbers), 'migration')} applied, schema {db.load.schema} is of version {numbers[-1]}"
        )
    else:
        output.line(f"{db.place}: schema {db.load.schema} is of version {schema.VERSION}, as it should be")
    return exits.OK
