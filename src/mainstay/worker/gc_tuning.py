"""Garbage collection in a process that does nothing but run jobs."""

from __future__ import annotations

import gc

YOUNG = 50_000  # new objects before a collection; a batch of jobs makes some thousand and drops them again


def tune_gc() -> None:
    """Exclude the objects of the start-up from later collections, and collect less often.

    Jobs of ours leave no cycles, and collecting cost a tenth of a drain. Not for a worker inside another program's
    process: the collector belongs to that program.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, 20, 100)
