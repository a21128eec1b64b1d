"""`incoming`: receivers of webhooks that publish an event or create a job, and the secrets that verify their messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from . import records
from .changing import advised, give_secret, report
from .enqueue_args import duration
from .groups import changes, group, subcommand
from .named_rules import add_verbs
from .options import on_store
from .quoting import typed
from .subscriptions import given, job_options, template
from .webhooks import typed_secret

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..control.incoming import IncomingRecord
    from ..control.records import NewSecret
    from .groups import By
    from .options import Target
    from .output import Cell, Output

SCHEMES = ("standard", "github", "stripe", "hmac")
SECRET = "A variable of the server, or - to read a secret from stdin; default: one is made."  # noqa: S105  (a help text)


@group(
    """
    mainstay incoming
    mainstay incoming add github --scheme github --event 'github.{headers.x-github-event}'
    mainstay incoming add stripe --scheme stripe --secret '$STRIPE_SECRET' --type book invoice='$.data.data.object.id'
    mainstay incoming rotate github --keep 1h
    """
)
@on_store("Print only the names, one per line.")
def incoming(target: Target, output: Output) -> None:
    """List the receivers of webhooks that create jobs; add, enable, disable or remove one."""
    with target.open() as app:
        found = app.incoming.list()
    none = "there are no receivers: mainstay incoming add NAME --event shop.order"
    records.listed(output, found, "name", _print, none)


def _print(output: Output, found: Sequence[IncomingRecord]) -> None:
    rows: list[list[Cell]] = [
        [
            (each.name, "bold"), ("enabled", "good") if each.enabled else ("disabled", "dim"), each.scheme,
            f"event {each.event}" if each.event else f"job {each.type}", f"api/hooks/{each.name}", each.verified_by,
        ]
        for each in found
    ]  # fmt: skip
    output.table(["NAME", "STATE", "SCHEME", "CREATES", "PATH", "VERIFIED BY"], rows, drop=[5])


@subcommand(
    incoming, "add",
    """
    mainstay incoming add github --scheme github --event 'github.{headers.x-github-event}'
    mainstay incoming add shop --scheme hmac --header X-Shop-Signature --type book invoice='$.data.id'
    """,
)  # fmt: skip
@click.argument("name")
@click.argument("arguments", nargs=-1, metavar="[NAME=VALUE…]")
@click.option("--scheme", type=click.Choice(SCHEMES), default=SCHEMES[0], show_default=True, help="How it is signed.")
@click.option("--event", help="The event that a message publishes; may have '{data.type}' in it.")
@click.option("--data", metavar="PATH", help="The part of the body that is the data of the event; default: all.")
@click.option("--type", help="The type of the job that a message creates.")
@click.option("--header", help="With the scheme hmac, the header that has the signature.")
@click.option("--message-id", metavar="TEXT", help="What is the same when a message is sent again, e.g. '{data.id}'.")
@click.option("--tolerance", default="5m", show_default=True, metavar="DURATION", help="How old a signature may be.")
@click.option("--secret", metavar="'$NAME'|-", help=SECRET)
@job_options
@click.option("--replace", is_flag=True, help="Change the receiver of this name; it keeps its secret.")
@changes("Print only the name, and the secret if one was made.")
def add(
    target: Target, output: Output, by: By, name: str, arguments: tuple[str, ...], secret: str | None, tolerance: str, **options: Any
) -> int:  # fmt: skip
    """Add a receiver at …/api/hooks/NAME: a message publishes an event, or creates a job. Print the secret if one is made: this once."""
    with target.open() as app, advised("incoming", "incoming add"):
        made = app.incoming.add(
            name, args=template(arguments), secret=typed_secret(secret), tolerance=duration("--tolerance", tolerance),
            **by._asdict(), **given(options),
        )  # fmt: skip
    undo = "" if made.change.before else typed("incoming", "remove", name, target=target)
    return _print_secret(output, by, made, f"messages to api/hooks/{name} create jobs.", undo)


def _print_secret(output: Output, by: By, made: NewSecret, told: str, undo: str) -> int:
    if made.secret is None:
        return report(output, [made.change], by, told, undo)
    advice = "give the secret to the sender now: it is not shown again."
    return give_secret(output, told, advice, undo, f"{made.id} {made.secret}", name=made.id, secret=made.secret)


add_verbs(
    incoming, "receiver",
    enable=("mainstay incoming enable github", "Let a receiver accept messages again."),
    disable=("mainstay incoming disable github", "Let a receiver accept no messages."),
    remove=("mainstay incoming remove github --dry-run", "Remove a receiver and its secret."),
)  # fmt: skip


@subcommand(incoming, "rotate", "mainstay incoming rotate github\nmainstay incoming rotate github --secret - --keep 1h")
@click.argument("name")
@click.option("--keep", default="24h", show_default=True, metavar="DURATION", help="How long the secret before holds.")
@click.option("--secret", metavar="'$NAME'|-", help=SECRET)
@changes("Print only the name, and the secret if one was made.")
def rotate(target: Target, output: Output, by: By, name: str, keep: str, secret: str | None) -> int:
    """Give a receiver a new secret. For some time both hold, so that the sender can change over."""
    with target.open() as app, advised("incoming", "incoming rotate"):
        lasts = duration("--keep", keep)
        made = app.incoming.rotate(name, secret=typed_secret(secret), keep=lasts, **by._asdict())
    return _print_secret(
        output, by, made, f"the receiver {name} has a new secret; the one before holds for {keep}.", ""
    )
