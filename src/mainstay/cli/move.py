"""`move`: copies all jobs from one store to another."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from ..core.errors import UsageError
from ..core.settings import masked
from .options import command, shaped
from .output import plural
from .show import bar
from .target import existing

if TYPE_CHECKING:
    from ..stores.contract import Store
    from .output import Output

EVERY = 0.1  # seconds between two updates of the progress bar


@command(
    "mainstay move sqlite:///jobs.db postgresql://app@db/app\n"
    "mainstay move postgresql://app@db/app redis://cache:6379/0\n"
    "mainstay move --reopen sqlite:///jobs.db"
)
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO", required=False)
@click.option(
    "--force", is_flag=True, help="Move although workers are registered: jobs that run meanwhile may run twice."
)
@click.option("--reopen", is_flag=True, help="Let workers start on FROM again after a move.")
@click.option("--batch", type=click.IntRange(1, 5_000), default=500, show_default=True, help="Rows per transaction.")
@shaped
def move(source: str, target: str | None, force: bool, reopen: bool, batch: int, output: Output) -> None:
    """Copy every job, with its history, from one store to another.

    Stop workers and producers first. To continue an interrupted move, run the same command again. At the end it compares
    both stores row by row; after that, workers start on TO only.
    """
    from ..stores import open_store
    from ..stores.move import reopen as reopened, shown

    with open_store(existing(source)) as old:
        if reopen:
            reopened(old)
            output.talk(f"workers may start on {shown(old)} again, with the jobs as they were before the move")
        elif not target:
            attempt = f"mainstay move {masked(source)} postgresql://user@host/database"
            raise UsageError("TO is missing: name the store to move to", attempt)
        else:
            with open_store(target) as new:
                _move(old, new, force, batch, output)


def _move(source: Store, target: Store, force: bool, batch: int, output: Output) -> None:
    from ..stores.move import move, shown

    try:
        moved = move(source, target, Bar(output), force, batch)
    except KeyboardInterrupt:
        output.live()
        output.talk("stopped: run the same command again to continue; until then no worker starts on either store")
        raise
    finally:
        output.live()
    parts = {part: {"rows": found.rows, "checksum": f"{found.checksum:016x}"} for part, found in moved.items()}

    def text() -> None:
        rows = [[part, f"{found['rows']:,}", str(found["checksum"])] for part, found in parts.items()]
        output.table(["part", "rows", "checksum"], rows, right=(1,))
        output.line(f"{plural(moved['jobs'].rows, 'job')} moved to {shown(target)}; both stores hold the same rows.")
        output.line(f"Start workers with --url {shown(target)}; {shown(source)} is closed to them.")

    output.give(lambda: parts, (), text)


class Bar:
    """The progress bar of a move."""

    def __init__(self, output: Output) -> None:
        self._output, self._at = output, 0.0

    def __call__(self, doing: str, part: str, rows: int, total: int) -> None:
        """Draw the bar, at most once in `EVERY` seconds."""
        if time.monotonic() - self._at < EVERY and rows != total:
            return
        self._at = time.monotonic()
        of = f" of {total:,}" if total else ""
        self._output.live(f"{doing} {part:8} ", *bar(rows, total), f" {rows:,}{of}")
