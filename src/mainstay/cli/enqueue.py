"""`enqueue`: the full command. `fast_enqueue` handles its plain form, with the same syntax."""

from __future__ import annotations

import sys
from contextlib import closing, contextmanager
from math import inf
from typing import TYPE_CHECKING, Any

import click

from ..control.findings import unable
from ..control.workers import live
from ..core.errors import ResultTimeout
from . import enqueue_args
from .options import command, on_store
from .output import dumped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..app import Mainstay
    from ..core.job import TypeInfo
    from ..handle import Handle
    from .options import Target
    from .output import Output


MOMENT = 1.0  # seconds until a wait says that no worker serves the job


@command(
    """
    mainstay enqueue resize path=a.png width=300
    mainstay enqueue invoice id=42 --key invoice-42 --in 5m --tag eu
    mainstay enqueue import_rows @rows.json --wait --timeout 30s
    """
)
@click.argument("type")
@click.argument("arguments", nargs=-1, metavar="[NAME=VALUE…|-|@FILE]")
@click.option("--key", help="At most one job of this type and key at a time.")
@click.option("--unique", metavar="HOW", help="How long the key is taken: alive (the default), start or forever.")
@click.option("--period", metavar="DURATION", help="Once a period, such as 1h, whatever became of the job.")
@click.option("--in", "delay", metavar="DURATION", help="Run it after this delay at the earliest: 90s, 5m, 2h, 3d.")
@click.option("--at", metavar="INSTANT", help="Run it at this time at the earliest: 2026-01-31T09:30 (local) or …Z.")
@click.option("--priority", metavar="N", help="-1000 to 1000; higher runs first.")
@click.option("--queue", help="Use this queue instead of the type's own.")
@click.option("--tag", multiple=True, help="A label to search by; may be repeated.")
@click.option("--tenant", help="The tenant that the job belongs to.")
@click.option("--ref", help="The entity that the job is about, e.g. invoice/42.")
@click.option("--attempts", metavar="N", help="The maximum number of attempts.")
@click.option(
    "--on-conflict", type=click.Choice(["existing", "replace", "raise"]), help="What to do when the key is taken."
)
@click.option("--force", is_flag=True, help="Enqueue it even if the type looks like a misspelling of a known one.")
@click.option("--wait", is_flag=True, help="Wait for the job to end and print its result.")
@click.option("--timeout", metavar="DURATION", help="With --wait: the maximum time to wait.")
@on_store("Print only the id: no messages and, with --wait, no result.")
def enqueue(
    target: Target, output: Output, type: str, arguments: tuple[str, ...], force: bool, wait: bool, timeout: str | None,
    delay: str | None, **given: Any,
) -> None:  # fmt: skip
    """Accept a job durably and print its id.

    NAME=VALUE is one argument. A value that is valid JSON (300, true, null, [1,2]) is parsed; anything else is text. An
    argument that the type declares as str is always text. - reads a JSON object from stdin, @FILE from a file.
    If the key is taken, the command prints the id of the job that has it.
    """
    if timeout and not wait:
        raise click.UsageError("--timeout limits --wait and needs it; the type of a job sets the job's own timeout")
    with _opened(target) as (app, own):
        handle = enqueue_args.send(app, type, arguments, given | {"in": delay}, own, force)
        output.give(lambda: {"id": handle.id, "created": handle.created}, [handle.id], lambda: output.line(handle.id))
        if not handle.created:
            output.talk(enqueue_args.taken(given))
        if wait:
            _wait(output, handle, timeout, lambda: _unserved(app, handle.id, target.start()))


@contextmanager
def _opened(target: Target) -> Iterator[tuple[Mainstay, list[TypeInfo]]]:
    """Open the store, created if it is missing. Give it with the types that the application defines."""
    if target.wants_code():
        with closing(target.application()) as app:
            yield app, [type.info(app.clock.now(), name) for name, type in app.registry.items()]
    else:
        with target.open(create=True) as app:
            yield app, []


def _wait(output: Output, handle: Handle[Any], timeout: str | None, why: Callable[[], list[str]]) -> None:
    limit = inf if timeout is None else enqueue_args.duration("--timeout", timeout)
    sys.stdout.flush()  # a reader of the id need not wait for the result
    try:
        result = _result(output, handle, limit, why)
    except ResultTimeout:
        late = f"job {handle.id} has not ended within {timeout}; it is not cancelled"
        raise ResultTimeout("\n".join([late, *why()])) from None
    if not output.shape.quiet:
        output.line(dumped(result))


def _result(output: Output, handle: Handle[Any], limit: float, why: Callable[[], list[str]]) -> Any:
    """Return the result of the job; say after a moment if no live worker serves it."""
    if limit > MOMENT:
        try:
            return handle.result(MOMENT)
        except ResultTimeout:
            for reason in why():
                output.talk(reason)
    rest = limit - MOMENT if limit > MOMENT else limit
    return handle.result(None if rest == inf else rest)


def _unserved(app: Mainstay, job_id: str, start: str) -> list[str]:
    """Return why no live worker starts the job, if it waits and none does."""
    job, now = app.store.get(job_id), app.clock.now()
    return unable(job, live(app.store.workers(), now), start) if job and job.state == "queued" else []
