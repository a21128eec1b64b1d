"""The log lines of one attempt on their way to the store."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from msgspec.json import encode as _encode

from ..core.updates import LEVELS, Log
from ..job_log import redacted, suspected

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..core.updates import Line
    from .reporter import WorkerReporter

CHUNK, CHUNK_CHARACTERS = 100, 50_000  # of lines in one row; the first comes however long it is
HELD, HELD_CHARACTERS = 50, 50_000  # of one attempt: after so many, it is looked at how many wait in all


class AttemptLog:
    """The lines of an attempt that wait. Its handler's threads add; the claimer takes, without a lock between them."""

    __slots__ = ("_announced", "_reporter", "attempt", "characters", "waiting")

    def __init__(self, attempt: tuple[int | str, int], reporter: WorkerReporter) -> None:
        self.attempt, self._reporter = attempt, reporter
        self.waiting: deque[Line] = deque()
        self.characters = 0  # of those that wait; threads may miscount them a little
        self._announced = reporter.announced

    def add(self, line: Line) -> None:
        """Add a line, after a pause now and then if too many wait."""
        self.waiting.append(line)
        self.characters += len(line[4])
        if line[5]:
            self.characters += len(line[5])
        # Not by a flag of this log: one thread could set it, and announce too late for a line of another.
        if self not in self._announced:
            self._reporter.announce(self)
        if not len(self.waiting) % HELD or self.characters > HELD_CHARACTERS:
            self._reporter.hold()

    def take(self, most: int, characters: int) -> list[Line]:
        """Remove and return the first lines, at least one if there are any. Those that come meanwhile are announced."""
        count, large = len(self.waiting), self.characters > characters
        self.characters = 0
        # There may be none: a line can be taken before its thread has counted and announced it.
        if not count or (count <= most and not large):
            return [self.waiting.popleft() for _ in range(count)]
        taken = [self.waiting.popleft()]
        while self.waiting and len(taken) < most and characters >= 0:
            characters -= length(taken[-1])
            taken.append(self.waiting.popleft())
        self.characters = sum(map(length, list(self.waiting)))
        return taken


def length(line: Line) -> int:
    """Return about how many characters a line has."""
    return len(line[4]) + (len(line[5]) if line[5] else 0)


def pack_all(taken: list[tuple[tuple[int | str, int], list[Line], int]]) -> list[Log]:
    """Return the lines of many attempts as updates without secrets; each attempt comes with its lines and their characters."""
    clean = not suspected([line for _, lines, _ in taken for line in lines])
    return [log for attempt, lines, characters in taken for log in pack(*attempt, lines, characters, clean)]


def pack(seq: int | str, token: int, lines: list[Line], characters: int, clean: bool = False) -> list[Log]:
    """Return the lines of an attempt, which have so many characters, as updates without secrets: most often as one.

    They are `clean` if they are known to have none.
    """
    if not lines:
        return []
    if not clean:
        lines = redacted(lines)
    if len(lines) <= CHUNK and characters <= CHUNK_CHARACTERS:
        return [_packed(seq, token, lines)]
    return [_packed(seq, token, chunk) for chunk in _chunks(lines)]


def _packed(seq: int | str, token: int, lines: list[Line]) -> Log:
    if len(lines) == 1:
        return Log(seq, token, *lines[0])
    levels = {line[2] for line in lines}
    worst = levels.pop() if len(levels) == 1 else max(levels, key=LEVELS.index)
    return Log(seq, token, lines[0][0], lines[-1][1], worst, None, _encode(lines).decode(), None, len(lines))


def _chunks(lines: list[Line]) -> Iterator[list[Line]]:
    """Return the lines in pieces that fit one row."""
    start = characters = 0
    for place, line in enumerate(lines):
        size = len(line[4]) + len(line[5] or "")
        characters += size
        if place > start and (place - start == CHUNK or characters > CHUNK_CHARACTERS):
            yield lines[start:place]
            start, characters = place, size
    yield lines[start:]
