"""The log of one attempt as its handler writes it: counted and bounded, with a line where something is left out; and without secrets."""

from __future__ import annotations

from _thread import allocate_lock
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol

from .core.errors import UsageError
from .core.payload import clean
from .core.suggest import did_you_mean
from .core.updates import LEVELS, Log
from .log_values import MESSAGE, as_text, encoded, simple_encoder
from .redacting import redactor

if TYPE_CHECKING:
    from collections.abc import Container, Iterator
    from typing import NoReturn

    from .core.job import Claimed
    from .core.updates import LogLimits, Update

    # The fields of `core.updates.Line`: a plain tuple is made in a fifth of its time.
    Entry = tuple[int, int, str, str | None, str, str | None]

CERTAIN = 18  # characters of JSON without a backslash that are right as they are: no number in them is long
# After so many lines or characters of one attempt, it is looked at how many wait in all.
HELD, HELD_CHARACTERS = 50, 50_000

_taking = allocate_lock()  # held for a microsecond; one for each log would cost each job more


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

    def close(self, log: JobLog) -> None:
        """Prepare the lines of a log whose handler has ended."""

    def now(self) -> int:
        """Return the time."""


class JobLog:
    """The lines of an attempt that wait for the store. Its handler's threads add, without a lock; one thread at a time takes.

    A line costs its handler as little as can be: it is only made safe to keep here, and `redacted` by what takes it.
    Threads may miscount the characters a little.
    """

    __slots__ = (
        "_announced", "_done", "_encode", "_now", "_numbers", "_quick", "_reporter", "attempt", "characters", "left_out", "waiting",
    )  # fmt: skip

    def __init__(self, reporter: LineTaker, job: Claimed) -> None:
        self.attempt: tuple[int | str, int] = job.seq, job.token
        self.waiting: list[Entry] = []  # a deque takes 600 bytes
        self.characters = self._done = self.left_out = 0  # of all lines so far; of those that were taken or left out
        self._reporter, self._now, self._announced = reporter, reporter.now, reporter.announced
        self._numbers, self._encode = count(1), simple_encoder()[0]
        lines, characters, _ = reporter.limits
        # Lines below this number are neither too many nor cause for a pause.
        self._quick = HELD if lines >= HELD and characters >= HELD_CHARACTERS else 0

    @property
    def pending(self) -> int:
        """The characters of the lines that wait."""
        return self.characters - self._done

    def add(self, level: str, stage: str | None, message: object, fields: dict[str, Any]) -> None:
        """Add a line, after a pause now and then if too many wait; or count it as left out."""
        if type(message) is not str or len(message) > MESSAGE:
            message = as_text(message, MESSAGE)
        text, size = None, len(message)
        if fields:
            try:
                text = self._encode(fields).decode()
            except Exception:  # noqa: BLE001  (a value's own code may raise anything)
                text = None
            if text is None or len(text) > CERTAIN or "\\" in text:
                text = encoded(fields, text) or "null"
            size += len(text)
        number = next(self._numbers)
        self.characters = characters = self.characters + size
        if number < self._quick and characters < HELD_CHARACTERS:  # nearly always: as `_add_more`, with a call less
            self.waiting.append((number, self._now(), level, stage, message, text))
            if self not in self._announced:
                self._reporter.announce(self)
        else:
            self._add_more((number, self._now(), level, stage, message, text), size)

    def _add_more(self, line: Entry, size: int) -> None:
        """Add a line of a long log."""
        number, characters, limits = line[0], self.characters, self._reporter.limits
        if number > limits.lines or characters > limits.characters:
            self._leave_out(number, size)
            return
        self.put(line)
        if not number % HELD or characters - self._done > HELD_CHARACTERS:
            self._reporter.hold()

    def put(self, line: Entry) -> None:
        """Keep a line."""
        self.waiting.append(line)
        # Not by a flag of this log: one thread could set it, and announce too late for a line of another.
        if self not in self._announced:
            self._reporter.announce(self)

    def _leave_out(self, number: int, size: int) -> None:
        self._done += size
        self.left_out += 1
        if self.left_out == 1:
            self._tell(number, "… the log is full")

    def end(self) -> None:
        """Add how many lines were left out, as the last line. The handler has ended."""
        if self.left_out:
            self._tell(next(self._numbers), f"… {self.left_out:,} lines left out")
            self.left_out = 0
        self._reporter.close(self)

    def _tell(self, number: int, what: str) -> None:
        lines, characters, _ = self._reporter.limits
        kept = f"an attempt keeps {lines:,} lines and {characters:,} characters (job_log_lines, job_log_size)"
        self.put((number, self._now(), "warning", None, f"{what}: {kept}", None))

    def take(self, most: int, characters: int) -> tuple[list[Entry], int]:
        """Remove and return the first lines, at least one if there are any, and their characters.

        There may be none: a line can be taken before its thread has announced it, or another thread takes at this moment.
        Lines that come meanwhile are announced.
        """
        if not _taking.acquire(False):  # by name it takes twice the time
            return [], 0
        try:
            counted, lines = self.characters, self.waiting[:]
            size = counted - self._done
            if lines and (len(lines) > most or size > characters):
                lines = _first(lines, most, characters)
                size = sum(map(length, lines))
            self._done += size
            del self.waiting[: len(lines)]
            return lines, size
        finally:
            _taking.release()

    def give_back(self, lines: list[Entry], size: int) -> None:
        """Let lines that were taken wait again, before all others."""
        self.waiting[:0] = lines
        self._done -= size

    def updates(self) -> Iterator[Update]:
        """Remove the lines that wait, and return each as an update without secrets."""
        with suppress(IndexError):  # another thread of the handler may take the last one
            while True:
                number, at, level, stage, message, fields = redacted([self.waiting.pop(0)])[0]
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

    def close(self, log: JobLog) -> None:
        """Do nothing: no line waits."""


def length(line: Entry) -> int:
    """Return about how many characters a line has."""
    return len(line[4]) + (len(line[5]) if line[5] else 0)


def _first(lines: list[Entry], most: int, characters: int) -> list[Entry]:
    for place, line in enumerate(lines):
        if place >= most or characters < 0:
            return lines[: max(1, place)]
        characters -= length(line)
    return lines


def refuse_level(level: object) -> NoReturn:
    """Raise: there is no such level of a line."""
    near, known = did_you_mean(str(level), LEVELS), ", ".join(LEVELS)
    raise UsageError(f"level={level!r}: there is no such level{near}; there are: {known}")


def odd(text: str) -> bool:
    """Return whether a text has what no store can hold: a NUL, or a lone surrogate."""
    try:
        return "\0" in text or (not text.isascii() and not text.encode())
    except UnicodeEncodeError:
        return True


def redacted(lines: list[Entry]) -> list[Entry]:
    """Return lines as they are stored: without their secrets, and without what no store can hold."""
    found = redactor()
    return [(*line[:4], found.text(clean(line[4], MESSAGE)), line[5] and found.json(line[5])) for line in lines]
