"""Waiting for something to come true, with an end and a reason: the one way in which tests wait."""

import threading
import time

PAUSE = 0.005


def eventually(condition, what, seconds=10):
    """What `condition()` answers once that is true; fails with `what` was awaited when the time is over."""
    limit, pause = time.monotonic() + seconds, threading.Event()
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < limit, f"waited {seconds} s in vain: {what} (last answer: {found!r})"
        pause.wait(PAUSE)
