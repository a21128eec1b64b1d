"""Commands as people run them: in this process by their exit code and output, or as a process of their own."""

import os
import subprocess
import sys
from shutil import copyfile
from typing import NamedTuple

import pytest

from mainstay import Mainstay
from mainstay.cli.main import main
from tests.servers.engines import empty_file


class Result(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def nothing_configured(monkeypatch, tmp_path):
    ours = [name for name in os.environ if name.startswith("MAINSTAY_") and not name.startswith("MAINSTAY_TEST_")]
    for name in [*ours, "NO_COLOR"]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/jobs.db"


@pytest.fixture
def app(url, monkeypatch, tmp_path):
    """The store of the command under test, which finds it through the environment."""
    monkeypatch.setenv("MAINSTAY_URL", url)
    if url == f"sqlite:///{tmp_path}/jobs.db":
        copyfile(empty_file(), tmp_path / "jobs.db")
    app = Mainstay(url)
    yield app
    app.close()


@pytest.fixture
def run(capsys):
    """Run a command in this process."""

    def run(*words):
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return Result(code, out, err)

    return run


@pytest.fixture
def shell():
    """Run a command in a process of its own, through the real entry."""

    def shell(*words, stdin="", env=None, **options):
        done = subprocess.run(
            [sys.executable, "-m", "mainstay", *map(str, words)],
            check=False,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            env=os.environ | (env or {}),
            **options,
        )
        return Result(done.returncode, done.stdout, done.stderr)

    return shell


@pytest.fixture
def terminal():
    """Run a command on a pseudo-terminal; answers what would be seen there."""
    pty = pytest.importorskip("pty")

    def terminal(*words, env=None):
        above, below = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "mainstay", *map(str, words)],
            stdin=below,
            stdout=below,
            stderr=subprocess.PIPE,
            env=os.environ | {"TERM": "xterm-256color"} | (env or {}),
        )
        os.close(below)
        text = b"".join(iter(lambda: _read(above), b""))
        os.close(above)
        error = process.communicate(timeout=60)[1]
        return Result(process.returncode, text.decode(), error.decode())

    return terminal


def _read(file):
    try:
        return os.read(file, 65536)
    except OSError:  # Linux's way to say that the other end is closed
        return b""
