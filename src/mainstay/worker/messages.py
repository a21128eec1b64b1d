"""Messages between a worker and the processes it starts: one JSON value per line, because JSON cannot run code."""

from __future__ import annotations

import json
import os
import select
import threading
from typing import TYPE_CHECKING, Any

from ..core.draft import restored
from ..core.outcome import Outcome
from ..core.updates import Checkpoint, Log, Progress

if TYPE_CHECKING:
    from ..core.updates import Update

PIECE = 1 << 16
UPDATES: dict[str, type[Log | Progress | Checkpoint]] = {"log": Log, "progress": Progress, "checkpoint": Checkpoint}


class Reader:
    """Reads messages from a pipe, with a time limit."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)
        self._parts: list[bytes] = []  # of a line that has not ended
        self._lines: list[bytes] = []

    def read(self, seconds: float | None) -> Any:
        """Return the next message; None if none came in that time; raise EOFError at the end of the pipe."""
        while not self._lines:
            if not self._poll.poll(None if seconds is None else seconds * 1000):
                return None
            self._take(os.read(self._descriptor, PIECE))
        return json.loads(self._lines.pop(0))

    def _take(self, data: bytes) -> None:
        if not data:
            raise EOFError
        *ends, rest = data.split(b"\n")
        for end in ends:
            self._lines.append(b"".join([*self._parts, end]))
            self._parts.clear()
        self._parts.append(rest)


class Writer:
    """Writes whole messages into a pipe, from any thread."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()

    def write(self, message: Any) -> bool:
        """Send one message; False if the reader is gone."""
        line = memoryview(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        try:
            with self._lock:
                while line:
                    line = line[os.write(self._descriptor, line) :]
        except OSError:
            return False
        return True

    def close(self) -> None:
        """Close the pipe: the reader sees the end."""
        with self._lock:
            if self._descriptor >= 0:
                os.close(self._descriptor)
            self._descriptor = -1  # another file may soon get that number

    def forget(self) -> None:
        """Close the pipe in a forked copy of the process, where a lock of another thread is never released."""
        self._lock = threading.Lock()
        self.close()


def update_out(update: Update) -> list[Any]:
    """Return an update as a message."""
    return [type(update).__name__.lower(), *update]


def update_in(message: list[Any]) -> Update:
    """Return the update in a message."""
    kind, *fields = message
    update: Update = UPDATES[kind](*fields)
    return update


def outcome_out(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome as a message, with its children."""
    return outcome._asdict() | {"children": [child.values() for child in outcome.children]}


def outcome_in(message: dict[str, Any]) -> Outcome:
    """Return the outcome in a message."""
    return Outcome(**message | {"children": tuple(map(restored, message["children"]))})
