"""`retry`, `cancel`, `approve`, `reject` and `delete`: for jobs given by id, or for all that a search finds, after a preview."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..core.errors import Conflict, NotFound
from ..query import parse
from . import exits
from .options import command, shaped, targeted
from .output import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..app import Mainstay
    from ..core.search_terms import Term
    from .output import Output
    from .target import Target

PAGE, CHUNK = 5_000, 200  # ids per search; jobs per transaction, so that other writers get a turn in between


class Verb(NamedTuple):
    """One action: its name, the results that mean it was done, and the function that does it."""

    name: str
    done: tuple[str, ...]
    do: Callable[[Mainstay, Sequence[str], Sequence[Term], str], dict[str, str]]


def _by_name(verb: str) -> Callable[[Mainstay, Sequence[str], Sequence[Term], str], dict[str, str]]:
    return lambda app, ids, terms, _: getattr(app.store, verb)(ids, app.clock.now(), actor(), terms)


RETRY = Verb("retry", ("queued",), _by_name("retry"))
CANCEL = Verb("cancel", ("cancelled", "cancelling"), _by_name("cancel"))
DELETE = Verb("delete", ("deleted",), _by_name("delete"))
APPROVE = Verb("approve", ("approved",), lambda *given: _resolve(True, *given))
REJECT = Verb("reject", ("rejected",), lambda *given: _resolve(False, *given))
REFUSED = {
    "missing": "there is no such job",
    "ended": "it has ended",
    "running": "it is running; cancel it first",
    "queued": "it is queued already",
    "completed": "it completed; enqueue a new one to do the work again",
    "unmatched": "it no longer matches the search",
    "duplicate": "another job holds its key; wait for that one, or cancel it",
}


def _resolve(approve: bool, app: Mainstay, ids: Sequence[str], terms: Sequence[Term], note: str) -> dict[str, str]:
    now, by = app.clock.now(), actor()
    return {job_id: app.store.resolve_review(job_id, approve, now, by, note, terms) for job_id in ids}


def acting(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the arguments and options of every action."""
    for option in (
        targeted,
        shaped,
        click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation."),
        click.option("--dry-run", is_flag=True, help="Only print what would be done."),
        click.option("--all", "everything", is_flag=True, help="All jobs."),
        click.argument("jobs", nargs=-1, metavar="[ID… | SEARCH…]"),
    ):
        function = option(function)
    return function


noted = click.option("--note", default="", help="Kept in the job's history.")


@command(
    """
    mainstay retry 01JQ93
    mainstay retry 'state:dead error:ReadTimeout' --dry-run
    mainstay retry 'state:dead error:ReadTimeout' --yes
    """
)
@acting
def retry(**given: Any) -> int:
    """Run dead, cancelled or waiting jobs again, now.

    They are queued at once, with all their attempts again. Give ids, or a search (see mainstay ls --help). A search
    prints what it found and needs --yes.
    """
    return act(RETRY, **given)


@command(
    """
    mainstay cancel 01JQ93
    mainstay cancel 'type:newsletter state:waiting' --dry-run
    mainstay cancel 'type:newsletter state:waiting' --yes
    """
)
@acting
def cancel(**given: Any) -> int:
    """Cancel waiting jobs and ask running ones to stop.

    A running job stops at its next safe point and ends as cancelled.
    """
    return act(CANCEL, **given)


@command(
    """
    mainstay delete 01JQ93
    mainstay delete 'state:ended age:>30d' --dry-run
    mainstay delete 'state:ended age:>30d' --yes
    """
)
@acting
def delete(**given: Any) -> int:
    """Remove jobs and their history.

    A running job is not removed: cancel it first. The audit log keeps one line for each job.
    """
    return act(DELETE, **given)


@command(
    """
    mainstay approve 01JQ93 --note "checked by hand"
    mainstay approve 'state:review type:invoice' --yes
    """
)
@noted
@acting
def approve(note: str, **given: Any) -> int:
    """Complete jobs in review.

    The output that the job proposed becomes its result.
    """
    return act(APPROVE, note=note, **given)


@command(
    """
    mainstay reject 01JQ93 --note "wrong customer"
    mainstay reject 'state:review age:>7d' --yes
    """
)
@noted
@acting
def reject(note: str, **given: Any) -> int:
    """End jobs in review as dead.

    mainstay retry runs one again.
    """
    return act(REJECT, note=note, **given)


# How it is done ---------------------------------------------------------------------------------------------------------


def act(
    verb: Verb, target: Target, output: Output, jobs: tuple[str, ...], everything: bool, dry_run: bool, yes: bool,
    note: str = "",
) -> int:  # fmt: skip
    """Do an action to the jobs given by id or found by a search, which is confirmed first. Return the exit code."""
    if bool(jobs) == everything:
        problem = "--all takes no search" if jobs else "which jobs?"
        raise exits.Hint(
            problem, f"mainstay {verb.name} ID, mainstay {verb.name} 'state:…' or mainstay {verb.name} --all"
        )
    with target.open() as app:
        by_id = bool(jobs) and not any(":" in word for word in jobs)
        terms = [] if by_id else parse(" ".join(jobs), app.clock.now())
        ids = [_resolved(app, word) for word in jobs] if by_id else _found(app, terms)
        if dry_run or (not by_id and not yes):
            go_on = _preview(app, output, verb, ids, dry_run)
            if not go_on:
                return exits.OK
        results = _done(app, verb, ids, terms, note)
    return _report(output, verb, results, by_id)


def _resolved(app: Mainstay, word: str) -> str:
    try:
        return app.resolve(word)
    except NotFound as error:
        raise NotFound(f"{error}; to search for the word: text:{word}") from None


def _found(app: Mainstay, terms: Sequence[Term]) -> list[str]:
    """Return every id that the search finds, from all pages: nothing is changed before."""
    found: list[str] = []
    after = None
    while True:
        page = app.store.search(terms, PAGE, after, app.clock.now())
        found += page.ids
        after = page.after
        if after is None:
            return found


def _preview(app: Mainstay, output: Output, verb: Verb, ids: list[str], dry_run: bool) -> bool:
    """Print what would be done and, on a terminal, ask. Return whether to continue."""
    types = Counter(
        job.type for start in range(0, len(ids), PAGE) for job in app.store.get_many(ids[start : start + PAGE])
    )
    listed = ", ".join(f"{type} {count:,}" for type, count in types.most_common(5))
    matched = f"{plural(len(ids), 'job')} {'matches' if len(ids) == 1 else 'match'}" + (
        f" ({listed})" if listed else ""
    )
    if dry_run or not ids:
        if output.shape.machine:
            output.record({"matched": len(ids), "types": dict(types), "changed": 0})
        else:
            exits.say(f"{matched}. Nothing changed." + (f" Add --yes to {verb.name}." if ids and dry_run else ""))
        return False
    if not sys.stdin.isatty():
        raise exits.Hint(
            f"{matched}; confirm with --yes", "the same command with --yes, or with --dry-run to see what it would do"
        )
    return click.confirm(f"{matched}. {verb.name.capitalize()} them?", err=True)


def _done(app: Mainstay, verb: Verb, ids: list[str], terms: Sequence[Term], note: str) -> dict[str, str]:
    """Do it, a transaction per chunk. Jobs that no longer match the search by then are left alone."""
    results: dict[str, str] = {}
    for start in range(0, len(ids), CHUNK):
        results |= verb.do(app, ids[start : start + CHUNK], terms, note)
        if len(ids) > 10 * CHUNK and sys.stderr.isatty():
            sys.stderr.write(f"\r{len(results):,} of {len(ids):,}{chr(10) if len(results) == len(ids) else ''}")
    return results


def _report(output: Output, verb: Verb, results: dict[str, str], by_id: bool) -> int:
    """Print the result for each job given by id, or totals for a search. Return the exit code."""
    changed = [job_id for job_id, result in results.items() if result in verb.done]
    refused = {job_id: result for job_id, result in results.items() if result not in verb.done}
    if output.shape.machine:
        output.record({"matched": len(results), "changed": len(changed), "jobs": results})
    elif output.shape.quiet:
        output.lines(changed)
    elif by_id:
        output.lines(f"{job_id} {results[job_id]}" for job_id in changed)
    else:
        counted = Counter(results[job_id] for job_id in changed)
        output.talk(
            ", ".join(f"{plural(count, 'job')} {result}" for result, count in counted.items()) or "nothing changed"
        )
    return _refusals(verb, changed, refused)


def _refusals(verb: Verb, changed: list[str], refused: dict[str, str]) -> int:
    if not refused:
        return exits.OK
    if len(refused) == 1:
        ((job_id, result),) = refused.items()
        exits.complain(
            f"job {job_id} was not changed: {_why(result)}",
            f"mainstay show {job_id}" if result != "missing" else "mainstay ls",
        )
    else:
        reasons = Counter(_why(result) for result in refused.values())
        exits.complain(
            f"{len(refused):,} jobs were not changed: " + ", ".join(f"{n:,} × {why}" for why, n in reasons.items())
        )
    if changed:
        return exits.PARTIAL
    return exits.code(NotFound() if set(refused.values()) == {"missing"} else Conflict())


def _why(result: str) -> str:
    return REFUSED.get(result, f"it is {result}")


def actor() -> str:
    """Return who acts, for the audit log: the user of this terminal."""
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container without a user database
        return "cli"
