"""`bulk`: operations on many jobs that were stopped: list them, resume one, or give it up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ..control.bulk import forget as give_up, resume as go_on
from . import exits
from .actions import ACTOR, ROLE, actor, tell
from .groups import group, subcommand
from .options import on_store
from .progress import Watch

if TYPE_CHECKING:
    from ..control.bulk import Operation
    from .options import Target
    from .output import Output


@group(
    """
    mainstay bulk
    mainstay bulk --all
    mainstay bulk resume 7K2M9QWX4T
    mainstay bulk forget 7K2M9QWX4T
    """
)
@click.option("--all", "finished", is_flag=True, help="Those that are finished too.")
@on_store("Print only the ids of the operations.")
def bulk(target: Target, output: Output, finished: bool) -> None:
    """List operations on many jobs that were stopped, or that go on now; resume one.

    An operation is what one command does to all jobs that a search finds. Stopped by Ctrl-C, a kill or an error of the store,
    it goes on where it was, and changes each job once. The list is as old as the audit log.
    """
    with target.open() as app:
        output.now = app.clock.now()
        found = app.bulk_operations(finished=finished)
    output.give(
        lambda: [_record(each) for each in found], [each.id for each in found], lambda: _print(output, [*found])
    )
    if not found:
        output.talk("no operation was stopped" if not finished else "there was no operation on many jobs yet")


def _record(each: Operation) -> dict[str, object]:
    return each._asdict() | {"at": each.at.isoformat(), "refused": dict(each.refused)}


def _print(output: Output, found: list[Operation]) -> None:
    rows = [
        (
            each.id, each.action, f"{each.changed + sum(each.refused.values()):,} of {each.matched:,}",
            output.when(int(each.at.timestamp() * 1000)), each.actor, each.search or "all jobs",
        )
        for each in found
    ]  # fmt: skip
    if rows:
        output.table(("ID", "ACTION", "DONE", "STARTED", "BY", "SEARCH"), rows, right=(2,), drop=(4, 3), whole=(1, 2))


@subcommand(bulk, "resume", "mainstay bulk resume 7K2M9QWX4T")
@click.argument("operation")
@ROLE
@ACTOR
@on_store("Print only the ids of the jobs that were changed.")
def resume(target: Target, output: Output, operation: str, by: str, roles: tuple[str, ...]) -> int:
    """Go on with an operation from the place that it has reached.

    If you have not begun it, reviews that a role decides need your --role.
    """
    with target.open() as app:
        verb = next((each.action for each in app.bulk_operations() if each.id.startswith(operation.upper())), "retry")
        with Watch(output, verb) as watch:
            report = go_on(app, operation, by or actor(), watch, roles=roles, declared=True)
    return tell(output, report.verb, report, by_id=False)


@subcommand(bulk, "forget", "mainstay bulk forget 7K2M9QWX4T")
@click.argument("operation")
@ACTOR
@on_store("Print only the id.")
def forget(target: Target, output: Output, operation: str, by: str) -> int:
    """Give an operation up: what it has changed stays, the other jobs are left alone."""
    with target.open() as app:
        found = give_up(app, operation, by or actor())
    output.give(lambda: {"operation": found}, [found], lambda: output.talk(f"the operation {found} is given up"))
    return exits.OK
