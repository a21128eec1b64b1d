"""The frames of a stored traceback: which are of the user's code, and which of Python, of installed packages or of mainstay."""

from __future__ import annotations

import os
import re
from itertools import groupby
from typing import NamedTuple

_FRAME = re.compile(r'^ *File "(.+?)", line (\d+)(?:, in (.+))?$(?:\n {4,}(?! *File ")(.+))?', re.MULTILINE)
_LIBRARY = re.compile(
    r"[\\/](?:site|dist)-packages[\\/]|[\\/]lib(?:64)?[\\/]python[\d.]+[\\/]|[\\/]python[^\\/]*[\\/]lib[\\/]", re.IGNORECASE
)  # fmt: skip
_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
PARTS = 2  # of a path that name a file wherever the program is installed


class Frame(NamedTuple):
    """One frame of a traceback."""

    file: str
    line: int
    function: str
    user: bool  # of the user's own code
    code: str = ""  # its line; "" if the source was not there

    @property
    def place(self) -> str:
        """The end of the file's path, and the function: the same on every machine and in every version of the file."""
        parts = self.file.replace("\\", "/").split("/")
        return f"{'/'.join(parts[-PARTS:])}:{self.function}"


def frames(traceback: str | None) -> list[Frame]:
    """Return the frames of a traceback in its order: of the last exception, the one that was raised comes last."""
    found = _FRAME.findall(traceback or "")
    return [Frame(file, int(line), function, is_user_file(file), code.strip()) for file, line, function, code in found]


def is_user_file(file: str) -> bool:
    """Return whether a file is neither of Python, nor of an installed package, nor of mainstay."""
    return not (file.startswith(("<frozen ", _OURS)) or _LIBRARY.search(file))


def top_frame(traceback: str | None) -> Frame | None:
    """Return the frame of the user's code that is nearest to the error; None: there is none."""
    return next((frame for frame in reversed(frames(traceback)) if frame.user), None)


def user_lines(traceback: str) -> list[str]:
    """Return the lines of a traceback with a note in place of the frames of libraries, unless there are no others."""
    lines = traceback.rstrip().split("\n")
    if top_frame(traceback) is None:
        return lines
    found: list[str] = []
    for library, blocks in groupby(_blocks(lines), key=lambda block: any(not each.user for each in frames(block[0]))):
        some = list(blocks)
        note = f"  … {len(some)} frame{'s' * (len(some) > 1)} of libraries"
        found += [note] if library else [line for block in some for line in block]
    return found


def _blocks(lines: list[str]) -> list[list[str]]:
    """Return the lines of a traceback, those of one frame together."""
    blocks: list[list[str]] = []
    for line in lines:
        if blocks and line.startswith("    ") and _FRAME.match(blocks[-1][0]):
            blocks[-1].append(line)
        else:
            blocks.append([line])
    return blocks
