"""The lines of a worker's log about jobs that completed. They are most of it, so they are written many at a time."""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from typing import TYPE_CHECKING

from ..core.clock import human, iso
from .exits import printable
from .output import dumped

if TYPE_CHECKING:
    from ..core.job import Claimed

PAUSE = 0.02  # seconds for which lines are collected


class CompletedLines:
    """Writes a line for each job that completed, at most a moment later. `flush` writes what there is."""

    def __init__(self, as_json: bool, mark: str) -> None:
        self._json, self._mark = as_json, mark
        self._waiting: deque[tuple[Claimed, int]] = deque()
        self._lock, self._event = threading.Lock(), threading.Event()
        self._thread: threading.Thread | None = None
        self._called = False
        self._heads: tuple[int, str] = (-1, "")  # the second, and how it is written

    def add(self, job: Claimed, at: int) -> None:
        """Add a job that completed at this instant."""
        self._waiting.append((job, at))
        if not self._called:
            self._called = True
            self._start()

    def _start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="mainstay-log", daemon=True)
                self._thread.start()
        self._event.set()

    def _work(self) -> None:
        while self._event.wait():
            time.sleep(PAUSE)
            self._event.clear()
            self._called = False  # before the lines are taken: one that comes meanwhile calls again
            self.flush()

    def flush(self) -> None:
        """Write the lines that wait."""
        with self._lock:
            line = self._as_json if self._json else self._as_text
            lines = [line(*self._waiting.popleft()) for _ in range(len(self._waiting))]
            if lines:
                sys.stderr.write("".join(lines))

    def _as_text(self, job: Claimed, at: int) -> str:
        second = at // 1000
        if self._heads[0] != second:
            self._heads = second, iso(second * 1000)[:-4]
        took = at - job.started_at
        text = f"{job.type} {job.id}"
        shown = text if text.isprintable() else printable(text)
        lasted = f"{took}ms" if 0 <= took < 1000 else human(max(took, 0))
        return f"{self._heads[1]}{at % 1000:03}Z {self._mark} {shown} completed in {lasted}\n"

    def _as_json(self, job: Claimed, at: int) -> str:
        record = {
            "at": iso(at), "level": "info", "event": "ended", "job": job.id, "type": job.type, "attempt": job.attempt,
            "outcome": "completed", "ms": max(at - job.started_at, 0), "error": None, "code": None, "reason": None,
        }  # fmt: skip
        return dumped(record) + "\n"
