"""Opens the user's editor on a text, and gives back what was saved there; or takes the text from a file instead."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..core.errors import MainstayError, UsageError
from .quoting import typed

if TYPE_CHECKING:
    from collections.abc import Iterator

USUAL = ("sensible-editor", "nano", "vim", "vi")  # without $VISUAL and $EDITOR


def edited(text: str, name: str, suffix: str) -> tuple[str, str]:
    """Return the text as the user has left it, and the file that has it. The caller removes the file.

    Raises if there is no editor, or if it exits with an error, as vim does after `:cq`; the file is removed then.
    """
    words = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or _usual())
    handle, path = tempfile.mkstemp(suffix, f"mainstay-{name}-")
    with open(handle, "w", encoding="utf-8") as file:
        file.write(text)
    try:
        _run([*words, path], words[0])
        with open(path, encoding="utf-8") as file:
            return file.read(), path
    except (MainstayError, UnicodeDecodeError) as error:
        os.remove(path)
        raise MainstayError(f"{exactly(error)}; nothing changed") from None


def read(file: str) -> str:
    """Return the text of a file; - is stdin."""
    try:
        if file == "-":
            return sys.stdin.read()
        with open(file, encoding="utf-8") as source:
            return source.read()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {error}") from None


@contextmanager
def keeping(path: str, *edited: str) -> Iterator[None]:
    """Remove the file with the user's text once it is used. After a mistake it stays, so that the work is not lost: say how to go on.

    `edited` names for `mainstay edit` what is edited; without a path, the text came from elsewhere.
    """
    try:
        yield
    except MainstayError as error:
        if path:
            error.add_note(f"nothing changed; your text is in {path}")
            error.attempt = typed("edit", *edited, "--from", path)
        raise
    if path:
        os.remove(path)


def exactly(error: Exception) -> str:
    """Return what an error says; of a file that is no text, that."""
    return "the file is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error)


def _run(words: list[str], editor: str) -> None:
    try:
        code = subprocess.run(words, check=False).returncode  # noqa: S603  (the user names the editor)
    except OSError as error:
        raise MainstayError(f"the editor {editor} cannot be started: {error.strerror}") from None
    if code:
        raise MainstayError(f"the editor {editor} ended with exit code {code}")


def _usual() -> str:
    found = next(filter(shutil.which, USUAL), None)
    if found is None:
        raise UsageError("no editor is named", "EDITOR=nano mainstay edit …   (or --from FILE)")
    return found
