"""`status`: counts the jobs that have not ended, by type and state, and lists problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import __version__
from ..control import json_records
from ..control.findings import by_type
from ..control.status import CAP, all_findings, last_hour
from ..control.workers import live
from ..core.clock import human
from ..core.masking import masked
from .options import command, on_store
from .output import plural, size
from .stats import percent, spent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..control.stats import StatsRecord
    from ..core.job import Count, WorkerInfo
    from .options import Target
    from .output import Cell, Output

LABELS = ("queued", "running", "retrying", "review", "scheduled", "blocked", "dead")
ENDED = ("completed", "cancelled", "dead")
RARE = ("blocked",)  # shown only if there is such a job
FIRST_OUT = ("retrying", "review", "scheduled", "running")  # not shown on a narrow terminal if there is no such job


@command("mainstay status\nmainstay status --json\nmainstay status --url sqlite:///jobs.db")
@on_store("Print only the types of the jobs, one per line.")
def status(target: Target, output: Output) -> None:
    """Show what is waiting, running and failed, by type.

    Problems follow below the table, each with the command that fixes it.
    """
    with target.reading() as app:
        now = output.now = app.clock.now()
        counts, workers, facts = app.store.counts(CAP), app.store.workers(), app.store.diagnostics()
        lately, found = last_hour(app), all_findings(app, counts, workers, target.start())
        url = masked(target.url())
    record = {
        "version": __version__, "store": {name.replace(" ", "_"): _typed(fact) for name, fact in facts.items()},
        "counts": [json_records.of(count) for count in counts], "workers": [json_records.of(worker) for worker in workers],
        "last_hour": ends(lately),
        "last_hour_by_type": {type: json_records.plain(row) for type, row in lately.items()},
        "findings": [finding._asdict() for finding in found],
    }  # fmt: skip

    def text() -> None:
        output.facts((f"mainstay {__version__}", "bold"), *_store_and_workers(url, facts, workers, now))
        print_counts(output, counts, lately)
        output.line((f"last hour: {summary(lately)}", "dim"), indent=1)
        width = max((len(finding.text) for finding in found), default=0)
        narrow = any(width + len(finding.fix) + 7 > output.width for finding in found)
        for finding in found:
            fix = ("→ " + finding.fix if finding.fix else "", "link")
            if narrow:
                output.paragraph(("! ", "warn"), text=finding.text, indent=1)
                output.line("  ", fix, indent=1)
            else:
                output.line(("! ", "warn"), finding.text.ljust(width + 2), fix, indent=1)

    output.give(lambda: record, sorted({count.type for count in counts}), text)


def ends(lately: Mapping[str, StatsRecord]) -> dict[str, int]:
    """Return how many jobs ended, by state."""
    numbers = {name: sum(getattr(row, name) for row in lately.values()) for name in ENDED}
    return {name: n for name, n in numbers.items() if n}


def summary(lately: Mapping[str, StatsRecord]) -> str:
    """Return in words what happened in the last hour."""
    parts = [f"{n:,} {name}" for name, n in ends(lately).items()]
    completed, ended = (sum(getattr(row, name) for row in lately.values()) for name in ("completed", "ended"))
    if ended:
        parts.append(f"{percent(completed / ended)} of {plural(ended, 'attempt')} succeeded")
    return ", ".join(parts) or "nothing ended"


def _typed(fact: str) -> str | int:
    return int(fact) if fact.isdecimal() else fact


def _store_and_workers(
    url: str, facts: dict[str, str], workers: Sequence[WorkerInfo], now: int
) -> tuple[str, str, str]:
    there = live(workers, now)
    busy, slots = sum(worker.running for worker in there), sum(worker.slots for worker in there)
    serving = f"{plural(len(there), 'worker')}, {busy}/{slots} slots busy" if there else "no worker"
    stopping = sum(worker.stopping and worker.expires_at > now for worker in workers)
    serving += f", {stopping} stopping" if stopping else ""
    return f"{url} ({facts['engine']}, {size(int(facts.get('size', 0)))})", f"schema {facts.get('schema')}", serving


def print_counts(output: Output, counts: Sequence[Count], lately: Mapping[str, StatsRecord]) -> None:
    """Print a table of the numbers of jobs by type and state, with how long 95 % of them waited and ran lately."""
    counts = by_type(counts)
    by_place = {(count.type, count.label): count for count in counts}
    labels = [label for label in LABELS if label not in RARE or any(count.label == label for count in counts)]
    types = sorted({count.type for count in counts})
    timed = ["p95 wait", "p95 run"] if any(type in lately for type in types) else []
    rows: list[list[Cell]] = [
        [(type, "bold"), *(_number(by_place.get((type, label))) for label in labels), _oldest(output, by_place, type), *_times(lately.get(type))]
        for type in types
    ]  # fmt: skip
    if rows:
        empty = [labels.index(label) + 1 for label in FIRST_OUT if all(count.label != label for count in counts)]
        rows.append([("total", "dim"), *(_total(counts, label) for label in labels), "", "", ""])
        headers = ["", *labels, "oldest", *timed]
        last = range(len(headers) - 1, len(labels), -1)  # the times: how long jobs waited goes first, the oldest last
        output.table(
            headers,
            rows,
            right=range(1, len(headers)),
            drop=[*empty, *sorted(last, key=lambda n: headers[n] != "p95 wait")],
            whole=(0,),
        )


def _times(row: StatsRecord | None) -> list[Cell]:
    return [spent(row.wait.p95 if row else None), spent(row.run.p95 if row else None)]


def _total(counts: Sequence[Count], label: str) -> str:
    found = [count for count in counts if count.label == label]
    return f"{sum(count.jobs for count in found):,}{'+' * any(count.capped for count in found)}"


def _number(count: Count | None) -> Cell:
    return (f"{count.jobs:,}{'+' * count.capped}", count.label) if count else ("0", "dim")


def _oldest(output: Output, by_place: dict[tuple[str, str], Count], type: str) -> Cell:
    """Return how long the oldest queued job of the type has been waiting."""
    queued = by_place.get((type, "queued"))
    return ("–", "dim") if queued is None or queued.oldest is None else human(max(output.now - queued.oldest, 0))
