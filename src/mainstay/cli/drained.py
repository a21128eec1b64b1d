"""The end of a drain: its summary, and the program that frees the jobs of handlers that ended with their process.

That program is `python -m mainstay.cli.drained`. It imports little: it runs when the time is nearly over.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from typing import Any

from ..core.clock import SystemClock, human
from ..core.events import Events
from ..stores import open_store
from ..upkeep.sweep import Sweep
from ..worker.drained import Drained, count_left
from . import exits
from .output import dumped, plural

HANDOVER = "MAINSTAY_DRAINED"  # the environment variable with what this program needs: a URL may have a password


def report(done: Drained, seconds: float, as_json: bool) -> int:
    """Print the summary; return the exit code: 3 if a job is dead, because nobody runs it again."""
    if as_json:
        first = {"processed": done.processed, "errors": done.errors}
        sys.stdout.write(dumped(first | done._asdict() | {"seconds": round(seconds, 3)}) + "\n")
    else:
        left = f"{done.left:,}{'+' if done.more else ''} left"
        sys.stdout.write(
            f"{done.processed:,} processed, {plural(done.errors, 'error')}, {left} in {human(round(seconds * 1000))}\n"
        )
    sys.stdout.flush()
    return exits.PARTIAL if done.dead else exits.OK


def free(url: str, worker: str, wants: dict[str, list[str]], done: list[Any], since: float, json: bool) -> int:
    """Free the jobs of the worker that this process was, and print the summary: what it released is left."""
    clock, result = SystemClock(), Drained._make(done)
    with open_store(url) as store:
        store.deregister(worker)
        Sweep(store, random.random, Events(), 0).step(clock.now())
        left, more = count_left(store, wants, clock.now())
    return report(result._replace(left=left, more=more, running=0), time.monotonic() - since, json)


def main() -> int:
    """Do the rest of a drain."""
    try:
        return free(**json.loads(os.environ.pop(HANDOVER)))
    except Exception as error:  # noqa: BLE001  (the lease runs out by itself)
        return exits.report(error)


if __name__ == "__main__":
    sys.exit(main())
