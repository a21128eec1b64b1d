"""What happened, written down outside the system under test: one line an event, one write a line, a file a process.

A line that `write` has handed to the kernel survives any kill of the process. `at` is an instant of the machine-wide
monotonic clock in nanoseconds, so that lines of different processes can be put in one order; `wall` is the wall clock in
milliseconds, in which the engine speaks.
"""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FOLDER = "journal"
GIVEN_UP = "given up"  # how an attempt ended whose worker had lost its lease


class Journal:
    """The lines of one process. Later processes of the same name go on in the same file."""

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder / FOLDER / f"{name}.jsonl"
        self.path.parent.mkdir(exist_ok=True)
        self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._pid, self._name = os.getpid(), name

    def write(self, op: str, **fields: Any) -> int:
        """Add one line; answers its instant."""
        at = time.monotonic_ns()
        line = {"at": at, "wall": time.time_ns() // 1_000_000, "pid": self._pid, "who": self._name, "op": op, **fields}
        os.write(self._file, json.dumps(line, separators=(",", ":")).encode() + b"\n")
        return at

    def close(self) -> None:
        """Let the file go."""
        os.close(self._file)


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of one file; a last line that a full disk cut short does not count."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.endswith("\n"):
                yield json.loads(line)


def read(folder: Path) -> list[dict[str, Any]]:
    """Every line of every process, in the order of their instants."""
    found = [line for path in sorted((folder / FOLDER).glob("*.jsonl")) for line in lines(path)]
    return sorted(found, key=lambda line: line["at"])
