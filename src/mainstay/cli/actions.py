"""What operators do to jobs, given by id or found by a search, which is counted and confirmed first: `retry`, `cancel`, `delete`, …"""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..control.bulk_run import VERBS
from ..control.reviews import DENIED
from ..core import keys
from ..core.errors import Conflict, NotAllowed, NotFound, UsageError
from ..query import parse
from . import exits
from .cancel_wait import RUNNING, WAIT, await_cancelled, complain_running, waiting_time
from .enqueue_args import duration, options, value
from .jobs import misspelt
from .options import command, shaped, targeted
from .output import plural
from .progress import Watch
from .reviews import output_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..app import Mainstay
    from ..control.bulk import Bulk
    from ..control.bulk_run import Report
    from .options import Target
    from .output import Output

SHOWN = 5  # types of which a preview says how many jobs match


class Command(NamedTuple):
    """One command: its name, its help, examples of its arguments, its own options, and what it does with their values."""

    name: str
    help: str
    examples: tuple[str, ...]
    act: Callable[..., Report]
    options: tuple[Callable[..., Any], ...] = ()

    @property
    def of_reviews(self) -> bool:
        return self.name in ("approve", "reject")

    def verb(self, copy: bool = False, **_given: Any) -> str:
        """Return the name of what it does (`control.bulk_run.VERBS`)."""
        return "copy" if copy else self.name


ACTOR = click.option("--actor", "by", default="", help="Who; default: the user of this terminal.")
NOTE = click.option("--note", default="", help="Kept in the job's history; a handler that runs again sees it.")
ROLE = click.option(
    "--role", "roles", multiple=True, help="A role of yours, for reviews that a role decides; may be repeated."
)
RESULT = click.option(
    "--output", "result", metavar="JSON|@FILE|-", help="Complete the job with this instead of what it proposed."
)
COPY = click.option("--copy", is_flag=True, help="Enqueue copies of ended jobs instead, completed ones too.")
STAGGER = click.option("--stagger", metavar="DURATION", help="Spread them evenly over this time, the oldest first.")
FORCE = click.option("--force", is_flag=True, help="Also to a queue that no type and no worker uses.")
TO_QUEUE = click.option("--to", "queue", required=True, metavar="QUEUE", help="The other queue.")
TO_PRIORITY = click.option(
    "--to",
    "priority",
    required=True,
    type=click.IntRange(-1000, 1000),
    metavar="N",
    help="From -1000 to 1000; higher runs first.",
)
TIMES = (
    click.option("--now", "at_once", is_flag=True, help="Let them run now."),
    click.option("--at", metavar="TIME", help="Let them run at this instant: 2026-01-31T09:30."),
    click.option("--in", metavar="DURATION", help="Let them run after this time: 90s, 5m, 2h."),
)
FIELDS = (
    click.option("--unset", "remove", multiple=True, metavar="FIELD", help="Remove a field. May be repeated."),
    click.option("--set", "given", multiple=True, metavar="FIELD=VALUE", help="Set a field: to=a@b.c, size.width=80. May be repeated."),
)  # fmt: skip


# what each command does -----------------------------------------------------------------------------------------------
def _retry(bulk: Bulk, how: dict[str, Any], stagger: str | None, copy: bool, **decision: Any) -> Report:
    if copy and stagger:
        raise UsageError("--copy and --stagger exclude each other: copies start at once")
    if copy:
        return bulk.copy(**how)
    spread = None if stagger is None else duration("--stagger", stagger)
    return bulk.retry(stagger=spread, **decision, **how)


def _reschedule(bulk: Bulk, how: dict[str, Any], at_once: bool, **times: str | None) -> Report:
    given = options({name: text for name, text in times.items() if text is not None})
    if at_once + len(given) != 1:
        raise UsageError("when? give one of --in, --at and --now", "mainstay reschedule 'type:report' --in 2h")
    return bulk.reschedule(**({"delay": 0} if at_once else given), **how)


def _amend(bulk: Bulk, how: dict[str, Any], given: tuple[str, ...], remove: tuple[str, ...]) -> Report:
    pairs = [word.partition("=") for word in given]
    if not given and not remove:
        raise UsageError(
            "what is to change? give --set FIELD=VALUE or --unset FIELD", "mainstay amend 01JQ93 --set width=80"
        )
    if any(not name or not equals for name, equals, _ in pairs):
        raise UsageError("a field is set by --set FIELD=VALUE", "mainstay amend 01JQ93 --set width=80")
    return bulk.amend({name: value(text) for name, _, text in pairs}, remove=remove, **how)


COMMANDS = (
    Command(
        "retry",
        """Run dead, cancelled or waiting jobs again, now.

        They are queued at once, with all their attempts again; --stagger spreads them over a time. Give ids, or a search (see
        mainstay ls --help). A search prints what it found and needs --yes. A completed job keeps its result: --copy
        enqueues a new job with its arguments, whose parent it is. Of a job in review, this is the decision to run it again.
        """,
        ("01JQ93", "01JQ93 --copy", '01JQ93 --note "use the other account"', "'state:dead error:ReadTimeout' --dry-run", "'state:dead error:ReadTimeout' --stagger 10m --yes"),
        _retry, (COPY, STAGGER, NOTE, ROLE),
    ),
    Command(
        "cancel",
        """Cancel waiting jobs and ask running ones to stop.

        A running job stops at its next safe point and ends as cancelled. --wait returns when it has.
        """,
        ("01JQ93", "01JQ93 --wait --timeout 30s", "'type:newsletter state:waiting' --dry-run", "'type:newsletter state:waiting' --yes"),
        lambda bulk, how: bulk.cancel(**how), (WAIT,),
    ),
    Command(
        "delete",
        """Remove jobs and their history.

        A running job is not removed: cancel it first. The audit log keeps one line for the command.
        """,
        ("01JQ93", "'state:ended age:>30d' --dry-run", "'state:ended age:>30d' --yes"),
        lambda bulk, how: bulk.delete(**how),
    ),
    Command(
        "approve",
        """Complete jobs in review.

        The output that the job proposed becomes its result, or the one that you give. mainstay edit ID opens it in your editor. If
        the review names deciders, you have to be one of them: see --actor and --role. The audit log says that nobody has checked it.
        """,
        ('01JQ93 --note "checked by hand"', "01JQ93 --output '{\"pay\": 12}'", "'state:review type:invoice' --yes"),
        lambda bulk, how, result, **decision: bulk.approve(output=result, **decision, **how), (NOTE, ROLE, RESULT),
    ),
    Command(
        "reject",
        """End jobs in review as dead.

        mainstay retry runs one again. If the review names deciders, you have to be one of them.
        """,
        ('01JQ93 --note "wrong customer"', "'state:review age:>7d' --yes"),
        lambda bulk, how, **decision: bulk.reject(**decision, **how), (NOTE, ROLE),
    ),
    Command(
        "reprioritise",
        """Give waiting, dead or cancelled jobs another priority.

        Among jobs of the same priority each keeps its place. A job that waits for a limit may take the slot of a lower one.
        """,
        ("01JQ93 --to 10", "'type:import state:waiting' --to -5 --dry-run", "'type:import state:waiting' --to -5 --yes"),
        lambda bulk, how, priority: bulk.reprioritise(priority, **how), (TO_PRIORITY,),
    ),
    Command(
        "requeue",
        """Move waiting, dead or cancelled jobs to another queue.

        The limits and the fairness of that queue apply from then on. A full queue takes them all the same.
        """,
        ("01JQ93 --to slow", "'tenant:acme state:waiting' --to slow --dry-run", "'tenant:acme state:waiting' --to slow --yes"),
        lambda bulk, how, queue, force: bulk.requeue(queue, force=force, **how), (TO_QUEUE, FORCE),
    ),
    Command(
        "reschedule",
        """Let waiting jobs run later, at a time, or now.

        They keep their arguments, their place and the attempts they have left.
        """,
        ("01JQ93 --in 2h", "01JQ93 --now", "'type:report state:waiting' --at 2030-01-31T09:30 --dry-run"), _reschedule, TIMES,
    ),
    Command(
        "amend",
        """Change arguments of waiting, dead or cancelled jobs.

        A value is JSON or else text, as for mainstay enqueue. The arguments are checked by what workers have registered of the
        type. A key that is made of them changes with them. What an earlier attempt has saved is removed: the job starts anew.
        mainstay edit ID opens all arguments of one job in your editor.
        """,
        ("01JQ93 --set width=80", "'type:mail state:dead args.to:a@b.c' --set to=a@example.org --dry-run"), _amend, FIELDS,
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
    "review": "it is in review; approve or reject it",
    "same": "it is so already",
    "late": "it has to start before that time; give an earlier one, or retry it",
    "stale": "its arguments have changed meanwhile; try again",
    "asked": "it has run again and asks anew; look at it again",
}
OPTIONS = (
    targeted,
    shaped("Print only the ids of the jobs that were changed."),
    click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation."),
    click.option("--dry-run", is_flag=True, help="Only print what would be done."),
    ACTOR,
    click.argument("jobs", nargs=-1, metavar="[ID… | SEARCH…]"),
)


def _command(made_of: Command) -> click.Command:
    def run(**given: Any) -> int:
        return act(made_of, **given)

    run.__name__, run.__doc__ = made_of.name, made_of.help
    made: Callable[..., Any] = run
    which = "All jobs in review." if made_of.of_reviews else "All jobs."
    for option in (*OPTIONS, click.option("--all", "everything", is_flag=True, help=which), *made_of.options):
        made = option(made)
    return command("\n".join(f"mainstay {made_of.name} {example}" for example in made_of.examples))(made)


retry, cancel, delete, approve, reject, reprioritise, requeue, reschedule, amend = map(_command, COMMANDS)


def act(
    chosen: Command, target: Target, output: Output, jobs: tuple[str, ...], everything: bool, dry_run: bool, yes: bool,
    by: str = "", wait: bool = False, timeout: str | None = None, **given: Any,
) -> int:  # fmt: skip
    """Do an action to the jobs given by id or found by a search, which is confirmed first. Return the exit code."""
    if bool(jobs) == everything:
        name = f"mainstay {chosen.name}"
        raise UsageError(
            "--all takes no search" if jobs else "which jobs?", f"{name} ID, {name} 'state:…' or {name} --all"
        )
    patience, code = waiting_time(wait, timeout), given.get("result") is not None
    if "result" in given:
        given["result"] = output_of(jobs, given["result"])
    with opened(target, code) as app:
        bulk, by_id = _bulk(app, chosen, jobs)
        verb = chosen.verb(**given)
        if dry_run or not (by_id or yes):
            found = chosen.act(bulk, {"dry_run": True}, **given)  # raises for wrong options before anybody is asked
            if not _preview(output, verb, found, dry_run, "" if found.matched else misspelt(app, " ".join(jobs))):
                return exits.OK
        with Watch(output, verb, by_id, RUNNING if wait else "") as watch:
            told = {} if by_id else {"progress": watch}  # of jobs given by id, each is printed at the end
            report = chosen.act(bulk, {"actor": by or actor(), **told}, **given)
        if not report.matched and not by_id:
            _preview(output, verb, report, dry_run, misspelt(app, " ".join(jobs)))
            return exits.OK
        if wait:
            return _wait(app, output, report, watch, by_id, patience)
    return tell(output, verb, report, by_id)


def _wait(
    app: Mainstay, output: Output, report: Report, watch: Watch, by_id: bool, patience: float | None
) -> int:  # fmt: skip
    """Wait until the jobs that were asked to stop have ended; print the result and return the exit code."""
    running = watch.waiting or [job for job, result in report.jobs.items() if result == RUNNING]
    report, found = await_cancelled(app, output, report, running, patience)
    if output.shape.quiet and not by_id:
        output.lines(job for job in running if found.get(job) != "ended")
    still = [job for job in running if job not in found]
    if still:
        complain_running(still)
    code = tell(output, "cancel", report, by_id)
    return exits.TIMEOUT if still else code


@contextmanager
def opened(target: Target, code: bool) -> Iterator[Mainstay]:
    """Open the store; with `code`, as the application that is named, which knows the types of its handlers."""
    if code and target.wants_code():
        with closing(target.application()) as app:
            yield app
    else:
        with target.open() as app:
            yield app


def _bulk(app: Mainstay, chosen: Command, jobs: tuple[str, ...]) -> tuple[Bulk, bool]:
    """Return the jobs that are meant, and whether they are given by id."""
    from ..control.bulk import Bulk

    if jobs and not any(":" in word for word in jobs):
        return Bulk(app, "", [_resolved(app, word) for word in jobs], declared=True), True
    return Bulk(app, "state:review" if not jobs and chosen.of_reviews else " ".join(jobs), declared=True), False


def _resolved(app: Mainstay, word: str) -> str:
    try:
        return app.resolve(word)
    except NotFound as error:
        parse(word, 0)  # explains a search that is written wrongly, such as state=dead
        raise NotFound(f"{error}; to search for the word: text:{word}") from None


def _preview(output: Output, verb: str, found: Report, dry_run: bool, hint: str) -> bool:
    """Print what would be done and, on a terminal, ask. Return whether to continue."""
    types = Counter(found.types)
    listed = ", ".join(f"{type} {count:,}" for type, count in types.most_common(SHOWN))
    if len(types) > SHOWN:
        rest = types.total() - sum(count for _, count in types.most_common(SHOWN))
        listed += f", and {rest:,} of {plural(len(types) - SHOWN, 'more type')}"
    matched = plural(found.matched, "job matches", "jobs match") + (f" ({listed})" if listed else hint)
    if dry_run or not found.matched:
        if output.shape.machine:
            output.data({"matched": found.matched, "types": dict(types), "changed": 0})
        else:
            exits.say(f"{matched}. Nothing changed." + (f" Add --yes to {verb}." if found.matched else ""))
        return False
    return confirmed(matched, verb, found.matched)


def confirmed(matched: str, verb: str, count: int) -> bool:
    """Ask whether to do it to the jobs that matched; raise where nobody can answer."""
    if not sys.stdin.isatty():
        raise UsageError(
            f"{matched}; confirm with --yes", "the same command with --yes, or with --dry-run to see what it would do"
        )
    return click.confirm(f"{matched}. {verb.capitalize()} {'it' if count == 1 else 'them'}?", err=True)


# what was done --------------------------------------------------------------------------------------------------------
def tell(output: Output, verb: str, report: Report, by_id: bool) -> int:
    """Print the result for each job given by id, or totals for a search. Return the exit code."""
    done = VERBS[verb].done
    changed = {job: result for job, result in report.jobs.items() if result.split()[0] in done}
    # What came before is only counted, and may be queued or scheduled.
    resumed = "retried" if verb == "retry" else done[0]
    words = report.results if sum(report.results.values()) == report.changed else {resumed: report.changed}
    total = ", ".join(f"{plural(count, 'job')} {word}" for word, count in words.items() if count) or "nothing changed"
    found = {"matched": report.matched, "changed": report.changed}
    more = {"jobs": dict(report.jobs)} if by_id else {"refused": dict(report.refused), "operation": report.id or None}
    if by_id or output.shape.machine:
        output.give(lambda: found | more, changed, lambda: output.lines(map(" ".join, changed.items())))
    else:
        output.talk(total)
    if not report.refused:
        return exits.OK
    _complain(verb, report)
    if report.changed:
        return exits.PARTIAL
    alone = {"missing": NotFound(), DENIED: NotAllowed()}
    return exits.code(alone.get(" ".join(report.refused), Conflict()))


def _complain(verb: str, report: Report) -> None:
    reasons = {word: why_not(verb, word, report.why.get(word, "")) for word in report.refused}
    if sum(report.refused.values()) == 1:
        ((word, why),) = reasons.items()
        job = next((job for job, result in report.jobs.items() if result.split(" ")[0].rstrip(":") == word), "")
        hints = {"missing": "ls"} | ({"completed": f"retry {job} --copy"} if verb == "retry" else {})
        hints[DENIED] = f"{verb} {job} --actor NAME   (or --role ROLE)"
        attempt = f"mainstay {hints.get(word, f'show {job}')}" if job else ""
        exits.complain(f"{f'job {job}' if job else '1 job'} was not changed: {why}", attempt)
    else:
        told = ", ".join(f"{report.refused[word]:,} × {why}" for word, why in reasons.items())
        exits.complain(f"{sum(report.refused.values()):,} jobs were not changed: {told}")


def why_not(verb: str, word: str, more: str = "") -> str:
    """Return why jobs were not changed."""
    if verb in ("approve", "reject") and word not in {"missing", "unmatched", "asked", DENIED}:
        return f"it is {word}, not in review"
    if word == keys.DUPLICATE:
        return keys.explained(f"{word} {more}")
    if (verb, word) == ("reschedule", "ended"):
        return "it has ended; mainstay retry runs it again"
    return REFUSED.get(word, more or f"it is {word}")


def actor() -> str:
    """Return who acts, for the audit log: the user of this terminal."""
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container without a user database
        return "cli"
