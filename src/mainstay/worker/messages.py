"""What passes between a worker and the processes it starts: one JSON value a line. A line is data; it cannot run code."""

from __future__ import annotations

import json
import os
import select
import threading
from typing import TYPE_CHECKING, Any

from ..core.draft import Draft
from ..core.outcome import Outcome
from ..core.updates import Checkpoint, Log, Progress

if TYPE_CHECKING:
    from ..core.updates import Update

PIECE = 1 << 16
NOTES: dict[str, type[Log | Progress | Checkpoint]] = {"log": Log, "progress": Progress, "checkpoint": Checkpoint}


class Reader:
    """Messages from a pipe, for a reader that must also look at other things now and then."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)
        self._parts: list[bytes] = []  # of a line that has not ended yet
        self._lines: list[bytes] = []

    def read(self, seconds: float | None) -> Any:
        """The next message; None when none came in that time; raises EOFError at the end of the pipe."""
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
    """Messages into a pipe, whole, from any thread."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()

    def write(self, message: Any) -> bool:
        """Send one message; False when nobody is there any more to read it."""
        line = memoryview(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        try:
            with self._lock:
                while line:
                    line = line[os.write(self._descriptor, line) :]
        except OSError:
            return False
        return True

    def close(self) -> None:
        """Send nothing more: the reader sees the end."""
        with self._lock:
            if self._descriptor >= 0:
                os.close(self._descriptor)
            self._descriptor = -1  # the number may soon be another file's

    def forget(self) -> None:
        """Close it in a forked copy of the process, where another thread's lock may be held for ever."""
        self._lock = threading.Lock()
        self.close()


def note_out(note: Update) -> list[Any]:
    """A note as a message."""
    return [type(note).__name__.lower(), *note]


def note_in(message: list[Any]) -> Update:
    """The note in a message."""
    kind, *fields = message
    note: Update = NOTES[kind](*fields)
    return note


def outcome_out(outcome: Outcome) -> dict[str, Any]:
    """An outcome as a message, with the children that come into being with it."""
    return outcome._asdict() | {"children": [_draft_out(child) for child in outcome.children]}


def outcome_in(message: dict[str, Any]) -> Outcome:
    """The outcome in a message."""
    children = tuple(_draft_in(child) for child in message["children"])
    return Outcome(**message | {"children": children})


def _draft_out(draft: Draft) -> dict[str, Any]:
    return {name: getattr(draft, name) for name in Draft.__slots__}


def _draft_in(message: dict[str, Any]) -> Draft:
    undeclared = message["undeclared"]
    fixed = {"tags": tuple(message["tags"]), "undeclared": None if undeclared is None else tuple(undeclared)}
    return Draft(**message | fixed)
