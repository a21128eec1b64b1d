"""`stats`: how many jobs ran and how long they took; `history`: which ones ended; `metrics`: numbers for Prometheus."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from ..control import json_records
from ..core.clock import human, milliseconds
from ..core.errors import UsageError
from ..core.suggest import did_you_mean
from ..short_ids import shortened
from . import records
from .jobs import PER_PAGE, WIDE
from .options import command, how_many, on_store
from .output import state

if TYPE_CHECKING:
    from ..control.metrics import Metric
    from ..control.stats import Stats, StatsRecord
    from ..core.job import Job
    from .options import Target
    from .output import Cell, Output

BARS = "▁▂▃▄▅▆▇█"
HEADERS = (
    "TREND",
    "DONE",
    "FAILED",
    "DEAD",
    "OK",
    "/MIN",
    "P50 WAIT",
    "P95 WAIT",
    "MEAN RUN",
    "P50 RUN",
    "P95 RUN",
    "P99 RUN",
    "LONGEST",
)
DROPPED = ("P50 WAIT", "LONGEST", "/MIN", "MEAN RUN", "P50 RUN", "TREND", "DEAD")  # on a narrow terminal, in this order


@command(
    """
    mainstay stats
    mainstay stats --since 1h
    mainstay stats --since 7d --by day resize mail.send
    mainstay stats --by hour --json
    """
)
@click.argument("types", metavar="[TYPE]...", nargs=-1)
@click.option("--since", metavar="DURATION", help="How far to look back: 1h, 7d.  [default: 24h; by minute 1h]")
@click.option(
    "--by",
    default="type",
    show_default=True,
    type=click.Choice(["type", "minute", "hour", "day"]),
    help="One line for each.",
)
@on_store("Print only the types, one per line.")
def stats(target: Target, output: Output, types: tuple[str, ...], since: str | None, by: Any) -> None:
    """Show how many jobs ran, failed and died, and how long they waited and ran.

    The numbers come from counters, not from jobs: jobs that were removed are among them. OK is the part of the attempts that did not fail.
    Percentiles and the longest run are at most 16 % wrong. A time of more than two hours begins at a full hour. On SQLite and PostgreSQL, new jobs are counted a minute or two later.
    """
    since = since or ("1h" if by == "minute" else "24h")
    with target.open() as app:
        found = app.stats(since, by, types)
        output.now = app.clock.now()
        known = [info.name for info in app.store.types()] if types and not found.rows else []
    kinds = sorted({row.type for row in found.rows if row.type})
    output.give(lambda: _data(found), kinds, lambda: _print(output, found))
    if not any(row.attempts or row.enqueued or row.ended for row in found.rows):
        hints = [did_you_mean(type, known) for type in types if type not in known]
        of_these = f" to jobs of {', '.join(types)}{''.join(hints)}" if types else ""
        output.talk(f"nothing happened in the last {since}{of_these}")


def _data(found: Stats) -> list[dict[str, Any]]:
    return [json_records.plain(row) for row in found.rows]


def _print(output: Output, found: Stats) -> None:
    """Print a table; a series has no line for times in which nothing happened, and no trend."""
    if found.by == "type":
        headers, rows = (
            ["TYPE", *HEADERS],
            [[(row.type or "", "bold"), (sparkline(row.trend), "link"), *_row(row)] for row in found.rows],
        )
    else:
        busy = [row for row in found.rows if row.attempts or row.enqueued or row.dead or row.cancelled]
        headers, rows = [found.by.upper(), *HEADERS[1:]], [[output.moment(_ms(row)), *_row(row)] for row in busy]
    if rows:
        drop = [headers.index(name) for name in DROPPED if name in headers]
        output.table(headers, rows, right=range(headers.index("DONE"), len(headers)), drop=drop, whole=(0,))


def _row(row: StatsRecord) -> list[Cell]:
    return [
        f"{row.completed:,}", (f"{row.failed:,}", "warn" if row.failed else "dim"), (f"{row.dead:,}", "dead" if row.dead else "dim"),
        percent(row.success), f"{row.per_minute:.1f}", spent(row.wait.p50), spent(row.wait.p95),
        spent(row.run.mean), spent(row.run.p50), spent(row.run.p95), spent(row.run.p99), spent(row.run.longest),
    ]  # fmt: skip


def _ms(row: StatsRecord) -> int:
    return round(row.at.timestamp() * 1000) if row.at else 0


def spent(seconds: float | None) -> Cell:
    """Return a duration as text."""
    return ("–", "dim") if seconds is None else human(round(seconds * 1000))


def percent(part: float | None) -> str:
    """Return a part as percents, never rounded up to all or down to nothing."""
    if part is None:
        return "–"
    return f"{part:.0%}" if part in (0, 1) else f"{min(max(part * 100, 0.1), 99.9):.1f}%"


def sparkline(numbers: tuple[int, ...]) -> str:
    """Return numbers as bars; nothing where all are zero."""
    most = max(numbers, default=0)
    return "".join(BARS[-(-n * (len(BARS) - 1) // most)] for n in numbers) if most else ""


@command(
    """
    mainstay history 1h
    mainstay history 24h type:mail.* state:dead
    mainstay history 1h --json
    """
)
@click.argument("since", metavar="DURATION", default="1h")
@click.argument("query", nargs=-1)
@how_many("--limit", PER_PAGE, "Jobs per page.")
@click.option("--after", metavar="PLACE", help="Continue there: the next page.")
@on_store("Print only the ids, one per line.")
def history(target: Target, output: Output, since: str, query: tuple[str, ...], limit: int, after: str | None) -> None:
    """Show which jobs ended in the last time: how, when, and how long they took.

    A search narrows it down, as with ls. The newest jobs come first. Counts of a longer time, and of jobs that were removed: mainstay stats.
    """
    try:
        length = milliseconds(since)
    except ValueError as error:
        raise UsageError(str(error), "mainstay history 1h") from None
    records.check_fields(output.shape.fields)
    with target.open() as app:
        now = output.now = app.clock.now()
        if query:
            page = app.search(
                f"finished:{since.replace(' ', '')} {' '.join(query)}",
                limit,
                after,
                exact=output.shape.machine or output.shape.quiet,
            )
            ids, more = list(page.ids), page.after
        else:
            ids, more = app.store.ended(now - length, limit, after)
        jobs = app.store.get_many(ids)
    output.give(lambda: [json_records.of_job(job, now) for job in jobs], ids, lambda: _print_ended(output, jobs))
    if not jobs:
        output.talk(f"no job ended in the last {since}")
    if more:
        words = [
            since,
            *(word.strip() for word in query),
            *([] if limit == PER_PAGE else ["-n", str(limit)]),
            *target.words(),
        ]
        output.talk(f"there are more: {shlex.join(['mainstay', 'history', *words, '--after', more])}")


def _print_ended(output: Output, jobs: list[Job]) -> None:
    if output.shape.fields:
        records.print_fields(output, jobs)
    elif jobs:
        shown = shortened([job.id for job in jobs]) if output.width < WIDE else [job.id for job in jobs]
        rows = [_ended_row(output, job, id) for job, id in zip(jobs, shown, strict=True)]
        output.table(["ENDED", "STATE", "ID", "TYPE", "TRY", "TOOK", "ABOUT"], rows, right=(4, 5), drop=(4,))


def _ended_row(output: Output, job: Job, id: str) -> list[Cell]:
    took = output.spent(json_records.durations(job, output.now)["took"])
    when = (output.when(job.finished_at), "dim")
    return [
        when,
        state(job.label),
        id,
        (job.type, "bold"),
        f"{job.attempt}/{job.max_attempts}",
        took,
        (json_records.about(job), "dim"),
    ]


@command("mainstay metrics\nmainstay metrics --jsonl --fields name,labels,value")
@on_store("Print only the names of the metrics, one per line.")
def metrics(target: Target, output: Output) -> None:
    """Print the metrics of the whole installation in Prometheus' text format.

    app.metrics_app() serves the same over HTTP. The numbers come from the store, so it does not matter which process is asked.
    """
    from ..control.metrics import metrics as read

    with target.open() as app:
        if output.shape.machine or output.shape.quiet:
            found = read(app.store, app.clock.now())
            output.give(
                lambda: [sample for metric in found for sample in _samples(metric)],
                [metric.name for metric in found],
                lambda: None,
            )
        else:
            output.lines(app.metrics().removesuffix("\n").split("\n"))


def _samples(metric: Metric) -> list[dict[str, Any]]:
    return [
        {"metric": metric.name, "kind": metric.kind, "name": metric.name + end, "labels": labels, "value": value}
        for end, labels, value in metric.samples
    ]
