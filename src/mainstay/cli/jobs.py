"""`ls` lists jobs."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from ..control import json_records
from ..core.errors import NotFound, UsageError
from ..core.suggest import did_you_mean
from ..query import GROUPS, LABELS, parse
from ..short_ids import shortened
from . import records
from .options import command, how_many, on_store
from .output import state

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..app import Mainstay
    from ..core.job import Job
    from ..core.search_terms import Page, Term
    from .options import Target
    from .output import Cell, Output

PER_PAGE = 50  # jobs
WIDE = 110  # columns of a terminal in which whole ids leave room for the rest
IDS = 5_000  # per search


@command(
    """
    mainstay ls
    mainstay ls 'state:dead error:timeout age:<1d'
    mainstay ls type:mail.* -tag:eu --fields id,type,error
    mainstay ls state:dead --json
    """
)
@click.argument("query", nargs=-1)
@how_many("--limit", PER_PAGE, "Jobs per page.")
@click.option("--after", metavar="ID", help="Continue after this job: the next page.")
@on_store("Print only the ids, one per line.")
def ls(target: Target, output: Output, query: tuple[str, ...], limit: int, after: str | None) -> None:
    """List jobs that match a search, newest first.

    All terms of a search must hold: type:mail.* state:dead,retrying args.user.id:42 error:"refused"
    age:>1h took:>30s attempt:>2 key: ref: tenant: tag: worker: parent: schedule: queue: priority: created:today finished:1h.
    A comma means or, a leading - means not. Other words are searched in ids, types and errors.

    A terminal of fewer than 110 columns shows ids as 01JQ93ZK5M…000A; commands accept them so. -q prints them whole.
    """
    records.check_fields(output.shape.fields)
    with target.reading() as app:
        programs = output.shape.machine or output.shape.quiet  # they cannot read how far a search looked
        page = app.search(" ".join(query), limit, after, exact=programs)
        jobs = app.store.get_many(page.ids)
        output.now = app.clock.now()
        known = [] if jobs else [info.name for info in app.store.types()]
    output.give(
        lambda: [json_records.of_job(job, output.now) for job in jobs], page.ids, lambda: _print_jobs(output, jobs)
    )
    paged = [] if limit == PER_PAGE else ["-n", str(limit)]
    paged += ["--fields", ",".join(output.shape.fields)] if output.shape.fields else []
    again = shlex.join(["mainstay", "ls", *(word.strip() for word in query), *paged, *target.words()])
    _print_page(output, page, query, known, again)


def _print_jobs(output: Output, jobs: list[Job]) -> None:
    if output.shape.fields:
        records.print_fields(output, jobs)
    elif jobs:
        ids = [job.id for job in jobs]
        shown = shortened(ids) if output.width < WIDE else ids
        rows = [_row(output, job, id) for job, id in zip(jobs, shown, strict=True)]
        output.table(["STATE", "ID", "TYPE", "TRY", "CREATED", "TOOK", "ABOUT"], rows, right=(3, 5), drop=(5, 3, 4))


def _row(output: Output, job: Job, id: str) -> list[Cell]:
    tries = f"{job.attempt}/{job.max_attempts}"
    took = output.spent(json_records.durations(job, output.now)["took"])
    when, about = output.when(job.created_at), json_records.about(job)
    return [state(job.label), id, (job.type, "bold"), tries, (when, "dim"), took, (about, "dim")]


def _print_page(output: Output, page: Page, query: tuple[str, ...], known: list[str], again: str) -> None:
    """Print how to get the next page, or why the page is empty. `again` is the command that was typed."""
    if not page.ids:
        output.talk(f"no job matches{_misspelt(' '.join(query), known)}" if query else "there are no jobs yet")
    for word in query:
        if word in LABELS or word in GROUPS:
            output.talk(f'"{word}" was searched as a text; to list {word} jobs: mainstay ls state:{word}')
    if page.after is None:
        return
    if page.searched and not page.ids:
        output.talk(f"searched the newest {page.searched:,} jobs; to search older ones: {again} --after {page.after}")
    else:
        output.talk(f"there are more: {again} --after {page.after}")


def misspelt(app: Mainstay, query: str) -> str:
    """Return a hint about a search that finds nothing; "" if there is none."""
    return _misspelt(query, [info.name for info in app.store.types()])


def _misspelt(query: str, known: list[str]) -> str:
    """Return a hint if the search names a type that no worker has registered, or two states for one job."""
    terms = parse(query, 0)
    states = [term for term in terms if term.field == "state" and not term.negated]
    if len(states) > 1:
        either = ",".join(dict.fromkeys(str(state) for term in states for state in term.values))
        return f"; a job is in one state: state:{either} finds those in either"
    types = [str(type) for term in terms if term.field == "type" for type in term.values]
    unknown = [type for type in types if type not in known and not type.endswith("*")]
    return "".join(f"; no type is called {type}{did_you_mean(type, known)}" for type in unknown if known)


def stored(app: Mainstay, word: str) -> Job:
    """Return the job with this id or beginning of an id, as the store returns it."""
    if ":" in word:
        raise UsageError(f"{word!r} is a search; this command takes the id of one job", f"mainstay ls {word}")
    try:
        job = app.store.get(app.resolve(word))
    except NotFound as error:
        raise NotFound(str(error), "mainstay ls") from None
    if job is None:
        raise NotFound(f"there is no job {word}", "mainstay ls")
    return job


def every_id(app: Mainstay, terms: Sequence[Term]) -> list[str]:
    """Return every id that a search finds, newest first, from all pages."""
    now = app.clock.now()
    page = app.store.search(terms, IDS, None, now)
    found = list(page.ids)
    while page.after is not None:
        page = app.store.search(terms, IDS, page.after, now)
        found += page.ids
    return found
