"""`stuck` and `dupes`: running jobs that make no progress, and jobs that look like duplicates of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ..control.stuck import CAP
from . import exits, records
from .enqueue_args import duration
from .options import command, on_store
from .output import plural
from .quoting import typed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..control.records import StuckRecord
    from ..core.duplicates import Duplicate
    from .options import Target
    from .output import Cell, Output


@command("mainstay stuck\nmainstay stuck --after 1h\nmainstay stuck --json")
@click.option("--after", metavar="DURATION", help="How long a job may run; default: the setting stuck_after, 5m.")
@on_store("Print only the ids, one per line.")
def stuck(target: Target, output: Output, after: str | None) -> int:
    """List running jobs that are stuck, each with the command that helps.

    A job is stuck if it runs for longer than --after or past its timeout, if its worker is silent, if it was asked to stop and goes on,
    or if a worker on this machine has claimed it and not started it. The exit code is 3 if there is one.
    """
    limit = duration("--after", after) if after else target.settings().stuck_after
    with target.reading() as app:
        output.now, found = app.clock.now(), app.stuck(limit)
    records.listed(output, found, "id", _print_stuck, f"no job is stuck (of up to {CAP:,} that run)")
    return exits.PARTIAL if found else exits.OK


def _print_stuck(output: Output, found: Sequence[StuckRecord]) -> None:
    for each in found:
        output.line(("◐", "warn"), " ", each.id, "  ", (each.type, "bold"), "  ", (each.worker or "", "dim"))
        output.line(each.text, indent=4)
        output.line((f"→ {each.fix}", "link"), indent=4)


@command("mainstay dupes\nmainstay dupes --within 7d\nmainstay dupes --json")
@click.option(
    "--within", metavar="DURATION", default="24h", show_default=True, help="Of jobs created within this time."
)
@on_store("Print only the newest id of each, one per line.")
def dupes(target: Target, output: Output, within: str) -> int:
    """List jobs that look like duplicates: same type and key, or arguments.

    Arguments are compared of jobs without a key that no schedule has made; empty and long ones (above 2,000 characters) are left out. It
    looks at the newest jobs, and says so if there are more. The exit code is 3 if there are duplicates.
    """
    span = duration("--within", within)
    with target.reading() as app:
        output.now, found = app.clock.now(), app.duplicates(span)
    records.listed(output, found.found, "newest", _print_dupes)
    if found.looked is not None:
        output.talk(
            f"looked at the newest {plural(found.looked, 'job')} only: --within with a shorter time looks at all of them"
        )
    if not found.found:
        output.talk(f"no duplicates among the jobs of the last {within}")
    return exits.PARTIAL if found.found else exits.OK


def _print_dupes(output: Output, found: Sequence[Duplicate]) -> None:
    rows: list[list[Cell]] = [
        [
            f"{each.jobs:,}",
            f"{each.alive:,}",
            (each.type, "bold"),
            "same arguments" if each.key is None else f"key {each.key}",
            each.newest,
        ]
        for each in found
    ]
    output.table(["JOBS", "ALIVE", "TYPE", "SAME", "NEWEST"], rows, right=(0, 1), whole=(2,))
    output.line((f"→ {_next(found[0])}", "link"), indent=1)


def _next(each: Duplicate) -> str:
    if each.key is not None:
        return typed("ls", f"type:{each.type} key:{each.key}")
    return f"mainstay cancel {each.newest}" if each.alive else f"mainstay show {each.newest}"
