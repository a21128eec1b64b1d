"""What commands print: data to stdout, messages to stderr. Terminals get colour and relative times, pipes plain text and ISO."""

from __future__ import annotations

import json
import shutil
import sys
import unicodedata
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.clock import SystemClock, human, iso
from .exits import coloured, printable, say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Cell = str | tuple[str, str]  # text, or text with a style

# A glyph for each state, and for the labels `retrying` and `cancelling`: colour alone must not carry meaning.
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
    """The output format that the options ask for."""

    json: bool = False
    jsonl: bool = False
    quiet: bool = False
    fields: tuple[str, ...] = ()

    @property
    def machine(self) -> bool:
        """Whether the output is JSON, for a program."""
        return self.json or self.jsonl


class Output:
    """Prints the output of one command."""

    def __init__(self, shape: Shape | None = None, now: int | None = None) -> None:
        self.shape = shape or Shape()
        self.tty = bool(sys.stdout.isatty())
        self.colour = coloured(sys.stdout)
        self.now = SystemClock().now() if now is None else now
        self.width = shutil.get_terminal_size((100, 24)).columns if self.tty else 10_000

    # data -----------------------------------------------------------------------------------------------------------
    def give(self, data: Callable[[], Any], ids: Iterable[str], text: Callable[[], object]) -> None:
        """Print the output in the format asked for: `data` as JSON, the `ids` only, or what `text` prints."""
        if self.shape.machine:
            self.data(data())
        elif self.shape.quiet:
            self.lines(ids)
        else:
            text()

    def data(self, data: Any) -> None:
        """Print a record or a list of records as JSON; with `--jsonl` one object per line."""
        chosen = [self._chosen(record) for record in data] if isinstance(data, list) else self._chosen(data)
        if self.shape.jsonl:
            self.lines(
                json.dumps(record, ensure_ascii=False) for record in (chosen if isinstance(chosen, list) else [chosen])
            )
        else:
            self.line(json.dumps(chosen, ensure_ascii=False, indent=2))

    def _chosen(self, record: dict[str, Any]) -> dict[str, Any]:
        return {name: record.get(name) for name in self.shape.fields} if self.shape.fields else record

    def line(self, text: str = "") -> None:
        """Print one line of data; it may contain styles from `paint`."""
        sys.stdout.write(text + "\n")

    def lines(self, texts: Iterable[str]) -> None:
        """Print several lines."""
        for text in texts:
            self.line(text)

    def table(self, headers: Sequence[str], rows: Sequence[Sequence[Cell]], right: Sequence[int] = ()) -> None:
        """Print aligned columns; on a terminal the last one is shortened to fit. `right` lists the columns to align right."""
        grid: list[Sequence[Cell]] = [[(name, "dim") for name in headers], *rows]
        widths = [max(columns(_text(row[n])) for row in grid) for n in range(len(headers))]
        self.lines(self._row(row, widths, right) for row in grid)

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

    # messages -------------------------------------------------------------------------------------------------------
    def talk(self, text: str) -> None:
        """Print a message to stderr, but not with JSON or `-q`."""
        if not self.shape.quiet and not self.shape.machine:
            say(text)

    def live(self, text: str) -> None:
        """Draw a line of stderr over itself, if it is a terminal; an empty text removes the line."""
        if sys.stderr.isatty() and not self.shape.quiet and not self.shape.machine:
            sys.stdout.flush()
            sys.stderr.write(f"\r\033[K{text}")
            sys.stderr.flush()

    # forms ----------------------------------------------------------------------------------------------------------
    def paint(self, text: str, style: str) -> str:
        """Return the text in a style, if the output has colour."""
        return f"\033[{STYLES[style]}m{text}\033[0m" if self.colour and text else text

    def state(self, label: str) -> Cell:
        """Return a state with its glyph, styled."""
        return f"{GLYPHS.get(label, '?')} {label}", label

    def when(self, at: int | None) -> str:
        """Return an instant: relative on a terminal, ISO in a pipe."""
        if at is None:
            return "–" if self.tty else ""
        if not self.tty:
            return iso(at)
        return f"in {human(at - self.now)}" if at > self.now else f"{human(self.now - at)} ago"

    def spent(self, ms: int | None) -> str:
        """Return a duration as text."""
        return ("–" if self.tty else "") if ms is None else human(ms)


def _text(cell: Cell) -> str:
    return printable(cell[0] if isinstance(cell, tuple) else cell).replace("\n", " ")


def columns(text: str) -> int:
    """Return how many columns of a terminal the text takes."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else not unicodedata.combining(c) for c in text)


def cut(text: str, room: int) -> str:
    """Return the text in at most `room` columns, with an ellipsis if it was shortened."""
    if columns(text) <= room:
        return text
    while columns(text) >= room:
        text = text[: min(len(text) - 1, room)]
    return text + "…"


def size(number: int) -> str:
    """Return a number of bytes as text, such as `1.5 MB`."""
    if number < 1000:
        return f"{number} B"
    value, units = number / 1000, ["KB", "MB", "GB", "TB"]
    while value >= 1000 and len(units) > 1:
        value /= 1000
        units.pop(0)
    return f"{value:.1f} {units[0]}" if value < 10 else f"{value:.0f} {units[0]}"


def plural(count: int, word: str, words: str = "") -> str:
    """Return `1 job`, `2 jobs`, `1,000 jobs`."""
    return f"{count:,} {word if count == 1 else words or word + 's'}"
