"""`pause` and `resume` for a type, a queue or everything; `disable` and `enable` for a type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..control import json_records
from ..core.errors import UsageError
from .changing import advised, report
from .groups import changes
from .options import command
from .quoting import typed

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..app import Mainstay
    from ..control.records import Change
    from .groups import By
    from .options import Target
    from .output import Output

    Command = Callable[..., Any]


def _what(function: Command) -> Command:
    """Add the options that name what to pause, and an argument that catches a name without its option."""
    made = click.argument("names", nargs=-1, metavar="")(function)
    made = click.option("--all", "everything", is_flag=True, help="The whole installation.")(made)
    made = click.option("--queue", metavar="QUEUE", help="The jobs of this queue.")(made)
    return click.option("--type", metavar="TYPE", help="The jobs of this type.")(made)


@command(
    """
    mainstay pause --type extract --reason "gateway maintenance"
    mainstay pause --queue llm --dry-run
    mainstay pause --all
    """
)
@_what
@changes()
def pause(target: Target, output: Output, by: By, **what: Any) -> int:
    """Start no more jobs of a type, a queue or everything; running jobs finish.

    Workers obey within a second. Jobs are accepted as before and wait; delays, backoffs and expiry go on. The pause holds until
    mainstay resume ends it, whatever is deployed or restarted meanwhile.
    """
    with target.open() as app, advised(_listing(what), "pause"):
        given = _named(app, "pause", **what)
        seen = app.pause(**given, reason=by.reason, actor=by.actor, dry_run=True)
        kept = seen.before is not None and not by.reason  # the reason that was given first stays
        change = seen._replace(after=seen.before) if kept else app.pause(**given, **by._asdict())
    told = f"{_told(given)} is paused: nothing of it starts, running jobs finish."
    if kept:
        told = f"{_told(given)} is paused already{_before(output, seen)}."
    return report(output, [change], by, told, typed("resume", *_words(given), target=target))


def _before(output: Output, change: Change) -> str:
    """Return who has paused it, when and why."""
    before = change.before or {}
    return f": by {before['actor']}, {output.when(json_records.instant(before['at']))}" + (
        f": {before['reason']}" if before["reason"] else ""
    )


@command(
    """
    mainstay resume --type extract
    mainstay resume --queue llm
    mainstay resume --all
    """
)
@_what
@changes()
def resume(target: Target, output: Output, by: By, **what: Any) -> int:
    """End a pause.

    Each pause ends by itself: --all ends the one of the whole installation and leaves those of types and queues. mainstay
    status lists all pauses.
    """
    with target.open() as app, advised(_listing(what), "resume"):
        given = _named(app, "resume", **what)
        change = app.resume(**given, **by._asdict())
    told = f"{_told(given)} is resumed." if change.changed else f"{_told(given)} is not paused."
    return report(output, [change], by, told)


def _named(
    app: Mainstay, verb: str, names: tuple[str, ...], type: str | None, queue: str | None, everything: bool
) -> dict[str, Any]:
    """Return what to pause as the arguments of `app.pause`; raise unless one thing is named."""
    if names:
        kind = "--queue" if names[0] in {record.name for record in app.queues()} else "--type"
        raise UsageError(f"is {names[0]} a type or a queue?", f"mainstay {verb} {kind} {names[0]}")
    given = {name: value for name, value in (("type", type), ("queue", queue)) if value is not None}
    if len(given) + everything != 1:
        what = "name one thing" if given else f"what to {verb}?"
        raise UsageError(what, f"mainstay {verb} --type TYPE, mainstay {verb} --queue QUEUE or mainstay {verb} --all")
    return given


def _listing(what: dict[str, Any]) -> str:
    return "types" if what.get("type") else "queues"


def _told(given: dict[str, str]) -> str:
    return next((f"the {kind} {name}" for kind, name in given.items()), "the whole installation")


def _words(given: dict[str, str]) -> list[str]:
    return next(([f"--{kind}", name] for kind, name in given.items()), ["--all"])


@command('mainstay disable extract --reason "replaced by extract2"\nmainstay disable extract --dry-run')
@click.argument("type")
@changes()
def disable(target: Target, output: Output, by: By, type: str) -> int:
    """Let a type take no more jobs.

    Whoever enqueues one gets the error TypeDisabled. Jobs that are there still run; mainstay pause keeps them from starting.
    """
    with target.open() as app, advised("types", "disable"):
        change = app.disable(type, **by._asdict())
    told, same = (
        f"the type {type} takes no jobs; those that are there still run.",
        f"the type {type} is disabled already.",
    )
    return report(output, [change], by, told, typed("enable", type, target=target), same=same)


@command("mainstay enable extract")
@click.argument("type")
@changes()
def enable(target: Target, output: Output, by: By, type: str) -> int:
    """Let a disabled type take jobs again."""
    with target.open() as app, advised("types", "enable"):
        change = app.enable(type, **by._asdict())
    told = f"the type {type} takes jobs." if change.changed else f"the type {type} is not disabled."
    return report(output, [change], by, told)
