"""Prints records in the format asked for, and the fields of jobs as cells of tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..control import json_records
from ..core.errors import UsageError
from ..core.suggest import did_you_mean
from .output import dumped, state

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..core.job import Job
    from .output import Cell, Output


def give(
    output: Output, found: list[dict[str, Any]] | dict[str, Any], names: Sequence[str], text: Callable[[], object]
) -> None:
    """Print plain records, or one, in the format asked for: JSON, names only, the fields that `--fields` chose, or what `text` prints."""
    chosen, every = output.shape.fields, found if isinstance(found, list) else [found]
    check_fields(chosen, list(every[0]) if every else chosen)
    output.give(lambda: found, names, lambda: _print_chosen(output, every) if chosen else text())


def listed(
    output: Output, found: Sequence[Any], name: str, text: Callable[[Output, Any], object], none: str = ""
) -> None:
    """Print what a command lists: `name` is the field that `-q` prints, `text` prints it for people, `none` says that there is nothing. `text` gets no empty list."""
    give(
        output,
        json_records.plain(found),
        [getattr(each, name) for each in found],
        lambda: text(output, found) if found else None,
    )
    if not found and none:
        output.talk(none)


def _print_chosen(output: Output, found: list[dict[str, Any]]) -> None:
    names = output.shape.fields
    cells = [
        [value if isinstance(value, str) else dumped(value) for value in (each[name] for name in names)]
        for each in found
    ]
    output.table(names, cells)


def check_fields(fields: tuple[str, ...], known: Sequence[str] = json_records.FIELDS) -> None:
    """Raise `UsageError` for fields that do not exist."""
    for name in fields:
        if name not in known:
            raise UsageError(
                f"--fields: there is no field {name!r}{did_you_mean(name, known)}; there are: {', '.join(known)}"
            )


def print_fields(output: Output, jobs: Sequence[Job]) -> None:
    """Print the fields that `--fields` chose, as a table."""
    names = output.shape.fields
    output.table(names, [[_cell(output, job, name) for name in names] for job in jobs])


def _cell(output: Output, job: Job, name: str) -> Cell:
    if name in {"label", "state"}:
        return state(job.label)
    if name in {"took", "cancel_took", "timeout"}:
        return output.spent(json_records.durations(job, output.now)[name])
    if name in {"args", "details"}:
        return json_records.short(json_records.loaded(getattr(job, "payload" if name == "args" else name)) or {})
    return cell(output, name, getattr(job, name))


def cell(output: Output, name: str, value: Any) -> str:
    """Return the value of a field as text."""
    if json_records.is_instant(name):
        return output.when(value)
    return ", ".join(value) if isinstance(value, tuple) else "" if value is None else str(value)
