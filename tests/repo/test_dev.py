"""`dev.py` greets everyone: also those whose Python is too old, or who mistype."""

import ast
import os
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


FIRST_TIME_ONLY = "from pathlib import Path\ndef test_a():\n    before = Path('seen').exists()\n    Path('seen').touch()\n    assert before\n"
ALWAYS = "def test_b():\n    assert False\n"
RUN = "import runpy; dev = runpy.run_path({dev!r}); dev['run_tests'].__globals__['tool'] = lambda _: {pytest!r}; print('again:', dev['run_tests']())"


def suite(folder, *texts):
    """Run tests of a folder of their own as `dev.py test` does."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    for n, text in enumerate(texts):
        (folder / f"test_{n}.py").write_text(text)
    return outcome(
        "-c",
        RUN.format(dev=str(DEV), pytest=str(Path(sys.executable).with_name("pytest"))),
        folder=folder,
        PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",
    )


def test_the_few_that_fail_are_run_again_alone_and_named(tmp_path):
    status, words = suite(tmp_path, FIRST_TIME_ONLY, "def test_c(): pass\n")
    assert (status, words.splitlines()[-1]) == (0, "again: ['test_0.py::test_a']")
    assert "1 failed, 1 passed" in words


def test_what_fails_again_fails_the_run(tmp_path):
    status, words = suite(tmp_path, FIRST_TIME_ONLY, ALWAYS)
    assert (status, "again:" in words, "1 failed, 1 passed" in words) == (1, False, True)


def test_many_failures_are_no_accident(tmp_path):
    status, words = suite(tmp_path, *(FIRST_TIME_ONLY.replace("seen", f"seen{n}") for n in range(6)))
    assert (status, "again:" in words, words.count("6 failed")) == (1, False, 1)


def test_an_error_of_pytest_itself_fails_the_run(tmp_path):
    status, words = suite(tmp_path, "def test_d(:\n")
    assert (status, "again:" in words) == (2, False)


def outcome(*arguments, folder=None, **environment):
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, **environment},
    )
    return done.returncode, done.stdout + done.stderr
