"""What `schedules` prints: the list, one schedule, and instants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..control import json_records
from ..core.clock import iso
from ..core.cron import zone
from . import rule_text
from .output import state
from .quoting import typed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from ..control.records import ScheduleRecord
    from ..core.job import Job
    from .output import Cell, Output


def listed(output: Output, found: Sequence[ScheduleRecord]) -> None:
    """Print a line for each schedule, and what is wrong with some."""
    rows = [_row(output, each) for each in found]
    headers = ["NAME", "WHEN", "IN WORDS", "ZONE", "NEXT", "LAST", "RESULT", "NOTE"]
    noted = any(_note(each)[0] for each in found)
    rows = rows if noted else [row[:-1] for row in rows]
    output.table(headers if noted else headers[:-1], rows, drop=(2, 3, 5), whole=(0,))
    for each in found:
        if each.problem and output.tty:
            output.paragraph(("! ", "warn"), (f"{each.name}: ", "bold"), text=each.problem, indent=1)


def _row(output: Output, each: ScheduleRecord) -> list[Cell]:
    return [
        (each.name, "bold"), _when(each), each.words, each.tz, _at(output, each.next), _at(output, each.last),
        state(each.result) if each.result else "", _note(each),
    ]  # fmt: skip


def _when(each: ScheduleRecord) -> str:
    return each.cron if each.cron is not None else f"every {rule_text.value('', each.every)}"


def _at(output: Output, at: datetime | None) -> str:
    return output.when(None if at is None else json_records.instant(at))


def _note(each: ScheduleRecord) -> tuple[str, str]:
    """Return what is unusual about a schedule, the most important first."""
    if each.paused is not None:
        return "⏸ paused", "warn"
    if each.problem:
        return "! fails", "bad"
    if each.in_code is False:
        return "not in code", "warn"
    if each.drift:
        return f"set: {', '.join(each.drift)}", "warn"
    ended = each.next is None and (each.fired or each.missed or each.end is not None)
    return ("ended", "dim") if ended else ("", "")


def one(output: Output, each: ScheduleRecord, fires: Sequence[datetime], jobs: Sequence[Job]) -> None:
    """Print a schedule, its next fires and its last jobs."""
    _print_head(output, each)
    output.heading("next fires")
    for at in fires:
        output.line(local(at, each.tz), ("  " + _at(output, at) if output.tty else "", "dim"), indent=3)
    if not fires:
        output.line(("none" + " until its job can be enqueued" * bool(each.problem), "dim"), indent=3)
    output.heading("last jobs")
    if jobs:
        output.table(["ID", "STATE", "TICK", ""], [_job_row(job) for job in jobs], indent=3, whole=(0, 1, 2))
    else:
        output.line(("none", "dim"), indent=3)
    _print_values(output, each)


def _job_row(job: Job) -> list[Cell]:
    return [job.id, state(job.label), _tick(job.tick), json_records.about(job)]


def _tick(ms: int | None) -> str:
    return "" if ms is None else iso(ms).replace(".000Z", "Z")


def local(at: datetime, tz: str) -> str:
    """Return an instant in the zone of its schedule: what a clock there shows."""
    return at.astimezone(zone(tz)).isoformat(sep=" ", timespec="seconds")


def _print_head(output: Output, each: ScheduleRecord) -> None:
    output.line((each.name, "bold"), "  ", each.type, "  ", json_records.short(each.args))
    facts = [
        _when(each),
        *([each.words] if each.cron else []),
        each.tz,
        f"catch_up {each.catch_up}",
        f"overlap {each.overlap}",
    ]
    facts += [
        f"{name} {rule_text.value(name, given)}"
        for name in ("start", "end", "limit", "jitter")
        if (given := getattr(each, name)) is not None
    ]
    output.facts(*((fact, "dim") for fact in facts), indent=2)
    counts = [f"{each.fired:,} fired", f"{each.missed:,} missed", f"{each.skipped:,} skipped"]
    output.facts(*((fact, "dim") for fact in counts), indent=2)
    if each.paused is not None:
        why = f": {each.paused.value}" if each.paused.value else ""
        output.line((f"⏸ paused by {each.paused.actor} {_at(output, each.paused.at)}{why}", "warn"), indent=2)
    if each.problem:
        output.paragraph(("! ", "bad"), text=each.problem, style="bad", indent=2)
    if each.in_code is False:
        output.line(
            (f"not in code any more; to remove it: {typed('schedules', 'remove', each.name)}", "warn"), indent=2
        )


def _print_values(output: Output, each: ScheduleRecord) -> None:
    """Print what operators have set over what the code declares."""
    rows: list[list[Cell]] = [
        [(name, "bold"), rule_text.value(name, each.declared[name]) if name in each.declared else rule_text.NONE,
         rule_text.value(name, override.value), override.actor, _at(output, override.at)]
        for name, override in each.set.items() if name in each.drift
    ]  # fmt: skip
    if each.declared and rows:
        output.heading("set by operators")
        output.table(["", "DECLARED", "SET", "BY", "WHEN"], rows, indent=3)
        output.line(("→ " + typed("schedules", "reset", each.name), "link"), indent=3)


def fires(output: Output, found: Sequence[datetime], tz: str) -> None:
    """Print instants, in a zone and in UTC."""
    rows: list[list[Cell]] = [[local(at, tz), json_records.plain(at), _at(output, at)] for at in found]
    if rows:
        output.table([tz, "UTC", ""], rows if output.tty else [[*row[:2], ""] for row in rows])
