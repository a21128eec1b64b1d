"""`retry`, `cancel`, `approve`, `reject` and `delete`: for jobs given by id, or for all that a search finds, after a preview."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..core import keys
from ..core.bulk import bulk_for
from ..core.errors import Conflict, NotFound, UsageError
from ..query import parse
from . import exits
from .cancel_wait import WAIT, await_cancelled, complain_running, waiting_time
from .options import command, shaped, targeted
from .output import plural

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..app import Mainstay
    from ..core.search_terms import Term
    from .options import Target
    from .output import Output

SHOWN = 5  # types of which a preview says how many jobs match
PAGE, CHUNK = 5_000, 200  # ids per search; jobs per transaction, so that other writers get a turn in between


class Verb(NamedTuple):
    """One action: its name, the results that mean it was done, its help, examples of its arguments, its own option."""

    name: str
    done: tuple[str, ...]
    help: str
    examples: tuple[str, ...]
    option: Callable[..., Any] = lambda command: command


NOTE = click.option("--note", default="", help="Kept in the job's history.")
COPY = click.option("--copy", is_flag=True, help="Enqueue copies of ended jobs instead, completed ones too.")
VERBS = (
    Verb(
        "retry", ("queued", "copied"),
        """Run dead, cancelled or waiting jobs again, now.

        They are queued at once, with all their attempts again. Give ids, or a search (see mainstay ls --help). A search
        prints what it found and needs --yes. A completed job keeps its result: --copy enqueues a new job with its
        arguments, whose parent it is.
        """,
        ("01JQ93", "01JQ93 --copy", "'state:dead error:ReadTimeout' --dry-run", "'state:dead error:ReadTimeout' --yes"),
        COPY,
    ),
    Verb(
        "cancel", ("cancelled", "cancelling"),
        """Cancel waiting jobs and ask running ones to stop.

        A running job stops at its next safe point and ends as cancelled. --wait returns when it has.
        """,
        ("01JQ93", "01JQ93 --wait --timeout 30s", "'type:newsletter state:waiting' --dry-run", "'type:newsletter state:waiting' --yes"),
        WAIT,
    ),
    Verb(
        "delete", ("deleted",),
        """Remove jobs and their history.

        A running job is not removed: cancel it first. The audit log keeps one line for the command.
        """,
        ("01JQ93", "'state:ended age:>30d' --dry-run", "'state:ended age:>30d' --yes"),
    ),
    Verb(
        "approve", ("approved",),
        """Complete jobs in review.

        The output that the job proposed becomes its result.
        """,
        ('01JQ93 --note "checked by hand"', "'state:review type:invoice' --yes"), NOTE,
    ),
    Verb(
        "reject", ("rejected",),
        """End jobs in review as dead.

        mainstay retry runs one again.
        """,
        ('01JQ93 --note "wrong customer"', "'state:review age:>7d' --yes"), NOTE,
    ),
)  # fmt: skip
REFUSED = {
    "missing": "there is no such job",
    "ended": "it has ended",
    "running": "it is running; cancel it first",
    "cancelling": "it is being cancelled; it ends when its handler does, or its worker",
    "queued": "it is queued already",
    "completed": "it completed; --copy does the work again, as a new job",
    "alive": "it has not ended; without --copy, a waiting job runs now",
    "unmatched": "it no longer matches the search",
}
OPTIONS = (
    targeted,
    shaped("Print only the ids of the jobs that were changed."),
    click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation."),
    click.option("--dry-run", is_flag=True, help="Only print what would be done."),
    click.argument("jobs", nargs=-1, metavar="[ID… | SEARCH…]"),
)


def _command(verb: Verb) -> click.Command:
    def run(**given: Any) -> int:
        return act(verb, **given)

    run.__name__, run.__doc__ = verb.name, verb.help
    made: Callable[..., Any] = run
    which = "All jobs in review." if verb.option is NOTE else "All jobs."
    for option in (*OPTIONS, click.option("--all", "everything", is_flag=True, help=which), verb.option):
        made = option(made)
    return command("\n".join(f"mainstay {verb.name} {example}" for example in verb.examples))(made)


retry, cancel, delete, approve, reject = map(_command, VERBS)


def act(
    verb: Verb, target: Target, output: Output, jobs: tuple[str, ...], everything: bool, dry_run: bool, yes: bool,
    note: str = "", copy: bool = False, wait: bool = False, timeout: str | None = None,
) -> int:  # fmt: skip
    """Do an action to the jobs given by id or found by a search, which is confirmed first. Return the exit code."""
    if bool(jobs) == everything:
        name = f"mainstay {verb.name}"
        raise UsageError(
            "--all takes no search" if jobs else "which jobs?", f"{name} ID, {name} 'state:…' or {name} --all"
        )
    patience = waiting_time(wait, timeout)
    with target.open() as app:
        by_id = bool(jobs) and not any(":" in word for word in jobs)
        words = "state:review" if everything and verb.option is NOTE else " ".join(jobs)
        terms = [] if by_id else parse(words, app.clock.now())
        ids = [_resolved(app, word) for word in jobs] if by_id else every_id(app, terms)
        if (dry_run or not (by_id or yes)) and not _preview(app, output, "copy" if copy else verb.name, ids, dry_run):
            return exits.OK
        results = _done(app, output, verb, ids, terms, note, copy)
        if wait:
            results = await_cancelled(app, output, results, patience)
    if wait and complain_running(results):
        _report(output, verb, results, by_id)
        return exits.TIMEOUT
    return _report(output, verb, results, by_id)


def _resolved(app: Mainstay, word: str) -> str:
    try:
        return app.resolve(word)
    except NotFound as error:
        parse(word, 0)  # explains a search that is written wrongly, such as state=dead
        raise NotFound(f"{error}; to search for the word: text:{word}") from None


def every_id(app: Mainstay, terms: list[Term]) -> list[str]:
    """Return every id that the search finds, from all pages: nothing is changed before."""
    now = app.clock.now()
    page = app.store.search(terms, PAGE, None, now)
    found = list(page.ids)
    while page.after is not None:
        page = app.store.search(terms, PAGE, page.after, now)
        found += page.ids
    return found


def _preview(app: Mainstay, output: Output, verb: str, ids: list[str], dry_run: bool) -> bool:
    """Print what would be done and, on a terminal, ask. Return whether to continue."""
    types = Counter(job.type for part in _parts(ids, PAGE) for job in app.store.get_many(part))
    listed = ", ".join(f"{type} {count:,}" for type, count in types.most_common(SHOWN))
    if len(types) > SHOWN:
        rest = types.total() - sum(count for _, count in types.most_common(SHOWN))
        listed += f", and {rest:,} of {plural(len(types) - SHOWN, 'more type')}"
    matched = plural(len(ids), "job matches", "jobs match") + (f" ({listed})" if listed else "")
    if dry_run or not ids:
        if output.shape.machine:
            output.data({"matched": len(ids), "types": dict(types), "changed": 0})
        else:
            exits.say(f"{matched}. Nothing changed." + (f" Add --yes to {verb}." if ids else ""))
        return False
    if not sys.stdin.isatty():
        raise UsageError(
            f"{matched}; confirm with --yes", "the same command with --yes, or with --dry-run to see what it would do"
        )
    return click.confirm(f"{matched}. {verb.capitalize()} {'it' if len(ids) == 1 else 'them'}?", err=True)


def _done(
    app: Mainstay, output: Output, verb: Verb, ids: list[str], terms: list[Term], note: str, copy: bool
) -> dict[str, str]:  # fmt: skip
    """Do it, a transaction per chunk. Jobs that no longer match the search by then are left alone."""
    results: dict[str, str] = {}
    bulk = bulk_for(ids, None)
    for part in _parts(ids, CHUNK):
        now, by = app.clock.now(), actor()
        if copy:
            results |= {job_id: _copied(app, job_id) for job_id in part}
        elif verb.option is NOTE:
            approve = verb.name == "approve"
            results |= {
                job_id: app.store.resolve_review(job_id, approve, now, by, note, terms, bulk) for job_id in part
            }
        else:
            results |= _cancelling(app, getattr(app.store, verb.name)(part, now, by, terms, bulk))
        if len(ids) > CHUNK:
            output.live(f"{len(results):,} of {len(ids):,}")
    output.live()
    return results


def _cancelling(app: Mainstay, results: dict[str, str]) -> dict[str, str]:
    """Return the results; of jobs that run, those that are being cancelled say so."""
    running = [job_id for job_id, result in results.items() if result == "running"]
    return results | {job.id: job.label for job in app.store.get_many(running) if job.label == "cancelling"}


def _copied(app: Mainstay, job_id: str) -> str:
    try:
        return f"copied as {app.rerun(job_id).id}"
    except NotFound:
        return "missing"
    except Conflict:
        return "alive"


def _parts(ids: list[str], size: int) -> list[list[str]]:
    return [ids[start : start + size] for start in range(0, len(ids), size)]


def _report(output: Output, verb: Verb, results: dict[str, str], by_id: bool) -> int:
    """Print the result for each job given by id, or totals for a search. Return the exit code."""
    changed = {job_id: result for job_id, result in results.items() if result.split()[0] in verb.done}
    refused = {job: _why(verb, result) for job, result in results.items() if job not in changed}
    counted = Counter(result.split()[0] for result in changed.values())
    total = ", ".join(f"{plural(count, 'job')} {result}" for result, count in counted.items()) or "nothing changed"
    output.give(
        lambda: {"matched": len(results), "changed": len(changed), "jobs": results}, changed,
        lambda: output.lines(map(" ".join, changed.items())) if by_id else output.talk(total),
    )  # fmt: skip
    if not refused:
        return exits.OK
    _complain(refused)
    if changed:
        return exits.PARTIAL
    return exits.code(NotFound() if set(results.values()) == {"missing"} else Conflict())


def _why(verb: Verb, result: str) -> str:
    """Return why a job was not changed."""
    if verb.option is NOTE and result not in {"missing", "unmatched"}:
        return f"it is {result}, not in review"
    return keys.explained(result) if result.startswith(keys.DUPLICATE) else REFUSED.get(result, f"it is {result}")


def _complain(refused: dict[str, str]) -> None:
    if len(refused) == 1:
        ((job_id, why),) = refused.items()
        attempt = {REFUSED["missing"]: "ls", REFUSED["completed"]: f"retry {job_id} --copy"}.get(why, f"show {job_id}")
        exits.complain(f"job {job_id} was not changed: {why}", f"mainstay {attempt}")
    else:
        reasons = ", ".join(f"{number:,} × {why}" for why, number in Counter(refused.values()).items())
        exits.complain(f"{len(refused):,} jobs were not changed: {reasons}")


def actor() -> str:
    """Return who acts, for the audit log: the user of this terminal."""
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container without a user database
        return "cli"
