"""`dead`: the dead jobs in groups by what they died of; shows one, retries, ignores, resolves, reopens or purges it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..control import json_records
from ..control.dead import dead_group
from ..core.dead import OPEN, SHORTEST, short_names
from ..core.errors import UsageError
from ..core.frames import frames
from . import records
from .changing import report
from .groups import acting, group, subcommand
from .options import on_store, with_options
from .output import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..app import Mainstay
    from ..control.records import Change, DeadRecord
    from .groups import By
    from .options import Target
    from .output import Cell, Output

BARS, BLOCKS = "▁▂▃▄▅▆▇█", 8  # of a sparkline
LISTED, FRAMES = 5, 6  # jobs and frames that `show` prints
ALL = click.option("--all", "everything", is_flag=True, help="Also groups that are ignored or resolved.")
NOTE = click.option("--note", default="", help="Why; kept in the audit log.")
FINGERPRINT = click.argument("fingerprint")
_changing = with_options(
    click.option("--actor", "by", default="", help="Who; default: the user of this terminal."),
    click.option("--dry-run", is_flag=True, help="Only print what would be done."),
    click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation."),
)


@group(
    """
    mainstay dead
    mainstay dead show 7f3a
    mainstay dead retry 7f3a --one
    mainstay dead retry 7f3a --stagger 10m --yes
    mainstay dead resolve 7f3a --note "fixed in 2.1"
    """
)
@ALL
@on_store("Print only the fingerprints, one per line.")
def dead(target: Target, output: Output, everything: bool) -> None:
    """List dead jobs in groups by what they died of; act on a group.

    A group has the jobs of one type with the same class of error, the same message but for numbers, ids and the like, raised in
    the same function of your code. LAST 24H shows when they died.
    """
    with target.reading() as app:
        output.now, found = app.clock.now(), app.dead(everything=True)
    names = _names(found)
    shown = [each for each in found if everything or each.status == OPEN]
    records.give(
        output,
        json_records.plain(shown),
        [each.fingerprint or "" for each in shown],
        lambda: _print(output, shown, names, everything),
    )
    _hint(output, found, shown, names)


def _names(found: Sequence[DeadRecord]) -> dict[str, str]:
    return short_names((each.fingerprint for each in found if each.fingerprint), SHORTEST)


def _hint(output: Output, found: Sequence[DeadRecord], shown: Sequence[DeadRecord], names: dict[str, str]) -> None:
    hidden = len(found) - len(shown)
    if not found:
        output.talk("no job is dead")
    elif shown and shown[0].fingerprint:
        output.talk(f"retry a group: mainstay dead retry {names[shown[0].fingerprint]} --one   then without --one")
    if hidden:
        output.talk(f"{plural(hidden, 'group')} ignored or resolved: mainstay dead --all")


def _print(output: Output, shown: Sequence[DeadRecord], names: dict[str, str], everything: bool) -> None:
    headers = ["FP", "COUNT", "TYPE", "LAST 24H", "FIRST", "LAST", *["STATUS"] * everything, "ERROR"]
    rows = [_row(output, each, names, everything) for each in shown]
    if rows:
        output.table(headers, rows, right=(1,), drop=(4, 3), whole=(0, 2), least=40)


def _row(output: Output, each: DeadRecord, names: dict[str, str], everything: bool) -> list[Cell]:
    first, last = (output.since(json_records.instant(at)) if at else "–" for at in (each.first, each.last))
    return [
        (names.get(each.fingerprint or "", "–"), "bold"), f"{each.jobs:,}{'+' * each.capped}", each.type,
        (sparkline(each.hours), "dead"), (first, "dim"), (last, "dim"), *[each.status] * everything, each.error or "",
    ]  # fmt: skip


def sparkline(hours: Sequence[int]) -> str:
    """Return numbers as bars of eight heights, three hours each."""
    size = len(hours) // BLOCKS
    sums = [sum(hours[n * size : (n + 1) * size]) for n in range(BLOCKS)]
    most = max(*sums, 1)
    return "".join(BARS[-(-each * (len(BARS) - 1) // most)] for each in sums)


# One group --------------------------------------------------------------------------------------------------------------
@subcommand(dead, "show", "mainstay dead show 7f3a\nmainstay dead show 7f3a --json")
@FINGERPRINT
@on_store("Print only the ids of its jobs, newest first, one per line.")
def show(target: Target, output: Output, fingerprint: str) -> None:
    """Show what the jobs of a group died of, which they are, and what to type.

    The frames are those of your own code; mainstay show ID prints the whole traceback.
    """
    with target.reading() as app:
        output.now = app.clock.now()
        record = dead_group(app, fingerprint).record
        few = 1_000 if output.shape.quiet or output.shape.machine else LISTED
        ids = app.search(f"fingerprint:{record.fingerprint}", few, exact=True).ids
        trace = _traceback(app, record.sample)
    found = json_records.plain(record) | {"ids": list(ids), "traceback": trace}
    output.give(lambda: found, ids, lambda: _print_group(output, record, ids, trace))


def _traceback(app: Mainstay, job: str) -> str | None:
    attempts = app.store.attempts(job) if job else []
    return next((each.traceback for each in reversed(attempts) if each.traceback), None)


def _print_group(output: Output, record: DeadRecord, ids: Sequence[str], trace: str | None) -> None:
    output.line(
        (f"✕ {plural(record.jobs, 'dead job')}", "dead"), "  ", (record.type, "bold"), "  ", record.fingerprint or ""
    )
    output.paragraph(text=record.error or "no job of it is dead now", indent=2)
    first, last = (output.since(json_records.instant(at)) if at else "–" for at in (record.first, record.last))
    output.facts(
        (f"first {first}", "dim"),
        (f"last {last}", "dim"),
        (sparkline(record.hours), "dead"),
        _status(output, record),
        indent=2,
    )
    user = [frame for frame in frames(trace) if frame.user][-FRAMES:]
    if user:
        output.heading("your code")
        output.table(
            [""] * 2, [[f"{frame.file}:{frame.line}", (f"in {frame.function}", "dim")] for frame in user], indent=3
        )
    if ids:
        output.heading("jobs, newest first")
        output.lines(f"   {job}" for job in ids)
    if record.jobs > len(ids):
        output.line(
            (f"… {record.jobs - len(ids):,} more: mainstay ls fingerprint:{record.fingerprint}", "dim"), indent=3
        )
    output.line()
    for typed in _next(record):
        output.line((f"→ mainstay {typed}", "link"), indent=1)


def _status(output: Output, record: DeadRecord) -> Cell:
    if not record.actor:
        return record.status
    note = f": {record.note}" if record.note else ""
    return (
        f"{record.status} ({record.actor}, {output.since(json_records.instant(record.at)) if record.at else ''}{note})"
    )


def _next(record: DeadRecord) -> list[str]:
    name = record.fingerprint
    if record.status != OPEN:
        return [f"dead reopen {name}"]
    ways = (
        [f"show {record.sample}", f"dead retry {name} --one", f"dead retry {name} --stagger 10m"] if record.jobs else []
    )
    return [*ways, f"dead resolve {name} --note …", f"dead ignore {name} --note …"]


# Act ----------------------------------------------------------------------------------------------------------------------
def _run(target: Target, output: Output, verb: str, jobs: tuple[str, ...], **given: Any) -> int:
    """Do what the command of this name does to these jobs."""
    from .actions import COMMANDS, act  # to list groups takes none of it

    chosen = next(each for each in COMMANDS if each.name == verb)
    return act(chosen, target, output, jobs, everything=False, **given)


@subcommand(dead, "retry", "mainstay dead retry 7f3a --one\nmainstay dead retry 7f3a --stagger 10m --yes")
@FINGERPRINT
@click.option("--one", is_flag=True, help="Only its newest job: does it complete now?")
@click.option("--stagger", metavar="DURATION", help="Spread them evenly over this time, the oldest first.")
@click.option("--note", default="", help="Kept in the history of the jobs; their handlers see it.")
@_changing
@on_store("Print only the ids of the jobs that were changed.")
def retry(target: Target, output: Output, fingerprint: str, one: bool, stagger: str | None, **given: Any) -> int:
    """Run the jobs of a group again, with all their attempts: one, then the rest."""
    if one and stagger:
        raise UsageError("--one and --stagger exclude each other: one job runs now")
    with target.open() as app:
        record = dead_group(app, fingerprint).record
    jobs = (record.sample,) if one and record.sample else (f"fingerprint:{record.fingerprint}",)
    return _run(target, output, "retry", jobs, stagger=stagger, copy=False, roles=(), **given)


@subcommand(dead, "purge", "mainstay dead purge 7f3a --dry-run\nmainstay dead purge 'type:mail age:>30d' --yes")
@click.argument("which", nargs=-1, required=True, metavar="FINGERPRINT | SEARCH…")
@_changing
@on_store("Print only the ids of the jobs that were removed.")
def purge(target: Target, output: Output, which: tuple[str, ...], **given: Any) -> int:
    """Remove the dead jobs of a group, or those that a search finds, with their history."""
    if any(":" in word for word in which):
        return _run(target, output, "delete", ("state:dead", *which), **given)
    if len(which) > 1:
        raise UsageError("give one fingerprint, or a search", "mainstay dead purge 'type:mail age:>30d' --dry-run")
    with target.open() as app:
        record = dead_group(app, which[0]).record
    return _run(target, output, "delete", (f"fingerprint:{record.fingerprint}",), **given)


def _decide(target: Target, output: Output, fingerprint: str, by: By, note: str, verb: str) -> int:
    with target.open() as app:
        found = dead_group(app, fingerprint)
        change: Change = getattr(found, verb)(note, actor=by.actor, dry_run=by.dry_run)
    short = f"the group {found.record.fingerprint} ({found.record.type})"
    told = {
        "ignore": f"{short} is ignored.",
        "resolve": f"{short} is resolved until a job dies of it again.",
        "reopen": f"{short} is open.",
    }[verb]
    undo = "reopen" if verb != "reopen" else "resolve"
    return report(output, [change], by._replace(reason=note), told, f"mainstay dead {undo} {found.record.fingerprint}")


def _decision(verb: str, text: str) -> None:
    @subcommand(dead, verb, f'mainstay dead {verb} 7f3a --note "a known fault of the API"')
    @FINGERPRINT
    @NOTE
    @acting
    @on_store("Print nothing but errors.")
    def decide(target: Target, output: Output, fingerprint: str, by: By, note: str) -> int:
        return _decide(target, output, fingerprint, by, note, verb)

    decide.help = text


_decision(
    "ignore",
    "List a group no more, however many jobs die in it.\n\nThey are still counted: mainstay dead --all shows them.",
)
_decision("resolve", "List a group no more, until another job dies in it.")
_decision("reopen", "List a group again that was ignored or resolved.")
