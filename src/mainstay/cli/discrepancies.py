"""Discrepancies between completed jobs and what they did, in words: for the log of a worker and for `mainstay reconcile`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .output import plural

if TYPE_CHECKING:
    from ..control.records import Discrepancy, Reconciliation


def verdict(found: Discrepancy) -> str:
    """Return what is wrong with what a job did."""
    if found.kind == "unchecked":
        return f"could not be checked: {found.text}"
    return f"{found.text} ({found.other} changes it)" if found.other else found.text


def discrepancy_line(found: Discrepancy) -> str:
    """Return one line about a discrepancy."""
    about = "" if found.subject == found.id else f" ({found.subject})"
    return f"{found.type} {found.id}{about}: {verdict(found)}"


def reconciled_line(report: Reconciliation) -> str:
    """Return one line about a whole check."""
    parts = [f"checked {plural(report.checked, 'completed job')}: {report.wrong:,} wrong"]
    parts += [f"{report.changing:,} being changed"] * bool(report.changing)
    parts += [f"{report.unchecked:,} could not be checked"] * bool(report.unchecked)
    return ", ".join(parts) + ("" if report.complete else f" (of the {report.looked:,} jobs that ended last)")
