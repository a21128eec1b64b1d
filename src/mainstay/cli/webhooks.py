"""`webhooks`: the endpoints that get events, their deliveries and secrets; and sending an event."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from ..control import json_records
from ..core.errors import UsageError
from ..core.webhooks import KEPT, MAX_FAILURES, TYPE, why
from ..redacting import redactor
from . import records
from .changing import advised, give_secret, report
from .enqueue_args import duration
from .groups import changes, group, subcommand
from .options import how_many, on_store, with_options
from .output import plural
from .quoting import typed
from .subscriptions import event_data

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..control.records import Change, NewSecret, WebhookDelivery, WebhookRecord
    from .groups import By
    from .options import Target
    from .output import Cell, Output

SHOWN = 5  # deliveries that `show` prints
SECRET = click.option(
    "--secret",
    metavar="'$NAME'|-",
    help="A variable of the workers, or - to read a secret from stdin; default: one is made.",
)
MISSED = f"type:{TYPE} state:dead code:webhook_disabled"
QUIET = "Print only the id of what changed, and no messages."


@group(
    """
    mainstay webhooks
    mainstay webhooks add https://example.com/hook --events "invoice.*" --id billing
    mainstay webhooks send webhook.test --to billing
    mainstay webhooks deliveries billing
    mainstay webhooks enable billing
    """
)
@on_store("Print only the ids, one per line.")
def webhooks(target: Target, output: Output) -> None:
    """List the endpoints that get events; add, show, change, enable or remove one; send an event."""
    with target.open() as app:
        output.now, found = app.clock.now(), app.webhooks.list()
    none = "there are no webhooks: mainstay webhooks add https://… --events 'invoice.*'"
    records.listed(output, found, "id", _print, none)


def _print(output: Output, found: Sequence[WebhookRecord]) -> None:
    rows = [
        [
            (each.id, "bold"), _state(each), f"{each.failures}/{each.max_failures}", _when(output, each.last_delivered_at),
            " ".join(each.events), each.url,
        ]
        for each in found
    ]  # fmt: skip
    output.table(["ID", "STATE", "FAILED", "LAST SENT", "EVENTS", "URL"], rows, right=[2], drop=[3, 2])


def _state(each: WebhookRecord) -> Cell:
    return (
        ("enabled", "good") if each.enabled else ("disabled", "dim" if each.disabled_because == "operator" else "bad")
    )


def _when(output: Output, at: Any) -> str:
    return output.when(None if at is None else json_records.instant(at))


@subcommand(webhooks, "show", "mainstay webhooks show billing\nmainstay webhooks show billing --json")
@click.argument("id")
@on_store("Print only the ids of the last messages, one per line.")
def show(target: Target, output: Output, id: str) -> None:
    """Show an endpoint and its last deliveries; never its secret."""
    with target.open() as app, advised("webhooks", "webhooks show"):
        output.now, each = app.clock.now(), app.webhooks.show(id)
        last = app.webhooks.deliveries(id, SHOWN) if each.succeeded + each.failed else []
    data = json_records.plain(each) | {"deliveries": json_records.plain(last)}
    records.give(output, data, [one.job for one in last], lambda: _print_one(output, each, last))


def _print_one(output: Output, each: WebhookRecord, last: Sequence[WebhookDelivery]) -> None:
    output.line((each.id, "bold"), "  ", _state(each), f"  {each.description}" if each.description else "", indent=1)
    state = "" if each.enabled else f" ({why(each._asdict())}, {_when(output, each.disabled_at)})"
    older = f", and with the one before until {_when(output, each.older_until)}" if each.older_until else ""
    facts = (
        ("url", each.url), ("events", " ".join(each.events)), ("state", _state(each)[0] + state), ("signs with", each.signs_with + older),
        ("failed", f"{each.failures} of {each.max_failures} that disable it within 24h"),
        ("kept", f"{each.succeeded} delivered{f' in {each.average_ms} ms on average' if each.average_ms is not None else ''}, {each.failed} failed"),
        ("added", _when(output, each.created_at)), ("last error", (last[0].error if last else None) or ""),
    )  # fmt: skip
    for name, text in facts:
        if not text:
            continue
        output.paragraph((f"{name:10}", "dim"), "  ", text=text, indent=1)
    if last:
        output.heading("Last deliveries")
        _print_deliveries(output, last)


@subcommand(
    webhooks,
    "deliveries",
    "mainstay webhooks deliveries billing\nmainstay webhooks deliveries billing --failed -n 200 --json",
)
@click.argument("id")
@how_many("--limit", 20, "How many.", most=KEPT)
@click.option("--failed", is_flag=True, help="Only those of the last that failed.")
@on_store("Print only the ids of the messages, one per line.")
def deliveries(target: Target, output: Output, id: str, limit: int, failed: bool) -> None:
    """List the last attempts to deliver to an endpoint, the newest first: status, time taken, and the beginning of the reply."""
    with target.open() as app, advised("webhooks", "webhooks deliveries"):
        output.now, found = app.clock.now(), app.webhooks.deliveries(id, KEPT if failed else limit)
    found = [each for each in found if each.error is not None][:limit] if failed else found
    none = f"none has failed of the last {KEPT:,}" if failed else "nothing was sent there yet"
    records.listed(output, found, "job", _print_deliveries, none)


def _print_deliveries(output: Output, found: Sequence[WebhookDelivery]) -> None:
    rows: list[list[Cell]] = [
        [
            _when(output, each.at), each.job, f"{each.attempt}", (str(each.status or "–"), "good" if each.error is None else "bad"),
            output.spent(each.ms), _reply(each),
        ]
        for each in found
    ]  # fmt: skip
    output.table(["AT", "ID", "TRY", "STATUS", "TOOK", "REPLY"], rows, right=[2, 4], drop=[2, 4], least=30)


def _reply(each: WebhookDelivery) -> str:
    """Return what the receiver said, in one line; the status is beside it. Without a reply, what went wrong."""
    said = each.error if each.status is None else each.answer or each.error
    return " ".join((said or "").split())


# Change -----------------------------------------------------------------------------------------------------------------


def _changing(required: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds the options for the values of an endpoint."""
    usual = {"events": ("*",), "description": "", "max_failures": MAX_FAILURES} if required else {}
    return with_options(
        click.option("--events", multiple=True, default=usual.get("events"), show_default=required, help="invoice.paid, invoice.* or *; may be repeated."),
        click.option("--description", default=usual.get("description"), help="What it is for."),
        click.option("--max-failures", type=int, default=usual.get("max_failures"), show_default=required, help="So many failed deliveries within 24h disable it."),
    )  # fmt: skip


@subcommand(
    webhooks, "add",
    """
    mainstay webhooks add https://example.com/hook --events "invoice.*" --id billing
    mainstay webhooks add https://example.com/hook --secret '$BILLING_SECRET' --max-failures 20
    """,
)  # fmt: skip
@click.argument("url_of_endpoint", metavar="ENDPOINT_URL")  # `--url` is the store
@click.option("--id", help="Its name; default: a random one.")
@SECRET
@_changing(required=True)
@changes("Print only the id, and the secret if one was made.")
def add(
    target: Target, output: Output, by: By, url_of_endpoint: str, id: str | None, secret: str | None, **values: Any
) -> int:
    """Add an endpoint, and print the secret that signs its messages: it is shown this once.

    Give the secret to the receiver, which checks signatures with any library for Standard Webhooks.
    """
    with target.open() as app, advised("webhooks", "webhooks add"):
        made = app.webhooks.add(url_of_endpoint, id=id, secret=typed_secret(secret), **values, **by._asdict())
    told = f"the webhook {made.id} gets {' '.join(values['events'])}."
    return _print_secret(output, by, made, told, typed("webhooks", "remove", made.id, target=target))


def typed_secret(secret: str | None) -> str | None:
    """Return the secret that the command line names; one that is typed there is in the history of the shell."""
    if secret == "-":  # noqa: S105  (not a secret)
        return sys.stdin.readline().strip()
    if secret is not None and not secret.startswith("$"):
        raise UsageError(
            "others can read a command line, so no secret is typed there: name a variable, '$NAME', or write - and give it on stdin"
        )
    return secret


def _print_secret(output: Output, by: By, made: NewSecret, told: str, undo: str) -> int:
    if by.dry_run or made.secret is None:
        return report(output, [_safe(made.change)], by, told, undo)
    advice = "give the secret to the receiver now: it is not shown again."
    return give_secret(output, told, advice, undo, f"{made.id} {made.secret}", id=made.id, secret=made.secret)


def _safe(change: Change) -> Change:
    """Return a change without the secrets in its texts: a URL may have a token in it."""
    return change._replace(before=redactor().value(change.before), after=redactor().value(change.after))


@subcommand(
    webhooks,
    "update",
    "mainstay webhooks update billing --events invoice.paid --events order.*\nmainstay webhooks update billing --to https://new.example.com/hook --dry-run",
)
@click.argument("id")
@click.option("--to", "url_of_endpoint", metavar="URL", help="Where its messages go.")
@_changing(required=False)
@changes(QUIET)
def update(target: Target, output: Output, by: By, id: str, url_of_endpoint: str | None, **values: Any) -> int:
    """Change an endpoint: its URL, events, description or limit of failures. Messages that wait go to it as it is then."""
    given = {name: value for name, value in {"url": url_of_endpoint, **values}.items() if value not in (None, ())}
    if not given:
        raise UsageError(
            "what to change? --to is its URL; --url is that of the store",
            f"{typed('webhooks', 'update', id)} --events 'invoice.*'   (--help lists the values)",
        )
    return _changed(
        target, output, by, id, "update", f"the webhook {id} is changed.", f"the webhook {id} is as before.", **given
    )


def _changed(
    target: Target, output: Output, by: By, id: str, verb: str, told: str, same: str, undo: str = "", **given: Any
) -> int:
    """Run a verb of webhooks on an endpoint, and print what it changed."""
    with target.open() as app, advised("webhooks", f"webhooks {verb}"):
        change = getattr(app.webhooks, verb)(id, **given, **by._asdict())
    then = typed("webhooks", undo, id, target=target) if undo else ""
    return report(output, [_safe(change)], by, told, then, same=same)


@subcommand(webhooks, "enable", "mainstay webhooks enable billing")
@click.argument("id")
@changes(QUIET)
def enable(target: Target, output: Output, by: By, id: str) -> int:
    """Let an endpoint get events again; its failures count from now on. Its dead messages stay dead until you retry them."""
    told = f"the webhook {id} is enabled."
    code = _changed(target, output, by, id, "enable", told, f"the webhook {id} is enabled already.", "disable")
    output.talk(f"  to send what it has missed: {typed('retry', MISSED, target=target)}")
    return code


@subcommand(webhooks, "disable", 'mainstay webhooks disable billing --reason "they asked for it"')
@click.argument("id")
@changes(QUIET)
def disable(target: Target, output: Output, by: By, id: str) -> int:
    """Let an endpoint get no events; messages that wait for it are cancelled when their turn comes."""
    told = f"the webhook {id} is disabled: events pass it by."
    return _changed(target, output, by, id, "disable", told, f"the webhook {id} is disabled already.", "enable")


@subcommand(webhooks, "remove", "mainstay webhooks remove billing --dry-run")
@click.argument("id")
@changes(QUIET)
def remove(target: Target, output: Output, by: By, id: str) -> int:
    """Remove an endpoint and its secret. Its deliveries stay for 30 days."""
    return _changed(target, output, by, id, "remove", f"the webhook {id} is removed.", "")


@subcommand(webhooks, "rotate", "mainstay webhooks rotate billing\nmainstay webhooks rotate billing --keep 7d")
@click.argument("id")
@click.option(
    "--keep", default="24h", show_default=True, metavar="DURATION", help="How long the secret before signs too."
)
@SECRET
@changes("Print only the id, and the secret if one was made.")
def rotate(target: Target, output: Output, by: By, id: str, keep: str, secret: str | None) -> int:
    """Give an endpoint a new secret. For some time both sign, so that the receiver can change over."""
    with target.open() as app, advised("webhooks", "webhooks rotate"):
        lasts = duration("--keep", keep)
        made = app.webhooks.rotate(id, secret=typed_secret(secret), keep=lasts, **by._asdict())
    return _print_secret(
        output, by, made, f"the webhook {id} has a new secret; the one before signs too for {keep}.", ""
    )


# Send -------------------------------------------------------------------------------------------------------------------


@subcommand(
    webhooks,
    "send",
    "mainstay webhooks send webhook.test --to billing\nmainstay webhooks send invoice.paid id=7 total=12.5\nmainstay webhooks send invoice.paid @invoice.json",
)
@click.argument("event")
@click.argument("arguments", nargs=-1, metavar="[NAME=VALUE…|-|@FILE]")
@click.option("--to", metavar="ID", help="Only to this endpoint, whatever events it wants.")
@on_store("Print only the ids of the messages, and no messages.")
def send(target: Target, output: Output, event: str, arguments: tuple[str, ...], to: str | None) -> None:
    """Send an event to each endpoint that wants it, and print the ids of the messages. A worker with the handler delivers them."""
    with target.open() as app, advised("webhooks", "webhooks send"):
        found = [handle.id for handle in app.webhooks.send(event, event_data("webhooks send", event, arguments), to=to)]
    output.give(lambda: [{"id": id} for id in found], found, lambda: output.lines(found))
    output.talk(
        f"{plural(len(found), 'endpoint')} will get {event}."
        if found
        else f"no endpoint wants {event}: mainstay webhooks"
    )
