"""Garbage collection in a process that does nothing but run jobs."""

from __future__ import annotations

import gc

YOUNG = (
    50_000  # objects made before the collector looks at them; a batch of jobs makes some thousand and drops them again
)


def settle() -> None:
    """Take what start-up has made out of every later collection, and collect less often.

    Jobs leave no cycles of our making, so nearly all such work is in vain: it cost a tenth of a drain. Not for a
    worker inside somebody else's process: the collector is the process's own.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, 20, 100)
