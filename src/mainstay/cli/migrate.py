"""`migrate`: which version a store's schema has, and the way to the one that is needed. `compact`: a smaller SQLite file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..core.errors import UsageError
from ..stores import open_migrations
from . import exits
from .options import command, shaped, targeted
from .output import plural, size

if TYPE_CHECKING:
    from ..stores.schema import Migrations
    from .output import Output
    from .target import Target


@command(
    "mainstay migrate status --url postgresql://app@db/app\n"
    "mainstay migrate up --url postgresql://owner@db/app\n"
    "mainstay migrate sql --url postgresql://app@db/app --since 0"
)
@click.argument("action", type=click.Choice(["status", "up", "sql"]), default="status")
@click.option("--since", type=click.IntRange(0), help="For sql: the version to start from. Default: that of the store.")
@shaped
@targeted
def migrate(target: Target, action: str, since: int | None, output: Output) -> int:
    """Bring a store's schema to the version of this mainstay, or print how.

    status shows the versions and what is pending (exit code 3: run `up`) · up runs the missing steps and goes on where a
    killed one stopped · sql prints the statements for a role that may run them. A SQLite file upgrades itself when it is
    opened and no worker runs.
    """
    with target.located() as url:
        migrations = open_migrations(url)
        if action == "sql":
            output.lines(_script(migrations, migrations.found()[0] if since is None else since).split("\n"))
            return exits.OK
        return _up(migrations, output) if action == "up" else _status(migrations, output)


def _script(migrations: Migrations, since: int) -> str:
    if since >= migrations.needed:
        return f"-- {_place(migrations)} has schema {since}: there is nothing to do"
    text = migrations.sql(since)
    if text is None:
        raise UsageError(f"{_place(migrations)} has no SQL", "mainstay migrate up")
    return text


def _status(migrations: Migrations, output: Output) -> int:
    version, readable_from, step = migrations.found()
    pending = migrations.pending(version)
    record = {
        **migrations.where, "version": version, "readable_from": readable_from, "needed": migrations.needed,
        "pending": pending, "steps_done": step,
    }  # fmt: skip
    output.give(lambda: record, None, lambda: output.line(f"{_place(migrations)} {_described(record)}"))
    return exits.PARTIAL if pending else exits.FAILED if readable_from > migrations.needed else exits.OK


def _described(record: dict[str, Any]) -> str:
    version, needed = record["version"], record["needed"]
    has = f"has schema {version}, readable from {record['readable_from']}" if version else "has no schema yet"
    if version == needed:
        return f"{has}, as this mainstay needs"
    if version > needed:
        newer = f"{has}, newer than this mainstay's {needed}"
        return f"{newer}: upgrade mainstay" if record["readable_from"] > needed else f"{newer}, which can use it"
    done = f" ({plural(record['steps_done'], 'step')} done)" if record["steps_done"] else ""
    return (
        f"{has}; this mainstay needs {needed}. Pending: {', '.join(record['pending'])}{done}. Run mainstay migrate up"
    )


def _up(migrations: Migrations, output: Output) -> int:
    numbers = migrations.up(lambda line: None if output.shape.machine else output.line(line))
    version = migrations.found()[0]
    said = f" now: {plural(len(numbers), 'migration')} applied" if numbers else ": there is nothing to do"
    record = {**migrations.where, "version": version, "applied": numbers}
    output.give(lambda: record, None, lambda: output.line(f"{_place(migrations)} has schema {version}{said}"))
    return exits.OK


def _place(migrations: Migrations) -> str:
    store, *rest = migrations.where.items()
    return ", ".join([store[1], *(f"{name} {value}" for name, value in rest)])


@command("mainstay compact --url sqlite:///jobs.db")
@shaped
@targeted
def compact(target: Target, output: Output) -> None:
    """Make a SQLite file smaller after many jobs were deleted.

    Workers may run meanwhile. A file that an older mainstay has made is rewritten: that needs as much free space as the file
    has, and writes wait until the end. PostgreSQL and Redis use the space of deleted jobs again by themselves.
    """
    with target.open() as app:
        try:
            done = app.store.compact(lambda freed, free: output.live(f"{size(freed)} of {size(free)} released"))
        finally:
            output.live()

    def text() -> None:
        output.line(done.advice or f"{size(done.before)} before, {size(done.after)} now")

    output.give(done._asdict, (), text)
