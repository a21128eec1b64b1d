"""`move`: a whole installation from one store to another."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click

from ..core.settings import masked
from .exits import Hint
from .options import command, shaped
from .output import plural
from .target import existing

if TYPE_CHECKING:
    from ..stores.contract import Store
    from .output import Output

WIDTH = 30
EVERY = 0.1  # seconds between two pictures of the bar


@command(
    "mainstay move sqlite:///jobs.db postgresql://app@db/app\n"
    "mainstay move postgresql://app@db/app redis://cache:6379/0\n"
    "mainstay move --reopen sqlite:///jobs.db"
)
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO", required=False)
@click.option("--force", is_flag=True, help="Although workers are registered: what runs meanwhile may run twice.")
@click.option("--reopen", is_flag=True, help="Let workers start on FROM again, whose jobs have moved.")
@click.option("--batch", type=click.IntRange(1, 5_000), default=500, show_default=True, help="Rows a transaction.")
@shaped
def move(source: str, target: str | None, force: bool, reopen: bool, batch: int, output: Output) -> None:
    """Copy every job, with its history, from one store to another.

    Stop workers and producers first. A move that was interrupted goes on where it stopped when the same command is run
    again. At the end both stores are compared, row by row; then workers start on TO only.
    """
    from ..stores import open_store

    with open_store(existing(source)) as old:
        if reopen:
            _reopen(old, output)
            return
        if not target:
            raise Hint("where to? TO is missing", f"mainstay move {masked(source)} postgresql://user@host/database")
        with open_store(target) as new:
            _move(old, new, force, batch, output)


def _reopen(store: Store, output: Output) -> None:
    from ..stores.move import reopen, shown

    reopen(store)
    output.talk(f"workers may start on {shown(store)} again, with the jobs as they were before the move")


def _move(source: Store, target: Store, force: bool, batch: int, output: Output) -> None:
    from ..stores.move import move, shown

    bar = Bar(sys.stderr.isatty() and not output.shape.machine and not output.shape.quiet)
    try:
        moved = move(source, target, bar, force, batch)
    except KeyboardInterrupt:
        bar.clear()
        output.talk("stopped: the same command goes on from here; until then no worker starts on either store")
        raise
    finally:
        bar.clear()
    if output.shape.machine:
        output.record(
            {part: {"rows": found.rows, "checksum": f"{found.checksum:016x}"} for part, found in moved.items()}
        )
    elif not output.shape.quiet:
        output.table(
            ["part", "rows", "checksum"],
            [[p, f"{d.rows:,}", f"{d.checksum:016x}"] for p, d in moved.items()],
            right=(1,),
        )
        output.line(f"{plural(moved['jobs'].rows, 'job')} moved to {shown(target)}; both stores hold the same.")
        output.line(f"Start workers with --url {shown(target)}; {shown(source)} is closed to them.")


class Bar:
    """How far the move is, on a terminal: one line that is drawn again and again."""

    def __init__(self, shown: bool) -> None:
        self._shown, self._at = shown, 0.0

    def __call__(self, doing: str, part: str, rows: int, total: int) -> None:
        """Draw, unless that was just done."""
        if not self._shown or (time.monotonic() - self._at < EVERY and rows != total):
            return
        self._at = time.monotonic()
        full = WIDTH * rows // total if total else 0
        bar = f"[{'█' * full}{' ' * (WIDTH - full)}] {rows:,} of {total:,}" if total else f"{rows:,}"
        sys.stderr.write(f"\r\033[K{doing} {part:8} {bar}")
        sys.stderr.flush()

    def clear(self) -> None:
        """Leave no trace."""
        if self._shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
