"""`keys`: the keys that are taken for ever. `ls` lists them, `forget` frees one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..core.clock import iso
from ..refusals import forgotten
from . import exits
from .actions import actor
from .options import command, how_many, on_store
from .quoting import typed

if TYPE_CHECKING:
    from ..app import Mainstay
    from ..core.job import KeyInfo
    from .options import Target
    from .output import Output

PER_PAGE = 50  # keys


@command(
    """
    mainstay keys ls
    mainstay keys ls --prefix invoice- --json
    mainstay keys forget mail invoice-42 --dry-run
    mainstay keys forget mail invoice-42
    """
)
@click.argument("action", type=click.Choice(["ls", "forget"]), default="ls")
@click.argument("names", nargs=-1, metavar="[TYPE KEY]")
@click.option("--prefix", default="", help="For ls: only keys that start so.")
@how_many("--limit", PER_PAGE, "For ls: how many keys.")
@click.option("--dry-run", is_flag=True, help="For forget: only print what would be done.")
@on_store("Print only the keys, or the id of the job that had the forgotten one.")
def keys(
    target: Target, output: Output, action: str, names: tuple[str, ...], prefix: str, limit: int, dry_run: bool
) -> int:
    """Show the keys that are taken for ever, or free one.

    ls lists the keys of jobs enqueued with unique="forever", by key and type, and whether the job is still there · forget
    TYPE KEY frees a key, so that the next job may take it. While the job that took it is alive, it holds the key until it ends.
    """
    if len(names) != (2 if action == "forget" else 0):
        takes = (
            "takes TYPE and KEY: mainstay keys forget mail invoice-42"
            if action == "forget"
            else "takes no names; --prefix finds keys"
        )
        raise click.UsageError(f"keys {action} {takes}")
    with target.open() as app:
        if action == "ls":
            return _ls(app, target, output, prefix, limit)
        return _forget(app, output, names[0], names[1], dry_run)


def _ls(app: Mainstay, target: Target, output: Output, prefix: str, limit: int) -> int:
    found = app.store.keys(prefix, limit + 1)
    output.now = app.clock.now()
    shown = found[:limit]
    output.give(lambda: list(map(_record, shown)), [each.key for each in shown], lambda: _table(output, shown))
    if len(found) > limit:
        again = typed("keys", "ls", *(["--prefix", prefix] if prefix else []), "-n", str(limit * 10), target=target)
        output.talk(f"there are more: {again}")
    if not found:
        output.talk(f"no key {f'that starts with {prefix!r} ' if prefix else ''}is taken for ever")
    return exits.OK


def _record(found: KeyInfo) -> dict[str, Any]:
    return found._asdict() | {"since": iso(found.since)}


def _table(output: Output, found: list[KeyInfo]) -> None:
    if found:
        rows = [
            [
                (each.key, "bold"),
                each.type,
                each.job,
                (output.when(each.since), "dim"),
                "there" if each.there else "gone",
            ]
            for each in found
        ]
        output.table(["KEY", "TYPE", "ID", "SINCE", "JOB"], rows, drop=(3,))


def _forget(app: Mainstay, output: Output, type: str, key: str, dry_run: bool) -> int:
    job = forgotten(type, key, app.store.forget_key(type, key, app.clock.now(), actor(), dry_run))
    told = (
        f"job {job} has the key {key!r} of type {type}. Nothing changed." if dry_run else f"forgotten: job {job} had it"
    )
    record = {"key": key, "type": type, "job": job, "forgotten": not dry_run}
    output.give(lambda: record, [job], lambda: output.talk(told))
    return exits.OK
