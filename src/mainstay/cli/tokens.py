"""`token`: who may use the HTTP API and the dashboard: create a token, list them, revoke one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ..control import json_records
from ..core.tokens import ROLES, VIEWER
from . import records
from .changing import advised, give_secret, report
from .enqueue_args import duration
from .groups import changes, group, subcommand
from .options import on_store
from .quoting import typed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..control.tokens import TokenRecord
    from .groups import By
    from .options import Target
    from .output import Cell, Output

NEVER = "never"
IDS = "Print only the ids, one per line."


@group(
    """
    mainstay token create ada --role operator
    mainstay token create grafana --role viewer --tenant acme --expires 1d
    mainstay token ls
    mainstay token revoke 13c6379cac
    """
)
@on_store(IDS)
def token(target: Target, output: Output) -> None:
    """List the tokens of the HTTP API; create or revoke one."""
    _list(target, output)


@subcommand(token, "ls", "mainstay token ls\nmainstay token ls --json")
@on_store(IDS)
def ls(target: Target, output: Output) -> None:
    """List the tokens, the oldest first: role, tenant, expiry and last use; never their texts."""
    _list(target, output)


def _list(target: Target, output: Output) -> None:
    with target.open() as app:
        output.now, found = app.clock.now(), app.tokens.list()
    none = "there are no tokens; mainstay token create NAME --role viewer makes one"
    records.listed(output, found, "id", _print, none)


def _print(output: Output, found: Sequence[TokenRecord]) -> None:
    rows: list[list[Cell]] = [
        [
            each.id, (each.name, "bold"), each.role, each.tenant or "all", _expiry(output, each),
            output.when(json_records.instant(each.last_used_at)) if each.last_used_at else "never", each.created_by,
        ]
        for each in found
    ]  # fmt: skip
    output.table(["ID", "NAME", "ROLE", "TENANT", "EXPIRES", "LAST USED", "BY"], rows, drop=[6, 5])


def _expiry(output: Output, each: TokenRecord) -> Cell:
    if each.expires_at is None:
        return NEVER
    at = output.when(json_records.instant(each.expires_at))
    return (f"expired {at}", "bad") if each.expired else at


@subcommand(
    token, "create",
    """
    mainstay token create ada --role operator
    mainstay token create portal --role operator --tenant acme --expires 365d
    """,
)  # fmt: skip
@click.argument("name")
@click.option("--role", type=click.Choice(ROLES), default=VIEWER, show_default=True, help="What its bearer may do.")
@click.option("--tenant", help="Let its bearer see the jobs of this tenant, and of those below it, alone.")
@click.option("--expires", default="90d", show_default=True, metavar="DURATION|never", help="When it ends by itself.")
@changes("Print only the token.")
def create(target: Target, output: Output, by: By, name: str, role: str, tenant: str | None, expires: str) -> int:
    """Make a token, and print it: it is shown this once, and only its hash is stored. Its bearer is in the audit trail as NAME."""
    lasts = None if expires == NEVER else duration("--expires", expires, NEVER)
    with target.open() as app, advised("token", "token create"):
        made = app.tokens.create(name, role, tenant=tenant, expires=lasts, **by._asdict())
    told = f"{name} may use the HTTP API as {role}{f' of the tenant {tenant}' if tenant else ''}."
    if made.text is None:
        return report(output, [made.change], by, told)
    undo = typed("token", "revoke", made.id, target=target)
    advice = "keep it now: it is not shown again."
    return give_secret(output, told, advice, undo, made.text, id=made.id, token=made.text)


@subcommand(token, "revoke", 'mainstay token revoke 13c6379cac --reason "the laptop is lost"')
@click.argument("id")
@changes("Print only the id, and no messages.")
def revoke(target: Target, output: Output, by: By, id: str) -> int:
    """Revoke a token: it and its sessions are refused from now on, in every process."""
    with target.open() as app, advised("token", "token revoke"):
        change = app.tokens.revoke(id, **by._asdict())
    return report(output, [change], by, f"the token {id} is revoked.")
