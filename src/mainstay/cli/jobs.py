"""`ls` lists jobs; `logs` prints the log of one job."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from ..core.clock import iso
from ..core.states import ENDED
from ..core.suggest import did_you_mean
from ..query import parse
from . import records
from .options import command, shaped, targeted

if TYPE_CHECKING:
    from ..app import Mainstay
    from ..core.job import Job, LogLine
    from ..core.search_terms import Page
    from .output import Cell, Output
    from .target import Target

POLL = 0.25  # seconds between two reads of `logs --follow`
LEVELS = {"debug": "dim", "info": "", "warning": "warn", "error": "bad", "critical": "bad"}


@command(
    """
    mainstay ls
    mainstay ls 'state:dead error:timeout age:<1d'
    mainstay ls type:mail.* -tag:eu --fields id,type,error
    mainstay ls state:dead --json
    """
)
@click.argument("query", nargs=-1)
@click.option("-n", "--limit", default=50, show_default=True, type=click.IntRange(1, 100_000), help="Jobs per page.")
@click.option("--after", metavar="ID", help="Continue after this job: the next page.")
@shaped
@targeted
def ls(target: Target, output: Output, query: tuple[str, ...], limit: int, after: str | None) -> None:
    """List jobs that match a search, newest first.

    All terms of a search must hold: type:mail.* state:dead,retrying args.user.id:42 error:"refused"
    age:>1h took:>30s attempt:>2 key: ref: tenant: tag: worker: parent: queue: priority: created:today finished:1h.
    A comma means or, a leading - means not. Other words are searched in ids, types and errors.
    """
    records.check_fields(output.shape.fields)
    with target.open() as app:
        programs = output.shape.machine or output.shape.quiet  # they cannot read how far a search looked
        page = app.search(" ".join(query), limit, after, exact=programs)
        jobs = app.store.get_many(page.ids)
        output.now = app.clock.now()
        known = [] if jobs else [info.name for info in app.store.types()]
    _print_jobs(output, jobs)
    _print_page(output, page, query, known)


def _print_jobs(output: Output, jobs: list[Job]) -> None:
    found = [(job, records.of_job(job, output.now)) for job in jobs]
    if output.shape.machine:
        output.records([record for _, record in found])
    elif output.shape.quiet:
        output.lines(job.id for job in jobs)
    elif output.shape.fields:
        names = output.shape.fields
        output.table(names, [[records.cell(output, record, job, name) for name in names] for job, record in found])
    elif jobs:
        rows = [_row(output, job) for job in jobs]
        output.table(["STATE", "ID", "TYPE", "TRY", "CREATED", "TOOK", "ABOUT"], rows, right=(3, 5))


def _row(output: Output, job: Job) -> list[Cell]:
    tries = f"{job.attempt}/{job.max_attempts}"
    took = output.spent(records.took(job, output.now))
    when, about = output.when(job.created_at), records.about(job)
    return [output.state(job.label), job.id, (job.type, "bold"), tries, (when, "dim"), took, (about, "dim")]


def _print_page(output: Output, page: Page, query: tuple[str, ...], known: list[str]) -> None:
    """Print how to get the next page, or why the page is empty."""
    if not page.ids:
        output.talk(f"no job matches{_misspelt(' '.join(query), known)}" if query else "there are no jobs yet")
    if page.after is None:
        return
    if page.searched and not page.ids:
        output.talk(f"searched the newest {page.searched:,} jobs; to search older ones: --after {page.after}")
    else:
        output.talk(f"there are more: --after {page.after}")


def _misspelt(query: str, known: list[str]) -> str:
    """Return a hint if the search names a type that no worker has registered."""
    types = [str(type) for term in parse(query, 0) if term.field == "type" for type in term.values]
    unknown = [type for type in types if type not in known and not type.endswith("*")]
    return "".join(f"; no type is called {type}{did_you_mean(type, known)}" for type in unknown if known)


@command(
    """
    mainstay logs 01JQ93
    mainstay logs 01JQ93 --follow
    mainstay logs 01JQ93 --jsonl
    """
)
@click.argument("job")
@click.option("-f", "--follow", is_flag=True, help="Keep printing new lines until the job has ended.")
@shaped
@targeted
def logs(target: Target, output: Output, job: str, follow: bool) -> None:
    """Show what a job has logged.

    The beginning of the id is enough. Lines of earlier attempts come first.
    """
    with target.open() as app:
        job_id = app.get(job).id
        seen = _print_lines(app, output, job_id, 0)
        while follow and app.get(job_id).state not in ENDED:
            time.sleep(POLL)
            seen += _print_lines(app, output, job_id, seen)
        seen += _print_lines(app, output, job_id, seen) if follow else 0
    if not seen:
        output.talk(f"job {job_id} has logged nothing")


def _print_lines(app: Mainstay, output: Output, job_id: str, after: int) -> int:
    """Print the lines after the first `after` ones. Return how many were printed."""
    lines = app.store.logs(job_id, after, 10_000)
    if output.shape.machine:
        if lines or (output.shape.json and not after):  # no lines: print one empty array
            output.records([records.of_line(line) for line in lines])
    else:
        output.lines(log_line(output, line) for line in lines)
    return len(lines)


def log_line(output: Output, line: LogLine) -> str:
    """Return a line such as `09:41:03 info  read  sent 3 chunks  page=4`."""
    from .exits import printable

    at = clock_time(line.at) if output.tty else iso(line.at)
    fields = "  ".join(f"{name}={_plain(value)}" for name, value in line.fields.items())
    stage = f"{output.paint(line.stage, 'running')}  " if line.stage else ""
    style = LEVELS.get(line.level, "")
    level = output.paint(f"{line.level:7}", style) if style else f"{line.level:7}"
    tail = f"  {output.paint(printable(fields), 'dim')}" if fields else ""
    return f"{output.paint(at, 'dim')} {level} {stage}{printable(line.message)}{tail}"


def _plain(value: Any) -> str:
    import json

    return value if isinstance(value, str) and value.isprintable() and " " not in value else json.dumps(value)


def clock_time(at: int) -> str:
    """Return the local time of day, to the second."""
    return time.strftime("%H:%M:%S", time.localtime(at / 1000))
