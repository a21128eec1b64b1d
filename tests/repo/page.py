"""Runs the examples of one Markdown page, top to bottom, in the current directory: `python page.py README.md`.

* A `python` block runs in a namespace that all such blocks of the page share.
* A `console` block runs in a shell. Each line that starts with `$ ` is a command (a backslash at its end continues
  it); what follows is the output that it must print, where `...` stands for any text, as in a doctest.
* `<!-- file: jobs.py -->` before a block saves it under that name instead of running it.
* `<!-- not run: reason -->` before a block leaves it out.
"""

import doctest
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

BLOCK = re.compile(
    r"(?:<!--(?P<note>(?:(?!-->).)*)-->\s*\n)?"
    r"^(?P<indent> *)(?P<ticks>```+)(?P<language>\w*)[^\n]*\n(?P<code>.*?)^(?P=indent)(?P=ticks) *$",
    re.MULTILINE | re.DOTALL,
)
STATUS = re.compile("\x1e(\\d+)\x1e")  # the shell prints this after each command
COMMAND_SECONDS = 60


class PageError(Exception):
    """An example that does not do what the page says."""


class Block(NamedTuple):
    page: Path
    line: int  # of its first line of code
    language: str
    code: str
    note: str = ""

    def fail(self, problem):
        raise PageError(f"{self.page}, block at line {self.line}: {problem}")

    @property
    def file(self):
        return self._note("file")

    @property
    def not_run(self):
        return self._note("not run")

    def _note(self, word):
        if not self.note.startswith(word):
            return None
        _, _, value = self.note.partition(":")
        return value.strip() or self.fail(f"`<!-- {word}: … -->` must say what comes after the colon")


def blocks(page):
    """The fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        indent, code = len(found["indent"]), found["code"]
        line = text.count("\n", 0, found.start("code")) + 1
        plain = "".join(row[indent:] if row[:indent].isspace() else row for row in code.splitlines(keepends=True))
        yield Block(page, line, found["language"], plain, (found["note"] or "").strip())


def run_page(page):
    """Do what the page says, or raise PageError."""
    namespace = sys.modules["__main__"] = ModuleType("__main__")
    for block in blocks(page):
        if block.not_run:
            continue
        if block.file:
            save(block)
        elif block.language == "python":
            run_python(block, vars(namespace))
        elif block.language == "console":
            run_console(block)


def save(block):
    target = Path(block.file)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(block.code, encoding="utf-8")


def run_python(block, namespace):
    above = "\n" * (block.line - 1)  # so that a traceback names the page's own lines
    exec(compile(above + block.code, block.page, "exec"), namespace)


def run_console(block):
    commands = list(transcript(block))
    pieces = STATUS.split(shell("".join(f"{command}\nprintf '\\036%s\\036' $?\n" for command, _ in commands)))
    outputs, statuses = pieces[::2], [*pieces[1::2], "none: the shell stopped here"]
    for (command, want), got, status in zip(commands, outputs, statuses, strict=False):
        if status != "0" or not doctest.OutputChecker().check_output(want, tidy(got), doctest.ELLIPSIS):
            block.fail(f"$ {command}\nexit status {status}, printed:\n{got}\nthe page shows:\n{want}")


def transcript(block):
    """Each command of a console block with the output shown for it."""
    before, *parts = re.split(r"^\$ ", block.code, flags=re.MULTILINE)
    if before.strip() or not parts:
        block.fail("a console block starts with a command: `$ …`")
    for part in parts:
        command = re.match(r"(?:[^\n]*\\\n)*[^\n]*", part)[0]
        yield command, tidy(part[len(command) :])


def tidy(text):
    """Return text without trailing white space, and with columns two spaces apart: their width depends on the values."""
    lines = "\n".join(re.sub(r"(?<=\S) {2,}", "  ", line).rstrip() for line in text.splitlines()).strip("\n")
    return lines + "\n" if lines else ""


def shell(script):
    """What a shell prints. It goes through a file: a process left in the background would keep a pipe open."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        subprocess.run(
            ["sh", "-c", script],
            stdin=subprocess.DEVNULL, stdout=output, stderr=output, timeout=COMMAND_SECONDS, check=False,
        )  # fmt: skip
        output.seek(0)
        return output.read()


if __name__ == "__main__":
    sys.path[0] = str(Path.cwd())  # the page's own files, not this folder's
    try:
        run_page(Path(sys.argv[1]))
    except PageError as error:
        sys.exit(str(error))
