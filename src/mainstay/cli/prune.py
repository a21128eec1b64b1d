"""`prune`: removes ended jobs now: those whose retention is over, or those that a search finds; with an archive if asked for."""

from __future__ import annotations

from collections import Counter
from contextlib import closing, nullcontext
from functools import partial
from itertools import groupby
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import click

from .. import redacting
from ..core.bulk import Bulk, new_bulk
from ..core.clock import span
from ..core.errors import UsageError
from ..core.search_terms import Term
from ..core.states import CANCELLED, COMPLETED, ENDED, RUNNING
from ..query import parse
from ..stores.results import Pruned
from ..upkeep.archive import histories, open_archive
from ..upkeep.prune import ARCHIVED, Pace, prune_expired
from . import exits
from .actions import actor, confirmed
from .jobs import every_id
from .options import command, on_store
from .output import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..app import Mainstay
    from ..upkeep.archive import Archive
    from .options import Target
    from .output import Output

READ = 500  # jobs per read
COUNTED = 10_000  # jobs whose retention is over that a preview counts


class Found(NamedTuple):
    """An ended job that a search found."""

    type: str
    state: str
    finished_at: int
    id: str


@command(
    """
    mainstay prune
    mainstay prune --older 30d --dry-run
    mainstay prune 'type:mail.* state:dead' --older 90d --archive old-jobs --yes
    mainstay prune type:poll --keep-last 1000 --yes
    mainstay prune --older 30d --archive s3://bucket/jobs --yes
    """
)
@click.argument("search", nargs=-1)
@click.option("--older", metavar="DURATION", help="Only jobs that ended longer ago than this.")
@click.option("--keep-last", metavar="N", type=click.IntRange(0), help="Keep the last N of each type and state.")
@click.option("--archive", metavar="PLACE", help="First write the jobs to a folder or s3://bucket/prefix.")
@click.option("--unredacted", is_flag=True, help="Archive the jobs as they are stored, with secrets.")
@click.option("--dry-run", is_flag=True, help="Only print what would be removed.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@on_store("Print nothing but errors.")
def prune(
    target: Target, output: Output, search: tuple[str, ...], older: str | None, keep_last: int | None, archive: str | None,
    unredacted: bool, dry_run: bool, yes: bool,
) -> int:  # fmt: skip
    """Remove ended jobs and their history, a few at a time, so that workers go on.

    Without a search, --older and --keep-last: the jobs whose retention is over, as workers do by themselves. With them:
    completed and cancelled jobs that match; dead ones only if the search says state:dead. An archive that the settings name
    is used too. To stop, press Ctrl-C; the same command goes on.
    """
    where = archive or target.settings().archive
    with (
        target.open() as app,
        closing(open_archive(where, redacting.in_archives(unredacted)))
        if where and not dry_run
        else nullcontext() as place,
    ):
        if not search and older is None and keep_last is None:
            listed, (matched, removed) = "", _expired(app, output, place, dry_run)
        else:
            terms = _terms(app, " ".join(search), older)
            found = _found(app, terms, keep_last or 0)
            listed, matched, removed = _listed(found), len(found), 0
            if (
                found
                and not dry_run
                and (yes or confirmed(plural(matched, "job matches", "jobs match") + listed, "remove", matched))
            ):
                told = {
                    "search": " ".join(search) or None,
                    "older": older,
                    "keep_last": keep_last,
                    "archive": where or None,
                }
                removed = _remove(app, output, found, terms, place, Bulk(new_bulk().id, "prune", told))
    output.live()
    return _report(output, matched, removed, where, dry_run, listed)


# what retention says --------------------------------------------------------------------------------------------------
def _expired(app: Mainstay, output: Output, archive: Archive | None, dry_run: bool) -> tuple[int, int]:
    """Remove the jobs whose retention is over; return how many there were, and how many were removed."""
    if dry_run:
        return len(app.store.expired(app.clock.now(), COUNTED)), 0

    def told(removed: int) -> bool:
        output.live(f"{removed:,} removed")
        return True

    return prune_expired(app.store, app.clock, archive, actor(), told)


# what a search finds --------------------------------------------------------------------------------------------------
def _terms(app: Mainstay, search: str, older: str | None) -> list[Term]:
    """Return the terms of a search for ended jobs: without a state, for completed and cancelled ones."""
    now = app.clock.now()
    terms = parse(search, now)
    states = [str(value) for term in terms if term.field == "state" and not term.negated for value in term.values]
    alive = [state for state in states if state not in ENDED]
    if alive:
        verb = "cancel" if RUNNING in alive else "delete"
        raise UsageError(f"prune removes ended jobs, and {alive[0]} jobs have not ended", f"mainstay {verb} '{search}'")
    if not states:
        terms.append(Term("state", "=", (COMPLETED, CANCELLED)))
    if older is not None:
        terms.append(Term("finished", "<", (now - span("--older", older),)))
    return terms


def _found(app: Mainstay, terms: list[Term], keep_last: int) -> list[Found]:
    """Return the jobs that a search finds, the oldest end first, without the last of each type and state."""
    ids = every_id(app, terms)
    jobs = [job for start in range(0, len(ids), READ) for job in app.store.get_many(ids[start : start + READ])]
    found = sorted(Found(job.type, job.state, job.finished_at or 0, job.id) for job in jobs)
    groups = (list(some) for _, some in groupby(found, key=lambda each: each[:2]))
    return sorted(
        (each for some in groups for each in some[: len(some) - keep_last]), key=lambda each: each.finished_at
    )


def _listed(found: list[Found]) -> str:
    """Return how many jobs of which type and state there are: ` (2 × mail completed)`."""
    types = Counter(f"{each.type} {each.state}" for each in found)
    listed = ", ".join(f"{count:,} × {name}" for name, count in sorted(types.most_common(5))) + " …" * (len(types) > 5)
    return f" ({listed})" if listed else ""


def _remove(
    app: Mainstay, output: Output, found: list[Found], terms: list[Term], archive: Archive | None, bulk: Bulk
) -> int:
    """Remove jobs, archived before if there is an archive. One that has ended again meanwhile is left alone."""
    pace, removed = Pace(), 0
    ids = [each.id for each in found]
    for start in range(0, len(ids), ARCHIVED):
        part, now = ids[start : start + ARCHIVED], app.clock.now()
        if archive is not None:
            archive.write(histories(app.store, part), now)
        same = [*terms, Term("finished", "<=", (now,))]
        for count in pace.remove(part, partial(_delete, app, same, bulk)):
            removed += count
            output.live(f"{removed:,} of {len(ids):,} removed")
    return removed


def _delete(app: Mainstay, terms: list[Term], bulk: Bulk, ids: Sequence[str]) -> Pruned:
    begun = perf_counter()
    results = app.store.delete(ids, app.clock.now(), actor(), terms, bulk)
    return Pruned(list(results.values()).count("deleted"), (perf_counter() - begun) * 1_000)


def _report(output: Output, matched: int, removed: int, where: str, dry_run: bool, listed: str) -> int:
    """Print how many jobs were removed, or would be. Return the exit code."""
    to = f", archived to {where}" if where and removed else ""
    said = f"{plural(removed, 'job')} removed{to}"
    if dry_run:
        more = " or more" * (matched == COUNTED)
        said = f"{plural(matched, 'job')}{more} would be removed{listed}. Nothing changed."
        said += " Add --yes to remove." * bool(matched and listed)
    output.give(
        lambda: {"matched": matched, "removed": removed, "archive": where or None}, (), lambda: output.talk(said)
    )
    left = 0 if dry_run else matched - removed
    if left and removed:
        exits.say(f"{plural(left, 'job')} changed meanwhile, or was removed by others")
    return exits.OK
