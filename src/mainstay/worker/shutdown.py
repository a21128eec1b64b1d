"""Signals: the first asks for a graceful end, the second for an end now."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

    from . import Worker

SIGNALS = (signal.SIGTERM, signal.SIGINT)


def until_signalled(worker: Worker) -> int:
    """Start the worker, wait for a signal, stop it; answers the exit code."""
    asked, again = threading.Event(), threading.Event()

    def heard(number: int, frame: FrameType | None) -> None:
        (again if asked.is_set() else asked).set()
        if again.is_set():
            worker.hurry()

    before = {number: signal.signal(number, heard) for number in SIGNALS}  # first: a signal during start counts
    try:
        worker.start()
        while not asked.wait(0.5):  # short waits: a plain wait() would hold signals back on some platforms
            pass
        worker.stop()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return 0
