"""Draining in front of a long queue of waiting jobs, and behind a long history of finished ones.

The file with the backlog is made once a run for each contender and copied for each round: the copy is what is drained.
"""

from __future__ import annotations

import shutil
import sqlite3
from typing import TYPE_CHECKING

from ..processes import produce
from .drain import beside_itself, drain

if TYPE_CHECKING:
    from pathlib import Path

    from ..contenders import Contender
    from ..scale import Scale
    from . import Figures, Place


@beside_itself
def waiting(contender: Contender, scale: Scale, place: Place) -> Figures:
    """The first jobs of a queue in which so many more wait."""
    jobs = scale.share(scale.drain, contender.pace)
    queued = jobs + scale.backlog
    kept = place.shared / f"waiting-{place.database(contender).name}"
    if not kept.exists():
        produce(contender, kept, "fill", queued)
        settle(kept)
    path = _copied(kept, place.database(contender))
    return drain(contender, path, jobs, queued)


@beside_itself
def finished(contender: Contender, scale: Scale, place: Place) -> Figures:
    """A drain in a file that holds so many finished jobs."""
    jobs = scale.share(scale.drain, contender.pace)
    kept = place.shared / f"finished-{place.database(contender).name}"
    if not kept.exists():
        produce(contender, kept, "fill", scale.backlog)
        contender.age(kept)
        settle(kept)
    path = _copied(kept, place.database(contender))
    produce(contender, path, "fill", jobs)
    return drain(contender, path, jobs, jobs)


def settle(path: Path) -> None:
    """Bring everything from the write-ahead log into the file, so that the file alone can be copied."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def _copied(kept: Path, path: Path) -> Path:
    shutil.copyfile(kept, path)
    return path
