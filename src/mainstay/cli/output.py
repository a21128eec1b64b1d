"""What commands print: data to stdout, messages to stderr. Terminals get colour and relative times, pipes plain text and ISO.

All text goes through `line`, `table` or `data`, which redact secrets (`core.redaction`) and escape control characters: what a job
stored cannot control a terminal.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import textwrap
import time
import unicodedata
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.clock import SystemClock, human, iso
from ..core.words import plural as plural, size as size  # noqa: PLC0414  (commands import them from here)
from ..redacting import redactor
from .exits import coloured, say, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Cell = str | tuple[str, str]  # text, or text with a style

# A glyph for each state, and for the labels `retrying` and `cancelling`: colour alone must not carry meaning.
GLYPHS = {
    "scheduled": "◷", "queued": "○", "blocked": "⧗", "running": "◐", "cancelling": "◐", "review": "◇", "retrying": "↻",
    "completed": "✓", "cancelled": "⊘", "dead": "✕",
}  # fmt: skip
# A program cannot tell whether its terminal is light or dark: each colour can be read on white and on black.
STYLES = {
    "scheduled": "38;5;63", "queued": "38;5;31", "blocked": "38;5;66", "running": "38;5;30", "cancelling": "38;5;130",
    "review": "38;5;98", "retrying": "38;5;130", "completed": "38;5;65", "cancelled": "38;5;243", "dead": "38;5;196",
    "bold": "1", "dim": "2", "selected": "7", "good": "38;5;65", "warn": "38;5;130", "bad": "38;5;196", "link": "38;5;31",
}  # fmt: skip
NARROW, LAST = 8, 12  # columns that a shortened column keeps; and the last one, before others are dropped for it
_SPECIAL = re.compile(r"[^\x20-\x7e\n]")


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
    def give(self, data: Callable[[], Any], ids: Iterable[str] | None, text: Callable[[], object]) -> None:
        """Print the output in the format asked for: `data` as JSON, the `ids` only if there are such, or what `text` prints."""
        if self.shape.machine:
            self.data(data())
        elif self.shape.quiet and ids is not None:
            self.lines(ids)
        else:
            text()

    def data(self, data: Any) -> None:
        """Print a record or a list of records as JSON; with `--jsonl` one object per line."""
        chosen = [self._chosen(record) for record in data] if isinstance(data, list) else self._chosen(data)
        if self.shape.jsonl:
            sys.stdout.writelines(f"{dumped(each)}\n" for each in (chosen if isinstance(chosen, list) else [chosen]))
        else:
            sys.stdout.write(dumped(chosen, indent=2) + "\n")

    def _chosen(self, record: dict[str, Any]) -> dict[str, Any]:
        return {name: record.get(name) for name in self.shape.fields} if self.shape.fields else record

    def secret(self, text: str, **record: str) -> None:
        """Print what the command was asked to make, whatever it looks like: a new key, or a secret with its `record` for JSON."""
        sys.stdout.write(json.dumps(record or {"entry": text}) + "\n" if self.shape.machine else text + "\n")

    def line(self, *cells: Cell, indent: int = 0) -> None:
        """Print one line; the lines of a text with newlines are indented below it."""
        text = "".join(map(self._painted, cells)).rstrip()
        sys.stdout.write(" " * indent + text.replace("\n", "\n" + " " * (indent + 2)) + "\n")

    def paragraph(self, *head: Cell, text: str, style: str = "", indent: int = 0) -> None:
        """Print a text behind a head; on a terminal, it is wrapped and its lines begin below each other."""
        hang = columns("".join(map(_text, head)))
        wrap = partial(textwrap.wrap, width=max(self.width - indent - hang, 20), break_long_words=False)
        for n, part in enumerate(part for line in shown(text).split("\n") for part in wrap(line)):
            self.line(*(head if n == 0 else [" " * hang]), (part, style), indent=indent)

    def lines(self, texts: Iterable[str]) -> None:
        for text in texts:
            self.line(text)

    def heading(self, title: str) -> None:
        """Print a title, with an empty line above it."""
        self.line()
        self.line((title, "bold"), indent=1)

    def facts(self, *facts: Cell, indent: int = 0) -> None:
        """Print facts with a dot between them, in as many lines as they need."""
        line: list[Cell] = []
        for fact in facts:
            if line and indent + columns("".join(map(_text, line))) + 3 + columns(_text(fact)) > self.width:
                self.line(*line, indent=indent)
                line = []
            line += [" · ", fact] if line else [fact]
        self.line(*line, indent=indent)

    def table(
        self, headers: Sequence[str], rows: Sequence[Sequence[Cell]], right: Sequence[int] = (), drop: Sequence[int] = (),
        indent: int = 1, whole: Sequence[int] = (), least: int = LAST,
    ) -> None:  # fmt: skip
        """Print aligned columns. `right` lists those to align right.

        A terminal that is too narrow loses the columns of `drop`, in this order, until the last column has `least` characters; then the
        widest are shortened, but those of `whole` and ids are not.
        """
        grid: list[Sequence[Cell]] = [[(name, "dim") for name in headers], *rows] if any(headers) else [*rows]
        room = self.width - indent
        widths = {n: min(max(columns(_text(row[n])) for row in grid), room) for n in range(len(headers))}
        for column in drop:
            if sum(widths.values()) - max(widths[max(widths)] - least, 0) + 2 * (len(widths) - 1) > room:
                del widths[column]
        _shorten(
            widths,
            room,
            [
                n
                for n, name in enumerate(headers)
                if name.lower() == "id" or (n in whole and widths.get(n, 0) <= room // 2)
            ],
        )
        for row in grid:
            cells = [part for n in widths for part in ("  ", *_aligned(row[n], widths[n], n in right))]
            self.line(*cells[1:], indent=indent)

    def filled_table(
        self, headers: Sequence[str], rows: Sequence[Sequence[Cell]], always: Sequence[int], right: Sequence[int] = ()
    ) -> None:
        """Print a table without the columns that are empty in every row, but for those of `always`; nothing without rows."""
        filled = [n for n in range(len(headers)) if n in always or any(_text(row[n]) for row in rows)]
        places = [place for place, n in enumerate(filled) if n in right]
        if rows:
            self.table(
                [headers[n] for n in filled], [[row[n] for n in filled] for row in rows], right=places, whole=(0,)
            )

    def flush(self) -> None:
        """Give what was printed to whoever reads it now: a pipe gets it in large blocks else."""
        sys.stdout.flush()

    # messages -------------------------------------------------------------------------------------------------------
    def talk(self, text: str) -> None:
        """Print a message to stderr, but not with JSON or `-q`."""
        if not self.shape.quiet and not self.shape.machine:
            say(text)

    def live(self, *cells: Cell) -> None:
        """Draw a line of stderr over itself, if it is a terminal; no text removes the line."""
        if sys.stderr.isatty() and not self.shape.quiet and not self.shape.machine:
            sys.stdout.flush()
            sys.stderr.write("\r\033[K" + "".join(map(self._painted, cells)))
            sys.stderr.flush()

    # forms ----------------------------------------------------------------------------------------------------------
    def _painted(self, cell: Cell) -> str:
        text, style = (cell, "") if isinstance(cell, str) else cell
        text = shown(text)
        return f"\033[{STYLES[style]}m{text}\033[0m" if self.colour and style and text else text

    def when(self, at: int | None) -> str:
        """Return an instant: relative on a terminal, ISO in a pipe."""
        if at is None:
            return "–" if self.tty else ""
        if not self.tty:
            return iso(at)
        parts = human(abs(at - self.now)).split()
        # The largest unit is enough, unless there is one of it.
        distance = " ".join(parts[: 2 if parts[0] in ("1d", "1h") else 1])
        return f"in {distance}" if at > self.now else f"{distance} ago"

    def since(self, at: int) -> str:
        """Return an instant that has been; one that a clock ahead of this one wrote is now."""
        return self.when(min(at, self.now) if self.tty else at)

    def moment(self, at: int) -> str:
        """Return an instant: local time on a terminal, with the date if it is not today; ISO in a pipe."""
        return local_time(at, self.now) if self.tty else iso(at)

    def spent(self, ms: int | None) -> str:
        """Return a duration as text."""
        return ("–" if self.tty else "") if ms is None else human(ms)


def state(label: str) -> Cell:
    """Return a state with its glyph, styled."""
    return f"{GLYPHS.get(label, '?')} {label}", label


def dumped(value: Any, indent: int | None = None) -> str:
    """Return a value as JSON without secrets, every character that is not printable escaped; what JSON lacks becomes text."""
    text, found = _json(value, indent), redactor()
    return _json(found.value(value), indent) if found.suspects(text) or "\\u" in text else text


def _json(value: Any, indent: int | None) -> str:
    return escaped(json.dumps(value, ensure_ascii=False, indent=indent, default=str))


def escaped(text: str) -> str:
    """Return a JSON text with every character escaped that is not printable: it says the same."""
    return _SPECIAL.sub(lambda found: found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1], text)


def _shorten(widths: dict[int, int], room: int, whole: Sequence[int]) -> None:
    """Make the widest columns narrower until all fit, except those that must stay whole."""
    while sum(widths.values()) + 2 * (len(widths) - 1) > room:
        widest = max((n for n in widths if n not in whole), key=widths.__getitem__, default=-1)
        if widest < 0 or widths[widest] <= NARROW:
            return
        widths[widest] -= 1


def _aligned(cell: Cell, width: int, right: bool) -> tuple[Cell, Cell]:
    text = cut(_text(cell), width)
    gap = " " * (width - columns(text))
    styled = text if isinstance(cell, str) else (text, cell[1])
    return (gap, styled) if right else (styled, gap)


def _text(cell: Cell) -> str:
    return shown(cell if isinstance(cell, str) else cell[0]).replace("\n", " ")


def local_time(at: int, now: int) -> str:
    """Return the local time of day, to the second, with the date if that is not the day of `now`."""
    day, clock = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at / 1000)).split()
    return clock if day == time.strftime("%Y-%m-%d", time.localtime(now / 1000)) else f"{day} {clock}"


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
