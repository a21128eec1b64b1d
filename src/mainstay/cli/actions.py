"""`retry`, `cancel`, `approve`, `reject` and `delete`: for jobs given by id, or for all that a search finds, after a preview."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..core import keys
from ..core.bulk import bulk_for
from ..core.errors import Conflict, NotAllowed, NotFound, UsageError
from ..query import parse
from . import exits
from .cancel_wait import WAIT, await_cancelled, complain_running, waiting_time
from .options import command, shaped, targeted
from .output import plural
from .reviews import DENIED, Who, decide, denied, output_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
    options: tuple[Callable[..., Any], ...] = ()

    @property
    def decides(self) -> bool:
        """Whether it ends a review."""
        return self.name in ("approve", "reject")


NOTE = click.option("--note", default="", help="Kept in the job's history; a handler that runs again sees it.")
ROLE = click.option(
    "--role", "roles", multiple=True, help="A role of yours, for reviews that a role decides; may be repeated."
)
COPY = click.option("--copy", is_flag=True, help="Enqueue copies of ended jobs instead, completed ones too.")
RESULT = click.option(
    "--output", "result", metavar="JSON|@FILE|-", help="Complete the job with this instead of what it proposed."
)
VERBS = (
    Verb(
        "retry", ("queued", "copied"),
        """Run dead, cancelled or waiting jobs again, now.

        They are queued at once, with all their attempts again. Give ids, or a search (see mainstay ls --help). A search
        prints what it found and needs --yes. A completed job keeps its result: --copy enqueues a new job with its
        arguments, whose parent it is. Of a job in review, this is the decision to run it again.
        """,
        ("01JQ93", "01JQ93 --copy", '01JQ93 --note "use the other account"', "'state:dead error:ReadTimeout' --dry-run", "'state:dead error:ReadTimeout' --yes"),
        (COPY, NOTE, ROLE),
    ),
    Verb(
        "cancel", ("cancelled", "cancelling"),
        """Cancel waiting jobs and ask running ones to stop.

        A running job stops at its next safe point and ends as cancelled. --wait returns when it has.
        """,
        ("01JQ93", "01JQ93 --wait --timeout 30s", "'type:newsletter state:waiting' --dry-run", "'type:newsletter state:waiting' --yes"),
        (WAIT,),
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

        The output that the job proposed becomes its result, or the one that you give. mainstay edit ID opens it in your editor. If
        the review names deciders, you have to be one of them: see --actor and --role. The audit log says that nobody has checked it.
        """,
        ('01JQ93 --note "checked by hand"', "01JQ93 --output '{\"pay\": 12}'", "'state:review type:invoice' --yes"), (NOTE, ROLE, RESULT),
    ),
    Verb(
        "reject", ("rejected",),
        """End jobs in review as dead.

        mainstay retry runs one again. If the review names deciders, you have to be one of them.
        """,
        ('01JQ93 --note "wrong customer"', "'state:review age:>7d' --yes"), (NOTE, ROLE),
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
    click.option("--actor", "by", default="", help="Who; default: the user of this terminal."),
    click.argument("jobs", nargs=-1, metavar="[ID… | SEARCH…]"),
)


def _command(verb: Verb) -> click.Command:
    def run(**given: Any) -> int:
        return act(verb, **given)

    run.__name__, run.__doc__ = verb.name, verb.help
    made: Callable[..., Any] = run
    which = "All jobs in review." if verb.decides else "All jobs."
    for option in (*OPTIONS, click.option("--all", "everything", is_flag=True, help=which), *verb.options):
        made = option(made)
    return command("\n".join(f"mainstay {verb.name} {example}" for example in verb.examples))(made)


retry, cancel, delete, approve, reject = map(_command, VERBS)


def act(
    verb: Verb, target: Target, output: Output, jobs: tuple[str, ...], everything: bool, dry_run: bool, yes: bool, by: str = "",
    note: str = "", copy: bool = False, roles: tuple[str, ...] = (), result: str | None = None, wait: bool = False, timeout: str | None = None,
) -> int:  # fmt: skip
    """Do an action to the jobs given by id or found by a search, which is confirmed first. Return the exit code."""
    if bool(jobs) == everything:
        name = f"mainstay {verb.name}"
        raise UsageError(
            "--all takes no search" if jobs else "which jobs?", f"{name} ID, {name} 'state:…' or {name} --all"
        )
    patience = waiting_time(wait, timeout)
    with opened(target, code=result is not None) as app:
        by_id = bool(jobs) and not any(":" in word for word in jobs)
        words = "state:review" if everything and verb.decides else " ".join(jobs)
        terms = [] if by_id else parse(words, app.clock.now())
        ids = [_resolved(app, word) for word in jobs] if by_id else every_id(app, terms)
        if (dry_run or not (by_id or yes)) and not _preview(app, output, "copy" if copy else verb.name, ids, dry_run):
            return exits.OK
        who = Who(by or actor(), roles)
        if verb.decides:
            edited = output_of(app, ids, result)
            results = _in_parts(
                output,
                ids,
                lambda part, bulk: decide(app, part, verb.name == "approve", who, note, terms, bulk, edited),
            )
        else:
            results = _in_parts(output, ids, lambda part, bulk: _done(app, verb, part, terms, bulk, who, note, copy))
        if wait:
            results = await_cancelled(app, output, results, patience)
    if wait and complain_running(results):
        _report(output, verb, results, by_id)
        return exits.TIMEOUT
    return _report(output, verb, results, by_id)


@contextmanager
def opened(target: Target, code: bool) -> Iterator[Mainstay]:
    """Open the store; with `code`, as the application that is named, which knows the types of its handlers."""
    if code and target.wants_code():
        with closing(target.application()) as app:
            yield app
    else:
        with target.open() as app:
            yield app


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


def _in_parts(output: Output, ids: list[str], act: Callable[[list[str], str | None], dict[str, str]]) -> dict[str, str]:
    """Do it, a transaction per chunk, as one bulk action."""
    results: dict[str, str] = {}
    bulk = bulk_for(ids, None)
    for part in _parts(ids, CHUNK):
        results |= act(part, bulk)
        if len(ids) > CHUNK:
            output.live(f"{len(results):,} of {len(ids):,}")
    output.live()
    return results


def _done(
    app: Mainstay, verb: Verb, part: list[str], terms: list[Term], bulk: str | None, who: Who, note: str, copy: bool
) -> dict[str, str]:
    """Act on some jobs. Those that no longer match the search by then are left alone."""
    if copy:
        return {job_id: _copied(app, job_id) for job_id in part}
    act, now = getattr(app.store, verb.name), app.clock.now()
    if verb.name != "retry":
        return _cancelling(app, act(part, now, who.actor, terms, bulk))
    refused = {} if terms else {job.id: why for job in app.store.get_many(part) if (why := denied(job, who))}
    allowed = [job_id for job_id in part if job_id not in refused]
    return refused | _cancelling(app, act(allowed, now, who.actor, terms, bulk, note, declared=True))


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
    _complain(verb, refused)
    if changed:
        return exits.PARTIAL
    if all(result.startswith(DENIED) for result in results.values()):
        return exits.code(NotAllowed())
    return exits.code(NotFound() if set(results.values()) == {"missing"} else Conflict())


def _why(verb: Verb, result: str) -> str:
    """Return why a job was not changed."""
    if result.startswith(DENIED):
        return result.removeprefix(DENIED)
    if verb.decides and result not in {"missing", "unmatched"}:
        return f"it is {result}, not in review"
    return keys.explained(result) if result.startswith(keys.DUPLICATE) else REFUSED.get(result, f"it is {result}")


def _complain(verb: Verb, refused: dict[str, str]) -> None:
    if len(refused) == 1:
        ((job_id, why),) = refused.items()
        attempt = {REFUSED["missing"]: "ls", REFUSED["completed"]: f"retry {job_id} --copy"}.get(why, f"show {job_id}")
        if "may not decide" in why:
            attempt = f"{verb.name} {job_id} --actor NAME   (or --role ROLE)"
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
