"""`compact`: gives the space of deleted jobs back to the disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .options import command, shaped, targeted
from .output import size

if TYPE_CHECKING:
    from .output import Output
    from .target import Target


@command("mainstay compact --url sqlite:///jobs.db")
@shaped
@targeted
def compact(target: Target, output: Output) -> None:
    """Make a SQLite file smaller after many jobs were deleted.

    Workers may run meanwhile. A file that an older mainstay has made is rewritten: that needs as much free space as the file
    has, and writes wait until the end. PostgreSQL and Redis use the space of deleted jobs again by themselves.
    """
    with target.open() as app:
        try:
            done = app.store.compact(lambda freed, free: output.live(f"{size(freed)} of {size(free)} released"))
        finally:
            output.live()

    def text() -> None:
        output.line(done.advice or f"{size(done.before)} before, {size(done.after)} now")

    output.give(done._asdict, (), text)
