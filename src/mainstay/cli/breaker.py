"""`breaker`: lists the circuit breakers of types; opens or closes one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ..control import json_records
from . import records
from .changing import advised, report
from .groups import changes, group, subcommand
from .options import on_store
from .quoting import typed
from .rule_text import span

if TYPE_CHECKING:
    from ..control.records import BreakerRecord
    from .groups import By
    from .options import Target
    from .output import Cell, Output

NONE = 'no type declares a breaker: @app.job(breaker=Breaker(failures=0.5, of=20, rest="30s"))'
STYLES = {"closed": "good", "open": "bad", "probing": "warn"}


@group("mainstay breaker\nmainstay breaker open extract --rest 10m\nmainstay breaker close extract")
@on_store("Print only the types, one per line.")
def breaker(target: Target, output: Output) -> None:
    """List breakers; open or close one.

    A type whose code declares a breaker rests when too many of its jobs fail: none starts, no attempts are spent. After the rest
    one job is tried, and its outcome decides.
    """
    with target.open() as app:
        output.now, found = app.clock.now(), app.breakers()
    records.listed(output, found, "type", _print, NONE)


def _print(output: Output, found: list[BreakerRecord]) -> None:
    rows: list[list[Cell]] = [
        [(each.type, "bold"), (each.state, STYLES.get(each.state, "")), *_numbers(each), _until(output, each), opened(output, each)]
        for each in found
    ]  # fmt: skip
    output.table(
        ["TYPE", "STATE", "FAILED", "OPENS AT", "RESTS", "TRIES ONE", "OPENED"], rows, right=(2, 3, 4), drop=(4, 6)
    )


def _numbers(each: BreakerRecord) -> list[Cell]:
    opens = "–" if each.failures is None else f"{each.failures:.0%} of {each.of}"
    return [
        f"{each.failed}/{each.seen}",
        opens,
        "–" if each.rest is None else span(round(each.rest.total_seconds() * 1000)),
    ]


def _until(output: Output, each: BreakerRecord) -> str:
    return "" if each.until is None else output.when(json_records.instant(each.until))


def opened(output: Output, each: BreakerRecord) -> str:
    """Return who opened a breaker and why: `by ada 2h ago: the API is down`."""
    if each.state == "closed" or each.at is None:
        return ""
    who = f"by {each.actor}" if each.actor else "by failures"
    return f"{who} {output.when(json_records.instant(each.at))}" + (
        f": {each.reason}" if each.reason and each.actor else ""
    )


@subcommand(breaker, "open", 'mainstay breaker open extract --rest 10m --reason "the API is down"')
@click.argument("type")
@click.option("--rest", default="30m", show_default=True, metavar="DURATION", help="How long none starts.")
@changes()
def open_breaker(target: Target, output: Output, by: By, type: str, rest: str) -> int:
    """Let a type rest now; then one job is tried, and its outcome decides."""
    with target.open() as app, advised("breaker", "breaker open"):
        change = app.open_breaker(type, rest, **by._asdict())
    told = f"the breaker of {type} is open: none of its jobs starts for {rest}, then one is tried."
    return report(output, [change], by, told, typed("breaker", "close", type, target=target))


@subcommand(breaker, "close", "mainstay breaker close extract")
@click.argument("type")
@changes()
def close_breaker(target: Target, output: Output, by: By, type: str) -> int:
    """Let a type that rests go on at once."""
    with target.open() as app, advised("breaker", "breaker close"):
        change = app.close_breaker(type, **by._asdict())
    told = f"the breaker of {type} is closed." if change.changed else f"the breaker of {type} is closed already."
    return report(output, [change], by, told)
