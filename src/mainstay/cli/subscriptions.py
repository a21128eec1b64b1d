"""`subscriptions`: which jobs an event creates; and `publish`, which enqueues them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..control import json_records
from ..core.errors import UsageError
from . import records
from .changing import advised, report
from .enqueue_args import read, value
from .groups import changes, group, subcommand
from .named_rules import add_verbs
from .options import command, on_store, with_options
from .output import plural
from .quoting import typed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..control.subscriptions import SubscriptionRecord
    from .groups import By
    from .options import Target
    from .output import Cell, Output

# Of a job that an event creates.
job_options = with_options(
    click.option("--queue", help="Another queue than its type's."),
    click.option("--priority", type=int, help="-1000 to 1000; higher runs first."),
    click.option("--in", "delay", metavar="DURATION", help="Run it after this time."),
    click.option("--key", help="While a job with this key is alive, no other is created, e.g. 'invoice-{data.id}'."),
    click.option("--tenant", help="Whose job it is, e.g. '{data.customer}'."),
    click.option("--ref", help="What the job is about, e.g. 'invoice:{data.id}'."),
    click.option("--tag", "tags", multiple=True, help="A tag of the job; may be repeated."),
)


def given(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were typed."""
    return {name: list(each) if name == "tags" else each for name, each in options.items() if each not in (None, ())}


def template(words: Sequence[str]) -> dict[str, Any] | None:
    """Return a template of arguments from `name=value` words; None for none."""
    for word in words:
        if "=" not in word:
            raise UsageError(f"{word!r}: arguments are written name=value", "invoice='$.data.id' note=paid")
    return {name: value(text) for name, _, text in (word.partition("=") for word in words)} or None


@group(
    """
    mainstay subscriptions
    mainstay subscriptions add ledger invoice.paid book invoice='$.data.id' --queue money
    mainstay subscriptions disable ledger --reason "books are closed"
    """
)
@on_store("Print only the names, one per line.")
def subscriptions(target: Target, output: Output) -> None:
    """List which jobs an event creates; add, enable, disable or remove one."""
    with target.open() as app:
        found = app.subscriptions.list()
    none = "nothing subscribes to events: mainstay subscriptions add NAME EVENT TYPE"
    records.listed(output, found, "name", _print, none)


def _print(output: Output, found: Sequence[SubscriptionRecord]) -> None:
    rows: list[list[Cell]] = [
        [
            (each.name, "bold"), ("enabled", "good") if each.enabled else ("disabled", "dim"), each.event, each.type,
            "all data" if each.args is None else json_records.short(each.args), json_records.short(each.options),
        ]
        for each in found
    ]  # fmt: skip
    output.table(["NAME", "STATE", "EVENT", "TYPE", "ARGUMENTS", "OPTIONS"], rows, drop=[5])


@subcommand(
    subscriptions, "add",
    """
    mainstay subscriptions add ledger invoice.paid book invoice='$.data.id' --queue money
    mainstay subscriptions add mirror 'invoice.*' copy --key 'invoice-{data.id}' --replace
    """,
)  # fmt: skip
@click.argument("name")
@click.argument("event")
@click.argument("type")
@click.argument("arguments", nargs=-1, metavar="[NAME=VALUE…]")
@job_options
@click.option("--replace", is_flag=True, help="Change the subscription of this name.")
@changes()
def add(
    target: Target, output: Output, by: By, name: str, event: str, type: str, arguments: tuple[str, ...], replace: bool, **options: Any,
) -> int:  # fmt: skip
    """Let events of a pattern (invoice.paid, invoice.*, *) create a job of TYPE each.

    A value such as '$.data.id' is taken from the event. Without arguments, the job gets all data of the event.
    """
    with target.open() as app, advised("subscriptions", "subscriptions add"):
        change = app.subscriptions.add(
            name, event, type, template(arguments), replace=replace, **by._asdict(),
            **given(options),
        )  # fmt: skip
    undo = typed("subscriptions", "remove", name, target=target)
    return report(output, [change], by, f"each {event} creates a job of {type}.", "" if change.before else undo)


add_verbs(
    subscriptions, "subscription",
    enable=("mainstay subscriptions enable ledger", "Let events create the jobs of a subscription again."),
    disable=('mainstay subscriptions disable ledger --reason "books are closed"', "Let events create no jobs of a subscription."),
    remove=("mainstay subscriptions remove ledger --dry-run", "Remove a subscription. Jobs that it has created stay."),
)  # fmt: skip


@command("mainstay publish invoice.paid id=7 total=12.5\nmainstay publish invoice.paid @invoice.json --key invoice-7")
@click.argument("event")
@click.argument("arguments", nargs=-1, metavar="[NAME=VALUE…|-|@FILE]")
@click.option("--key", help="Publishing again under the same key creates nothing new.")
@on_store("Print only the ids of the jobs, one per line.")
def publish(target: Target, output: Output, event: str, arguments: tuple[str, ...], key: str | None) -> None:
    """Publish an event: enqueue the jobs that subscribe to it, all or none."""
    with target.open() as app, advised("subscriptions", "publish"):
        found = app.subscriptions.published(event, event_data("publish", event, arguments), key)
    rows = [[each.id, each.subscription or "", "new" if each.created else "was there"] for each in found]
    output.give(
        lambda: json_records.plain(found), [each.id for each in found],
        lambda: output.table(["ID", "SUBSCRIPTION", ""], rows) if rows else None,
    )  # fmt: skip
    output.talk(
        f"{event} has created {plural(sum(each.created for each in found), 'job')}."
        if found
        else f"nothing subscribes to {event} now; mainstay subscriptions lists all, also those that are disabled"
    )


def event_data(command: str, event: str, words: Sequence[str]) -> dict[str, Any]:
    """Return the data of an event; an error says how to write this command, not `enqueue`."""
    try:
        return read(event, words, None)
    except UsageError as error:
        raise UsageError(str(error), f"mainstay {command} {event} id=7   (or @FILE, or - and JSON on stdin)") from None
