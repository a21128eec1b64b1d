"""`migrate`: which version a store's schema has, and the way to the one that is needed. `compact`: a smaller SQLite file.

`move`: copies all jobs from one store to another.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from ..core.errors import UsageError
from ..core.masking import masked
from ..stores import existing, open_migrations, open_store
from ..stores.schema import SEALED
from . import exits
from .options import command, on_store, shaped
from .output import plural, size
from .progress import bar

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..stores.contract import Store
    from ..stores.schema import Migrations
    from .options import Target
    from .output import Output

EVERY = 0.1  # seconds between two updates of the progress bar


@command(
    "mainstay migrate status --url postgresql://app@db/app\n"
    "mainstay migrate up --url postgresql://owner@db/app\n"
    "mainstay migrate sql --url postgresql://app@db/app --since 0"
)
@click.argument("action", type=click.Choice(["status", "up", "sql"]), default="status")
@click.option("--since", type=click.IntRange(0), help="For sql: the version to start from. Default: that of the store.")
@on_store("No effect: all of the output is data.")
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
    readable_from %= SEALED
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
@on_store("Print nothing.")
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
    said = done.advice or f"{size(done.before)} before, {size(done.after)} now"
    output.give(done._asdict, (), lambda: output.line(said))


@command(
    "mainstay move sqlite:///jobs.db postgresql://app@db/app\n"
    "mainstay move postgresql://app@db/app redis://cache:6379/0\n"
    "mainstay move --reopen sqlite:///jobs.db"
)
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO", required=False)
@click.option(
    "--force", is_flag=True, help="Move although workers are registered: jobs that run meanwhile may run twice."
)
@click.option("--reopen", is_flag=True, help="Let workers start on FROM again after a move.")
@click.option("--batch", type=click.IntRange(1, 5_000), default=500, show_default=True, help="Rows per transaction.")
@shaped("Print nothing but errors.")
def move(source: str, target: str | None, force: bool, reopen: bool, batch: int, output: Output) -> None:
    """Copy every job, with its history, from one store to another.

    Stop workers and producers first. To continue an interrupted move, run the same command again. At the end it compares
    both stores row by row; after that, workers start on TO only.
    """
    from ..stores.move import reopen as reopened, shown

    with open_store(existing(source)) as old:
        if reopen:
            reopened(old)
            output.talk(f"workers may start on {shown(old)} again, with the jobs as they were before the move")
        elif not target:
            attempt = f"mainstay move {masked(source)} postgresql://user@host/database"
            raise UsageError("TO is missing: name the store to move to", attempt)
        else:
            with open_store(target) as new:
                _move(old, new, force, batch, output)


def _move(source: Store, target: Store, force: bool, batch: int, output: Output) -> None:
    from ..stores.move import move, shown

    try:
        moved = move(source, target, _bar(output), force, batch)
    except KeyboardInterrupt:
        output.live()
        output.talk("stopped: run the same command again to continue; until then no worker starts on either store")
        raise
    finally:
        output.live()
    parts = {part: {"rows": found.rows, "checksum": f"{found.checksum:016x}"} for part, found in moved.items()}

    def text() -> None:
        rows = [[part, f"{found['rows']:,}", str(found["checksum"])] for part, found in parts.items()]
        output.table(["part", "rows", "checksum"], rows, right=(1,))
        output.line(f"{plural(moved['jobs'].rows, 'job')} moved to {shown(target)}; both stores hold the same rows.")
        output.line(f"Start workers with --url {shown(target)}; {shown(source)} is closed to them.")

    output.give(lambda: parts, (), text)


def _bar(output: Output) -> Callable[[str, str, int, int], None]:
    """Return what draws the progress bar of a move, at most once in `EVERY` seconds."""
    drawn = [0.0]

    def draw(doing: str, part: str, rows: int, total: int) -> None:
        if time.monotonic() - drawn[0] >= EVERY or rows == total:
            drawn[0] = time.monotonic()
            of = f" of {total:,}" if total else ""
            output.live(f"{doing} {part:8} ", *bar(rows, total), f" {rows:,}{of}")

    return draw
