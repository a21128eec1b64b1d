"""The log of one attempt as its handler writes it: counted and bounded, with a line where something is left out; and without secrets."""

from __future__ import annotations

from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from .core.updates import Line
from .log_values import MESSAGE, as_text, encoded
from .redacting import redactor

if TYPE_CHECKING:
    from .context import Reporter
    from .core.job import Claimed

_line = partial(tuple.__new__, Line)  # a third of the time of a call by name


class JobLog:
    """Counts what an attempt logs. Threads of a handler may miscount the characters a little."""

    left_out = 0

    def __init__(self, reporter: Reporter, job: Claimed) -> None:
        self._now, self._write, limits = reporter.now, reporter.writer(job), reporter.limits
        self._number, self._lines, self._characters = count(1).__next__, limits.lines, limits.characters
        self._limits = limits

    def add(self, level: str, stage: str | None, message: object, fields: dict[str, Any]) -> None:
        """Add a line, or count it as left out. What stores it redacts it: see `redacted`."""
        text = encoded(fields) or "null" if fields else None
        line = as_text(message, MESSAGE)
        number = self._number()
        self._characters -= len(line) + (len(text) if text else 0)
        if number <= self._lines and self._characters >= 0:
            self._write(_line((number, self._now(), level, stage, line, text)))
        else:
            self._leave_out(number)

    def _leave_out(self, number: int) -> None:
        self.left_out += 1
        if self.left_out == 1:
            self._tell(number, "… the log is full")

    def end(self) -> None:
        """Add how many lines were left out, as the last line."""
        if self.left_out:
            self._tell(self._number(), f"… {self.left_out:,} lines left out")
            self.left_out = 0

    def _tell(self, number: int, what: str) -> None:
        lines, characters, _ = self._limits
        kept = f"an attempt keeps {lines:,} lines and {characters:,} characters (job_log_lines, job_log_size)"
        self._write(Line(number, self._now(), "warning", None, f"{what}: {kept}", None))


def suspected(lines: list[Line]) -> bool:
    """Return whether lines may have secrets. Nearly always they have none: many at once cost a third of what each alone would."""
    found = redactor()
    if found.suspects("\n".join([line[4] for line in lines])):
        return True
    fields = "\n".join([line[5] for line in lines if line[5]])
    return bool(fields) and found.suspects_json(fields)


def redacted(lines: list[Line]) -> list[Line]:
    """Return lines without their secrets."""
    if not suspected(lines):
        return lines
    found = redactor()
    return [
        line._replace(message=found.text(line.message), fields=line.fields and found.json(line.fields))
        for line in lines
    ]
