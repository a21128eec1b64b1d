"""The lines of a worker's log about jobs that completed. They are most of it, so they are written many at a time."""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from typing import TYPE_CHECKING

from ..core.clock import human, iso
from ..core.decide import Transition
from ..core.job import field_getter
from .exits import printable
from .output import dumped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

PAUSE = 0.02  # seconds for which lines are collected
_SHOWN = field_getter(Transition, "type", "id", "at", "started_at")


class CompletedLines:
    """Writes a line for each job that completed, at most a moment later. `flush` writes what there is.

    A thread of its own writes them: whoever reads the log may stop reading, and the worker goes on.
    """

    def __init__(self, as_json: bool, mark: str) -> None:
        self._json, self._mark = as_json, mark
        self._waiting: deque[Sequence[Transition]] = deque()
        self._lock, self._event = threading.Lock(), threading.Event()
        self._thread: threading.Thread | None = None
        self._called = False

    def add(self, completed: Sequence[Transition]) -> None:
        """Add jobs that have completed."""
        self._waiting.append(completed)
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
            form = self._as_json if self._json else self._as_text
            for _ in range(len(self._waiting)):
                sys.stderr.write("".join(form(self._waiting.popleft())))

    def _as_text(self, completed: Iterable[Transition]) -> Iterator[str]:
        before, head, mark = -1, "", self._mark
        for type, id, at, started_at in map(_SHOWN, completed):
            second, ms = divmod(at, 1000)
            if second != before:
                before, head = second, iso(second * 1000)[:-4]
            text, took = f"{type} {id}", at - started_at
            shown = text if text.isprintable() else printable(text)
            lasted = f"{took}ms" if 0 <= took < 1000 else human(max(took, 0))
            yield f"{head}{ms:03}Z {mark} {shown} completed in {lasted}\n"

    def _as_json(self, completed: Iterable[Transition]) -> Iterator[str]:
        for each in completed:
            record = {
                "at": iso(each.at), "level": "info", "event": "ended", "job": each.id, "type": each.type, "attempt": each.number,
                "outcome": "completed", "ms": max(each.at - each.started_at, 0), "error": None, "code": None, "reason": None,
            }  # fmt: skip
            yield dumped(record) + "\n"
