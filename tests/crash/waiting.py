"""The only place in these tools that waits: handlers that take their time, the nemesis between two faults, bounded waits."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from mainstay import Mainstay

OFTEN = 0.01


def rest(seconds: float) -> None:
    """Let some time pass."""
    if seconds > 0:
        threading.Event().wait(seconds)


def until(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait for a condition, at most so long; answers whether it came true."""
    limit = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > limit:
            return False
        rest(OFTEN)
    return True


def at_rest(app: Mainstay) -> bool:
    """Whether nothing runs and nothing is due."""
    return all(count.label in ("dead", "review") for count in app.store.counts(1_000))
