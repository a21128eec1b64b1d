"""`dev.py` greets everyone: also those whose Python is too old, or who mistype."""

import ast
import subprocess
import sys
from pathlib import Path

DEV = Path(__file__).parents[2] / "dev.py"


def test_an_old_python_can_read_it():
    ast.parse(DEV.read_text(encoding="utf-8"), feature_version=(3, 7))


def test_an_old_python_is_told_what_is_needed():
    pretend = f"import sys, runpy; sys.version_info = (3, 8, 0); runpy.run_path({str(DEV)!r}, run_name='__main__')"
    status, words = outcome("-c", pretend)
    assert status == 1
    assert "needs Python 3.11 or newer, this is 3.8" in words


def test_a_mistyped_command_shows_the_commands():
    status, words = outcome(DEV, "tset")
    assert status == 1
    assert "no command 'tset'" in words
    assert "python3 dev.py COMMAND" in words


def test_the_examples_are_listed_each_with_what_it_is():
    status, words = outcome(DEV, "example")
    assert (status, "file_outbox        File outbox: files" in words) == (0, True)
    status, words = outcome(DEV, "example", "file_outbx")
    assert (status, "no example 'file_outbx'" in words, "conversation_hook" in words) == (1, True, True)


def outcome(*arguments):
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr
