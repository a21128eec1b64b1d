"""What commands print: data on stdout, talk on stderr. Colour and relative times for people, plain text and ISO for pipes."""

from __future__ import annotations

import json
import shutil
import sys
import unicodedata
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.clock import SystemClock, human, iso
from .exits import coloured, printable, say

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Cell = str | tuple[str, str]  # text, or text with a style

# The nine states and the two labels, with the same glyphs as the dashboard: never colour alone.
GLYPHS = {
    "scheduled": "◷", "queued": "○", "blocked": "⧗", "running": "◐", "cancelling": "◐", "review": "◇", "retrying": "↻",
    "completed": "✓", "cancelled": "⊘", "dead": "✕",
}  # fmt: skip
STYLES = {
    "scheduled": "38;5;105", "queued": "38;5;75", "blocked": "38;5;103", "running": "38;5;43", "cancelling": "38;5;214",
    "review": "38;5;141", "retrying": "38;5;214", "completed": "38;5;108", "cancelled": "38;5;245", "dead": "38;5;203",
    "bold": "1", "dim": "2", "good": "38;5;108", "warn": "38;5;214", "bad": "38;5;203", "link": "38;5;75",
}  # fmt: skip


class Shape(NamedTuple):
    """The form in which data is asked for."""

    json: bool = False
    jsonl: bool = False
    quiet: bool = False
    fields: tuple[str, ...] = ()

    @property
    def machine(self) -> bool:
        """Whether a program reads it."""
        return self.json or self.jsonl


class Output:
    """Prints one command's answer."""

    def __init__(self, shape: Shape | None = None, now: int | None = None) -> None:
        self.shape = shape or Shape()
        self.tty = bool(sys.stdout.isatty())
        self.colour = coloured(sys.stdout)
        self.now = SystemClock().now() if now is None else now
        self.width = shutil.get_terminal_size((100, 24)).columns if self.tty else 10_000

    # data -----------------------------------------------------------------------------------------------------------
    def line(self, text: str = "") -> None:
        """One line of data; it may hold styles that `paint` put there."""
        sys.stdout.write(text + "\n")

    def lines(self, texts: Iterable[str]) -> None:
        """Several lines."""
        for text in texts:
            self.line(text)

    def records(self, records: Sequence[dict[str, Any]]) -> None:
        """Records for programs: one JSON array, or one JSON object a line."""
        chosen = [self._chosen(record) for record in records]
        if self.shape.jsonl:
            self.lines(json.dumps(record, ensure_ascii=False) for record in chosen)
        else:
            self.line(json.dumps(chosen, ensure_ascii=False, indent=2))

    def record(self, record: dict[str, Any]) -> None:
        """One record for programs."""
        indent = None if self.shape.jsonl else 2
        self.line(json.dumps(self._chosen(record), ensure_ascii=False, indent=indent))

    def _chosen(self, record: dict[str, Any]) -> dict[str, Any]:
        return {name: record.get(name) for name in self.shape.fields} if self.shape.fields else record

    def table(self, headers: Sequence[str], rows: Sequence[Sequence[Cell]], right: Sequence[int] = ()) -> None:
        """Aligned columns; on a terminal the last one gives way. `right` names the columns with numbers."""
        self.lines(self.rendered(headers, rows, right))

    def rendered(self, headers: Sequence[str], rows: Sequence[Sequence[Cell]], right: Sequence[int] = ()) -> list[str]:
        """The lines of a table."""
        grid: list[Sequence[Cell]] = [[(name, "dim") for name in headers], *rows]
        widths = [max(columns(_text(row[n])) for row in grid) for n in range(len(headers))]
        return [self._row(row, widths, right) for row in grid]

    def _row(self, row: Sequence[Cell], widths: Sequence[int], right: Sequence[int]) -> str:
        last = len(row) - 1
        room = max(self.width - sum(widths[:-1]) - 2 * last - 1, 12)
        cells = []
        for n, cell in enumerate(row):
            text = cut(_text(cell), room) if n == last else _text(cell)
            gap = " " * max(widths[n] - columns(text), 0)
            painted = self.paint(text, cell[1]) if isinstance(cell, tuple) else text
            cells.append(gap + painted if n in right else painted if n == last else painted + gap)
        return (" " + "  ".join(cells)).rstrip()

    # talk -----------------------------------------------------------------------------------------------------------
    def talk(self, text: str) -> None:
        """A word to the person on stderr; machines and `-q` are spared."""
        if not self.shape.quiet and not self.shape.machine:
            say(text)

    # forms ----------------------------------------------------------------------------------------------------------
    def paint(self, text: str, style: str) -> str:
        """The text in a style, on terminals that want colour."""
        return f"\033[{STYLES[style]}m{text}\033[0m" if self.colour and text else text

    def state(self, label: str) -> Cell:
        """A state as people see it; the normal recedes, the abnormal speaks."""
        return f"{GLYPHS.get(label, '?')} {label}", label

    def when(self, at: int | None) -> str:
        """An instant: relative on a terminal, ISO in a pipe."""
        if at is None:
            return "–" if self.tty else ""
        if not self.tty:
            return iso(at)
        return f"in {human(at - self.now)}" if at > self.now else f"{human(self.now - at)} ago"

    def spent(self, ms: int | None) -> str:
        """A duration."""
        return ("–" if self.tty else "") if ms is None else human(ms)


def _text(cell: Cell) -> str:
    return printable(cell[0] if isinstance(cell, tuple) else cell).replace("\n", " ")


def columns(text: str) -> int:
    """How many columns a terminal needs for the text."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else not unicodedata.combining(c) for c in text)


def cut(text: str, room: int) -> str:
    """The text in at most so many columns, with an ellipsis where something is missing."""
    if columns(text) <= room:
        return text
    while columns(text) >= room:
        text = text[: min(len(text) - 1, room)]
    return text + "…"


def size(number: int) -> str:
    """Bytes for people."""
    if number < 1000:
        return f"{number} B"
    value, units = number / 1000, ["KB", "MB", "GB", "TB"]
    while value >= 1000 and len(units) > 1:
        value /= 1000
        units.pop(0)
    return f"{value:.1f} {units[0]}" if value < 10 else f"{value:.0f} {units[0]}"


def plural(count: int, word: str, words: str = "") -> str:
    """`1 job`, `2 jobs`, with thousands apart."""
    return f"{count:,} {word if count == 1 else words or word + 's'}"
