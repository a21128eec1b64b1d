"""`reconcile`: checks completed jobs by the `verify=` of their types, and lists what does not hold."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import click

from ..control import json_records
from ..control.reconcile import verifications
from . import exits, records
from .discrepancies import reconciled_line, verdict
from .enqueue_args import duration
from .options import command, on_store
from .worker import application

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..control.records import Discrepancy, Reconciliation
    from .options import Target
    from .output import Output


@command("mainstay reconcile --app jobs:app\nmainstay reconcile create_file --since 24h\nmainstay reconcile --json")
@click.argument("types", nargs=-1, metavar="[TYPE]…")
@click.option("--since", metavar="DURATION", help="Only jobs that ended within this time.")
@click.option("--limit", metavar="N", type=click.IntRange(1), help="Look at the N jobs that ended last, of all types.")
@on_store("Print only the ids of the jobs, one per line.")
def reconcile(target: Target, output: Output, types: tuple[str, ...], since: str | None, limit: int | None) -> int:
    """Check whether what completed jobs did still holds; change nothing.

    It runs your code: the verify= of each type. Of several jobs about the same thing, the one that ended last counts. Jobs that
    retention has removed cannot be checked. The exit code is 1 if something is wrong, 3 if something could not be checked, or is
    being changed by a job that has not ended.
    """
    span = duration("--since", since) if since else None
    with closing(application(target)) as app:
        output.now = app.clock.now()
        if not verifications(app):
            output.talk("no type of this application has verify=: there is nothing to check")
        report = app.reconcile(types, span, limit)
    records.listed(output, report.found, "id", _print)
    output.talk(reconciled_line(report))
    return _code(report)


def _print(output: Output, found: Sequence[Discrepancy]) -> None:
    for each in found:
        glyph = ("✕", "dead") if each.kind == "wrong" else ("◐", "warn")
        ended = output.since(json_records.instant(each.finished_at)) if each.finished_at else ""
        output.line(glyph, " ", each.id, "  ", (each.type, "bold"), "  ", (f"completed {ended}", "dim"))
        subject = "" if each.subject == each.id else f"{each.subject}: "
        output.paragraph(text=f"{subject}{verdict(each)}", indent=4)
    if found:
        output.line((f"→ mainstay show {found[0].id}", "link"), indent=1)


def _code(report: Reconciliation) -> int:
    if report.wrong:
        return exits.FAILED
    return exits.PARTIAL if report.unchecked or report.changing else exits.OK
