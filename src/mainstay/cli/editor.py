"""Opens the user's editor on a text, and gives back what was saved there."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile

from ..core.errors import MainstayError, UsageError

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
