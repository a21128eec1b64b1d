"""Processes behind two pipes, and the messages in these: one JSON value per line, because JSON cannot run code."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
from typing import Any

from ..core.draft import Draft
from ..core.outcome import Outcome
from ..core.updates import Checkpoint, Log, Progress

PIECE = 1 << 16
KEPT = "_MAINSTAY_PYTHONPATH"  # passes the original value of PYTHONPATH to the new process
UPDATES: dict[str, type[Log | Progress | Checkpoint]] = {"Log": Log, "Progress": Progress, "Checkpoint": Checkpoint}


def spawn(module: str, *arguments: str, **how: Any) -> tuple[subprocess.Popen[bytes], Writer, Reader]:
    """Start `python -m module … DESCRIPTOR`, which reads its standard input and writes to the descriptor.

    A fresh interpreter, not a fork: it finds the same modules and has no lock, connection or open file of this process.
    It has a process group of its own, out of the reach of the terminal's signals.
    """
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    out, messages = Writer(ours_out), Reader(ours_in)
    command = [sys.executable, "-P", "-m", module, *arguments, str(theirs_out)]
    try:
        process = subprocess.Popen(  # noqa: S603
            command, stdin=theirs_in, pass_fds=(theirs_out,), env=_environment(), process_group=0, **how
        )
    except BaseException:
        out.close()
        messages.close()
        raise
    finally:
        os.close(theirs_in)
        os.close(theirs_out)
    return process, out, messages


def _environment() -> dict[str, str]:
    kept = os.environ.get("PYTHONPATH", "")
    return {**os.environ, KEPT: kept, "PYTHONPATH": os.pathsep.join(sys.path)}


def take_over(descriptor: str) -> tuple[int, int]:
    """In the new process, before user code runs: return the pipes, which no child inherits; the standard input is empty."""
    control, out = os.dup(0), int(descriptor)
    os.set_inheritable(out, False)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.close(nothing)
    restore_path()
    return control, out


def restore_path() -> None:
    """Search modules where the parent does, and restore PYTHONPATH for the children of this process."""
    kept = os.environ.pop(KEPT, None)
    if kept is None:
        return
    sys.path[:] = os.environ.pop("PYTHONPATH", "").split(os.pathsep)
    if kept:
        os.environ["PYTHONPATH"] = kept


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

    def close(self) -> None:
        os.close(self._descriptor)


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


def outcome_out(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome as a message, with its children."""
    return outcome._asdict() | {"children": [_draft_out(child) for child in outcome.children]}


def outcome_in(message: dict[str, Any]) -> Outcome:
    """Return the outcome in a message."""
    children = tuple(_draft_in(child) for child in message["children"])
    return Outcome(**message | {"children": children})


def _draft_out(draft: Draft) -> dict[str, Any]:
    return {name: getattr(draft, name) for name in Draft.__slots__}


def _draft_in(message: dict[str, Any]) -> Draft:
    undeclared = message["undeclared"]
    fixed = {"tags": tuple(message["tags"]), "undeclared": None if undeclared is None else tuple(undeclared)}
    return Draft(**message | fixed)
