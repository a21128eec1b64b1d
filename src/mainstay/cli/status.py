"""`status`: counts the jobs that have not ended, by type and state, and lists problems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import __version__
from ..core.clock import HOUR, human
from ..core.settings import masked
from .findings import Finding, findings, live
from .options import command, shaped, targeted
from .output import plural, size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..core.job import Count, WorkerInfo
    from .output import Cell, Output
    from .target import Target

CAP = 100_000  # jobs counted of each state; a larger number ends in +
LABELS = ("queued", "running", "retrying", "review", "scheduled", "blocked", "dead")
USUAL = ("queued", "running", "retrying", "review", "scheduled", "dead")


@command("mainstay status\nmainstay status --json\nmainstay status --url sqlite:///jobs.db")
@shaped
@targeted
def status(target: Target, output: Output) -> None:
    """Show what is waiting, running and failed, by type.

    Problems follow below the table, each with the command that fixes it.
    """
    with target.open() as app:
        now = output.now = app.clock.now()
        counts, workers, facts = app.store.counts(CAP), app.store.workers(), app.store.diagnostics()
        ended, declared = app.store.throughput(now - HOUR, CAP), app.store.declarations(now)
        url = masked(target.url())
    found = findings(counts, workers, declared, now)
    if output.shape.machine:
        output.record(_record(counts, workers, facts, ended, found))
    elif output.shape.quiet:
        output.lines(sorted({count.type for count in counts}))
    else:
        output.line(_headline(output, url, facts, workers))
        _print_table(output, counts)
        output.line(_last_hour(output, ended))
        _print_findings(output, found)


def _headline(output: Output, url: str, facts: dict[str, str], workers: Sequence[WorkerInfo]) -> str:
    there = live(workers, output.now)
    busy, slots = sum(worker.running for worker in there), sum(worker.slots for worker in there)
    serving = f"{plural(len(there), 'worker')}, {busy}/{slots} slots busy" if there else "no worker"
    stopping = sum(worker.stopping and worker.expires_at > output.now for worker in workers)
    serving += f", {stopping} stopping" if stopping else ""
    store = f"{url} ({facts['engine']}, {size(int(facts.get('size', 0)))})"
    parts = [output.paint(f"mainstay {__version__}", "bold"), store, f"schema {facts.get('schema')}", serving]
    return " · ".join(parts)


def _print_table(output: Output, counts: Sequence[Count]) -> None:
    types = sorted({count.type for count in counts})
    if not types:
        return
    labels = [label for label in LABELS if label in USUAL or any(count.label == label for count in counts)]
    by_place = {(count.type, count.label): count for count in counts}
    rows: list[list[Cell]] = [
        [(type, "bold"), *_numbers(by_place, type, labels), _oldest(output, counts, type)] for type in types
    ]
    totals = [sum(count.jobs for count in counts if count.label == label) for label in labels]
    rows.append([("total", "dim"), *(f"{total:,}" for total in totals), ""])
    output.table(["", *labels, "oldest"], rows, right=range(1, len(labels) + 2))


def _numbers(by_place: dict[tuple[str, str], Count], type: str, labels: list[str]) -> list[Cell]:
    """Return the numbers of one type; zeros are dim."""
    cells: list[Cell] = []
    for label in labels:
        count = by_place.get((type, label))
        cells.append((f"{count.jobs:,}{'+' * count.capped}", label) if count else ("0", "dim"))
    return cells


def _oldest(output: Output, counts: Sequence[Count], type: str) -> Cell:
    """Return how long the oldest queued job of the type has been waiting."""
    since = [
        count.oldest for count in counts if count.type == type and count.label == "queued" and count.oldest is not None
    ]
    return human(max(output.now - min(since), 0)) if since else ("–", "dim")


def _last_hour(output: Output, ended: dict[str, int]) -> str:
    parts = [f"{ended[state]:,} {state}" for state in ("completed", "cancelled", "dead") if ended.get(state)]
    return output.paint(" last hour: " + (", ".join(parts) or "nothing ended"), "dim")


def _print_findings(output: Output, found: list[Finding]) -> None:
    width = max((len(finding.text) for finding in found), default=0)
    for finding in found:
        mark = output.paint("!", "warn")
        output.line(f" {mark} {finding.text:{width}}  {output.paint('→ ' + finding.fix, 'link')}")


def _record(
    counts: Sequence[Count], workers: Sequence[WorkerInfo], facts: dict[str, str], ended: dict[str, int],
    found: list[Finding],
) -> dict[str, Any]:  # fmt: skip
    return {
        "version": __version__, "store": facts, "counts": [count._asdict() for count in counts],
        "workers": [worker._asdict() for worker in workers], "last_hour": ended,
        "findings": [finding._asdict() for finding in found],
    }  # fmt: skip
