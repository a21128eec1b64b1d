"""`top` on a real pseudo-terminal: what is seen there, what keys do, and that the terminal is left as it was."""

import codecs
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time

import pytest

from mainstay.cli import exits
from mainstay.core.job import TypeInfo

from .shop import Shop
from .test_watch import MAINSTAY

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """A program on a terminal of 80 × 24."""

    def __init__(self, *words):
        self._above, self.below = pty.openpty()
        termios.tcsetwinsize(self.below, (24, 80))
        self.before = termios.tcgetattr(self.below)
        environment = os.environ | {"TERM": "xterm-256color"}
        for name in ("COLUMNS", "LINES"):
            environment.pop(name, None)
        self.process = subprocess.Popen(
            [sys.executable, "-c", MAINSTAY, *words], stdin=self.below, stdout=self.below, stderr=self.below, env=environment,
            start_new_session=True,
        )  # fmt: skip
        self.raw, self._decoder = "", codecs.getincrementaldecoder("utf-8")()

    def sees(self, text, seconds=20):
        """Wait until a text is on the screen, drawn after the last key."""
        limit = time.monotonic() + seconds
        while text not in ESCAPES.sub("", self.raw):
            assert time.monotonic() < limit, f"{text!r} is not seen in {self.raw[-3000:]!r}"
            self._read(0.2)

    def _read(self, seconds):
        if select.select([self._above], [], [], seconds)[0]:
            self.raw += self._decoder.decode(os.read(self._above, 65536))  # a read may end within a character

    def types(self, keys):
        self.raw = ""
        os.write(self._above, keys.encode())

    def ends(self):
        while self.process.poll() is None:
            self._read(0.05)
        self._read(0)
        return self.process.returncode

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self._above)
        os.close(self.below)


@pytest.fixture
def shop(app):
    return Shop(app)


@pytest.fixture
def top(shop):
    opened = []

    def start(*words):
        opened.append(Terminal("top", "--every", "100ms", *words))
        return opened[-1]

    yield start
    for terminal in opened:
        terminal.close()


def test_it_shows_what_runs_acts_on_it_and_leaves_the_terminal_as_it_was(shop, top):
    running, dead = shop.speaking(), shop.dead()
    waiting = shop.add(type="report")
    shop.store.register_types([TypeInfo("report", "default", "report()", {}, 1, None, "{}")])
    terminal = top()
    terminal.sees("1 worker, 1/8 slots busy")
    terminal.sees("◐ running")
    terminal.sees("report")
    terminal.types("5")
    terminal.sees("✕ dead")
    terminal.types("r")
    terminal.sees(f"retry mail {dead}? y: yes")
    terminal.types("n")
    terminal.sees("nothing changed")
    assert shop.app.get(dead).state == "dead"
    terminal.types("ry")
    terminal.sees(f"mail {dead}: queued")
    assert shop.app.get(dead).state == "queued"
    terminal.types("/type:xreport\x7f\x7f\x7f\x7f\x7f\x7f\x7freport\r")
    terminal.sees("type:report  1 job")
    terminal.types("p")
    terminal.sees("pause type report?")
    terminal.types("y")
    terminal.sees("type report is paused by")
    terminal.types("c")
    terminal.sees("cancel report")
    terminal.types("y")
    terminal.sees("cancelled")
    assert shop.app.get(waiting).state == "cancelled"
    assert shop.app.get(running).state == "running"
    assert [action.actor for action in shop.app.actions(dead)] != []
    terminal.types("q")
    assert terminal.ends() == exits.OK
    assert termios.tcgetattr(terminal.below) == terminal.before
    assert terminal.raw.endswith("\x1b[?25h\x1b[?1049l")


def test_all_about_a_job_and_back(shop, top):
    job = shop.speaking()
    terminal = top()
    terminal.sees("◐ running")
    terminal.types("\r")
    terminal.sees("[enter: back]")
    assert job in terminal.raw
    assert "\x1b[31m" not in terminal.raw  # what a job has logged does not reach the terminal
    terminal.types("\n")
    terminal.sees("? keys")
    terminal.types("?")
    terminal.sees("choose a job")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.ends() == exits.OK
    assert termios.tcgetattr(terminal.below) == terminal.before


def test_a_mistake_in_a_search_is_told_and_changes_nothing(shop, top):
    shop.add()
    terminal = top()
    terminal.sees("state:running")
    terminal.types("/state=dead\r")
    terminal.sees("a field is searched with a colon")
    terminal.types("2")
    terminal.sees("○ queued")


def test_in_a_pipe_it_says_what_to_use(run, shop):
    shop.add()
    found = run("top")
    assert found.code == exits.USAGE
    assert "mainstay tail --jsonl" in found.err
