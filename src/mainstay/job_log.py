"""The log of one attempt as its handler writes it: counted and bounded, with a line where something is left out; and without secrets."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol

from .core.updates import Log
from .log_values import MESSAGE, as_text, encoded, short_encoder
from .redacting import redactor

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from .core.job import Claimed
    from .core.updates import LogLimits, Update

    Entry = tuple[
        int, int, str, str | None, str, str | None
    ]  # the fields of `core.updates.Line`: a plain tuple is made in a fifth of its time

HELD, HELD_CHARACTERS = (
    50,
    50_000,
)  # after so many lines or characters of one attempt, it is looked at how many wait in all


class LineTaker(Protocol):
    """Takes the log lines of attempts to the store."""

    limits: LogLimits

    @property
    def announced(self) -> Container[JobLog]:
        """The logs whose lines it will take."""

    def announce(self, log: JobLog) -> None:
        """Take the lines of a log and write them to the store, soon."""

    def hold(self) -> None:
        """Wait while too many lines wait."""

    def now(self) -> int:
        """Return the time."""


class JobLog:
    """The lines of an attempt that wait for the store. Its handler's threads add; one other thread takes, without a lock between them.

    Threads may miscount the characters a little.
    """

    __slots__ = (
        "_announced", "_done", "_most", "_most_lines", "_now", "_number", "_reporter", "_short", "attempt", "characters", "left_out", "waiting",
    )  # fmt: skip

    def __init__(self, reporter: LineTaker, job: Claimed) -> None:
        self.attempt: tuple[int | str, int] = job.seq, job.token
        self.waiting: deque[Entry] = deque()
        self.characters = self._done = 0  # of all lines so far, and of those that were taken or left out
        self.left_out = 0
        self._reporter, self._now, self._announced = reporter, reporter.now, reporter.announced
        self._number, self._short = count(1).__next__, short_encoder()
        self._most_lines, self._most, _ = reporter.limits

    @property
    def pending(self) -> int:
        """The characters of the lines that wait."""
        return self.characters - self._done

    def add(self, level: str, stage: str | None, message: object, fields: dict[str, Any]) -> None:
        """Add a line, or count it as left out. What stores it redacts it: see `redacted`."""
        text = None
        if fields:
            try:
                text = self._short(fields) or encoded(fields)  # nearly always the first
            except Exception:  # noqa: BLE001  (a value's own code may raise anything)
                text = encoded(fields)
            text = text or "null"
        line = as_text(message, MESSAGE)
        number = self._number()
        size = len(line) + len(text) if text else len(line)
        self.characters += size
        if number <= self._most_lines and self.characters <= self._most:
            self.put((number, self._now(), level, stage, line, text))
        else:
            self._leave_out(number, size)

    def put(self, line: Entry) -> None:
        """Keep a line, after a pause now and then if too many wait."""
        self.waiting.append(line)
        # Not by a flag of this log: one thread could set it, and announce too late for a line of another.
        if self not in self._announced:
            self._reporter.announce(self)
        if not line[0] % HELD or self.characters - self._done > HELD_CHARACTERS:
            self._reporter.hold()

    def _leave_out(self, number: int, size: int) -> None:
        self._done += size
        self.left_out += 1
        if self.left_out == 1:
            self._tell(number, "… the log is full")

    def end(self) -> None:
        """Add how many lines were left out, as the last line."""
        if self.left_out:
            self._tell(self._number(), f"… {self.left_out:,} lines left out")
            self.left_out = 0

    def _tell(self, number: int, what: str) -> None:
        kept = (
            f"an attempt keeps {self._most_lines:,} lines and {self._most:,} characters (job_log_lines, job_log_size)"
        )
        self.put((number, self._now(), "warning", None, f"{what}: {kept}", None))

    def take(self, most: int, characters: int) -> list[Entry]:
        """Remove and return the first lines, at least one if there are any. Those that come meanwhile are announced."""
        waiting, counted = self.waiting, self.characters
        number = len(waiting)
        # There may be none: a line can be taken before its thread has announced it.
        if not number or (number <= most and counted - self._done <= characters):
            self._done = counted
            return [waiting.popleft() for _ in range(number)]
        taken = [waiting.popleft()]
        while waiting and len(taken) < most and characters >= 0:
            characters -= length(taken[-1])
            taken.append(waiting.popleft())
        self._done += sum(map(length, taken))
        return taken

    def updates(self) -> Iterator[Update]:
        """Remove the lines that wait, and return each as an update without secrets."""
        with suppress(IndexError):  # another thread of the handler may take the last one
            while True:
                number, at, level, stage, message, fields = redacted([self.waiting.popleft()])[0]
                yield Log(*self.attempt, number, at, level, stage, message, fields)


class AtOnce:
    """The part of a `Reporter` that reports each log line at once."""

    announced: tuple[JobLog, ...] = ()

    def announce(self, log: JobLog) -> None:
        """Report the lines that wait."""
        for update in log.updates():
            self.report(update)

    def report(self, update: Update) -> None:
        """Write an update to the store, soon."""
        raise NotImplementedError

    def hold(self) -> None:
        """Do nothing: no line waits."""


def length(line: Entry) -> int:
    """Return about how many characters a line has."""
    return len(line[4]) + (len(line[5]) if line[5] else 0)


def suspected(lines: list[Entry]) -> bool:
    """Return whether lines may have secrets. Nearly always they have none: many at once cost a fraction of what each alone would."""
    found = redactor()
    if found.suspects("\n".join({line[4] for line in lines})):  # most programs log the same few messages
        return True
    fields = {line[5] for line in lines}
    fields.discard(None)
    return bool(fields) and found.suspects_json("\n".join(fields))  # type: ignore[arg-type]


def redacted(lines: list[Entry]) -> list[Entry]:
    """Return lines without their secrets."""
    if not suspected(lines):
        return lines
    found = redactor()
    return [(*line[:4], found.text(line[4]), line[5] and found.json(line[5])) for line in lines]
