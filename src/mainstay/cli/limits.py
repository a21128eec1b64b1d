"""`limits`: lists limits and rates, who holds them and who waits; sets how many jobs run or start."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from ..control import json_records
from ..core.errors import UsageError
from . import records
from .changing import advised, report
from .groups import changes, group, subcommand
from .options import how_many, on_store
from .output import plural
from .quoting import typed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..app import Mainstay
    from ..control.records import LimitRecord, SlotRecord
    from .groups import By
    from .options import Target
    from .output import Cell, Output

KEYS = 10  # keys of a limit that are listed, those with the most waiting jobs first


@group(
    """
    mainstay limits
    mainstay limits set extract --running 5
    mainstay limits set extract/tenant --rate 10/s --burst 5
    mainstay limits reset extract
    """
)
@how_many("--keys", KEYS, "Keys to list of each limit.")
@on_store("Print only the names, one per line.")
def limits(target: Target, output: Output, keys: int) -> None:
    """List limits and who waits for them; set how many jobs run or start.

    HELD counts the queued and running jobs that have a place, of as many as there are; WAITING the jobs in line. NEXT is when a
    rate permits the next start. Of each limit, the keys with the longest lines are listed.
    """
    with target.open() as app:
        output.now, found = app.clock.now(), app.limits()
    none = "there are no limits: mainstay limits set TYPE --running 5, or @app.job(limit=Limit(running=5))"
    records.listed(output, found, "name", partial(_print, keys=keys), none)


def _print(output: Output, found: Sequence[LimitRecord], keys: int) -> None:
    rows = [row for each in found for row in _rows(output, each, keys)]
    headers = ["LIMIT", "KEY", "HELD", "WAITING", "RATE", "NEXT", "SET"]
    output.filled_table(headers, rows, always=(0, 2, 3), right=(2, 3))


def _rows(output: Output, each: LimitRecord, keys: int) -> list[list[Cell]]:
    """Return a row for each key in use, those with the longest lines first; one row for a limit that nobody holds."""
    slots = sorted(each.slots, key=lambda slot: (-slot.waiting, -slot.holders, slot.key))
    rate, burst = each.effective.get("rate"), each.effective.get("burst") or 1
    pace = "" if not rate else f"{rate} burst {burst}" if burst > 1 else str(rate)
    rows = [_row(output, each, slot, pace) for slot in slots[:keys]] or [_row(output, each, None, pace)]
    for row in rows[1:]:
        row[0] = row[4] = row[6] = ""
    if len(slots) > keys:
        rows.append(["", (f"… and {plural(len(slots) - keys, 'key')}", "dim"), "", "", "", "", ""])
    return rows


def _row(output: Output, each: LimitRecord, slot: SlotRecord | None, pace: str) -> list[Cell]:
    running = each.effective.get("running")
    held = slot.holders if slot else 0
    full = running is not None and held >= running
    waiting = f"{slot.waiting:,}{'+' * slot.capped}" if slot else "0"
    return [
        (each.name, "bold"), slot.key if slot else "", (f"{held:,}" + ("" if running is None else f"/{running:,}"), "warn" if full else ""),
        (waiting, "warn" if slot and slot.waiting else "dim"), pace,
        output.when(json_records.instant(slot.next_start)) if slot and slot.next_start else "", (str(len(each.set) or ""), "warn"),
    ]  # fmt: skip


@subcommand(
    limits, "set",
    """
    mainstay limits set extract --running 5
    mainstay limits set extract/tenant --rate 10/s --burst 5
    mainstay limits set queue:llm --running 20 --dry-run
    mainstay limits set extract --running 2 --key tenant
    """,
)  # fmt: skip
@click.argument("name")
@click.option("--running", type=int, metavar="N", help="How many jobs may run at once.")
@click.option("--rate", metavar="N/TIME", help="How many jobs may start: 10/s, 100/m, 1/2h.")
@click.option("--burst", type=int, metavar="N", help="How many may start at once after a pause.")
@click.option(
    "--key",
    metavar="KEY",
    help="For a new limit: one for each tenant, tenant/* or field of the payload, such as order.id.",
)
@changes()
def set_limit(
    target: Target,
    output: Output,
    by: By,
    name: str,
    running: int | None,
    rate: str | None,
    burst: int | None,
    key: str | None,
) -> int:
    """Set a limit: at once and for all its jobs.

    NAME is a limit's name (mainstay limits lists them), a type's, or queue: and a queue's. A type or queue without a limit gets
    one, for jobs enqueued from now on.
    """
    given: dict[str, Any] = {"running": running, "rate": rate, "burst": burst}
    if all(value is None for value in given.values()):
        raise UsageError("what to set?", f"{typed('limits', 'set', name)} --running 5")
    with target.open() as app, advised("limits", "limits set"):
        change = app.set_limit(name, **given, key=_key(key), **by._asdict())
        declared = _declared(app, change.name)
    told = f"the limit {change.name} holds." if change.changed else f"the limit {change.name} is as before."
    undo = typed("limits", "reset", change.name, target=target)
    return report(output, [change], by, told, undo, declared)


def _declared(app: Mainstay, name: str) -> Any:
    return next((each.declared for each in app.limits() if each.name == name), {})


def _key(text: str | None) -> Any:
    if text is None or text in ("tenant", "tenant/*"):
        return text
    from ..core.fields import by

    return by(*(part.strip() for part in text.split(",")))


@subcommand(limits, "reset", "mainstay limits reset extract\nmainstay limits reset extract --dry-run")
@click.argument("name")
@changes()
def reset_limit(target: Target, output: Output, by: By, name: str) -> int:
    """Remove what operators have set of a limit. What code declares holds again."""
    with target.open() as app, advised("limits", "limits reset"):
        declared = _declared(app, name)
        change = app.reset_limit(name, **by._asdict())
    told = f"the limit {name} is as code declares." if change.changed else f"nothing is set on the limit {name}."
    return report(output, [change], by, told, declared=declared)
