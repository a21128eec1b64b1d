"""A terminal as a whole screen: drawn anew in place, with keys read one by one, and left as it was found."""

from __future__ import annotations

import os
import select
import shutil
import signal
import sys
import termios
import tty
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .exits import shown
from .output import STYLES, Output, columns, cut

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType
    from typing import Self

    from .output import Cell

ENTER, LEAVE = "\033[?1049h\033[?25l", "\033[?25h\033[?1049l"  # the second screen of a terminal, without the cursor
HOME, END_OF_LINE, BELOW = "\033[H", "\033[K", "\033[J"
KEYS = {
    "\033[A": "up", "\033[B": "down", "\033OA": "up", "\033OB": "down", "\033[5~": "page up", "\033[6~": "page down", "\r": "enter",
    "\n": "enter", "\t": "tab", "\033": "escape", "\x7f": "backspace", "\x08": "backspace", "\x03": "quit", "\x04": "quit",
}  # fmt: skip

SEQUENCES = sorted(KEYS, key=len, reverse=True)


class Page(Output):
    """Collects the lines of one picture instead of printing them."""

    def __init__(self, width: int, now: int) -> None:
        super().__init__(now=now)
        self.width, self.tty, self.colour = width, True, not os.environ.get("NO_COLOR")
        self.text: list[str] = []

    def line(self, *cells: Cell, indent: int = 0) -> None:
        """Keep one line, cut to the width of the screen."""
        room, painted = self.width - indent, [" " * indent]
        for cell in cells:
            text, style = (cell, "") if isinstance(cell, str) else cell
            text = cut(shown(text).replace("\n", " "), room) if room > 0 else ""
            room -= columns(text)
            painted.append(f"\033[{STYLES[style]}m{text}\033[0m" if self.colour and style and text else text)
        self.text.append("".join(painted))


class Screen:
    """The terminal while a program fills it. `with Screen() as screen:` gives it back at the end, however that comes."""

    _typed = ""  # and not read yet

    def __enter__(self) -> Self:
        self._file = sys.stdin.fileno()
        self._before: list[Any] = termios.tcgetattr(self._file)
        self._stop = signal.signal(signal.SIGTSTP, self._suspend)
        self._take()
        return self

    def __exit__(self, *_: object) -> None:
        self._give()
        signal.signal(signal.SIGTSTP, self._stop)

    def _take(self) -> None:
        tty.setcbreak(self._file)
        sys.stdout.write(ENTER)
        sys.stdout.flush()

    def _give(self) -> None:
        sys.stdout.write(LEAVE)
        sys.stdout.flush()
        termios.tcsetattr(self._file, termios.TCSADRAIN, self._before)

    def _suspend(self, number: int, _frame: FrameType | None) -> None:
        """Stop as Ctrl-Z asks for, with the terminal given back meanwhile."""
        with self.left():
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            signal.signal(number, self._suspend)

    @contextmanager
    def left(self) -> Iterator[None]:
        """Give the terminal back for a while."""
        self._give()
        try:
            yield
        finally:
            self._take()

    @property
    def size(self) -> tuple[int, int]:
        """Columns and lines, now."""
        return shutil.get_terminal_size((80, 24))

    def draw(self, lines: list[str]) -> None:
        """Show these lines from the top, and nothing else."""
        height = self.size[1]
        text = (END_OF_LINE + "\n").join(lines[:height])
        sys.stdout.write(HOME + text + END_OF_LINE + BELOW)
        sys.stdout.flush()

    def key(self, seconds: float) -> str:
        """Return the next key, by name or as the character it types; empty if none comes in time."""
        if not self._typed and select.select([self._file], [], [], max(seconds, 0))[0]:
            self._typed = os.read(self._file, 1_024).decode(errors="ignore")
        found = next((each for each in SEQUENCES if self._typed.startswith(each)), self._typed[:1])
        self._typed = self._typed[len(found) :]
        return KEYS.get(found, found if found.isprintable() else "")
