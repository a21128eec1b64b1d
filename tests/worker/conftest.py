"""A program with handlers, a database and a journal of its own for every test, and the processes that run it."""

import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.servers.engines import ENGINES
from tests.waiting import eventually

SOURCE = Path(__file__).with_name("jobs.py")
WORKER = """
import json, sys, jobs
from mainstay.worker.shutdown import exit_process
exit_process(jobs.app.worker(**json.loads(sys.argv[1])).run())
"""
SUPERVISOR = """
import json, sys
from mainstay.worker.supervisor import Supervisor
app, processes, options, extra = json.loads(sys.argv[1])
sys.exit(Supervisor(app, processes, options, extra=extra).run())
"""


def everywhere(test):
    """Run a test on every engine that several processes can share, in its newest version."""
    return pytest.mark.engines("sqlite", "postgres18", "valkey")(pytest.mark.usefixtures("engine")(test))


@pytest.fixture
def folder(tmp_path, request):
    """A folder with `jobs.py`, the URL of its store, its journal, and its database if that is a file.

    SQLite, unless the test is marked with `everywhere`.
    """
    shutil.copy(SOURCE, tmp_path / "jobs.py")
    with ENGINES[request.getfixturevalue("engine") if "engine" in request.fixturenames else "sqlite"](tmp_path) as url:
        (tmp_path / "url").write_text(url, encoding="utf-8")
        yield tmp_path


@pytest.fixture
def jobs(folder):
    """The program's module in this process."""
    with installed(folder) as module:
        yield module


@contextmanager
def installed(folder, name="jobs"):
    """Import a module of that folder; at the end open every gate, and wait for the handlers that workers could not stop."""
    workers = []
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        module = importlib.import_module(name)
        module.app.events.on("worker_started", lambda worker: workers.extend([worker]))
        yield module
        open_gates(folder)
        eventually(lambda: not any(worker.services for worker in workers), "the last handler to end")
        module.app.close()
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop(name, None)


def open_gates(folder):
    for gate in ("gate", "late", "enough"):
        (folder / gate).touch()


@pytest.fixture
def journal(folder):
    return Journal(folder / "journal")


class Journal:
    """What the handlers wrote."""

    def __init__(self, path):
        self._path = path

    def lines(self, start=""):
        text = self._path.read_text(encoding="utf-8") if self._path.exists() else ""
        return [line for line in text.splitlines() if line.startswith(start)]

    def wait(self, start, count=1, seconds=20):
        """The lines that start so, once there are that many."""

        def enough():
            found = self.lines(start)
            return found if len(found) >= count else None

        return eventually(enough, f"{count} times {start!r} in the journal, which has {self.lines()[-10:]}", seconds)

    def pid(self, start):
        """The process id at the end of the first line that starts so."""
        return int(self.wait(start)[0].split()[-1])


@pytest.fixture
def start(folder):
    """Starts a program in the folder: a file's name, or code. What is left at the end is killed."""
    running = []

    def begin(program, *arguments):
        command = [program] if program.endswith(".py") else ["-c", program]
        process = subprocess.Popen(
            [sys.executable, *command, *arguments], cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )  # fmt: skip
        running.append(process)
        return process

    yield begin
    open_gates(folder)
    for process in running:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


@pytest.fixture
def start_worker(start):
    """Starts a worker process of the program, as `mainstay worker` does."""
    return lambda **options: start(WORKER, json.dumps(options))


@pytest.fixture
def start_supervisor(start):
    """Starts a supervisor of the program, as `mainstay worker --processes` does."""

    def begin(processes=1, app="jobs:app", extra=5, **options):
        return start(SUPERVISOR, json.dumps([app, processes, options, extra]))

    return begin


def ended(process, seconds=20):
    """The exit code and stderr of a process that ends."""
    _, complaint = process.communicate(timeout=seconds)
    return process.returncode, complaint


def gone(pid):
    """Whether a process is no more, or only waits to be reaped."""
    try:
        os.kill(pid, 0)
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (ProcessLookupError, FileNotFoundError):
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"


def settled(app, handle, *states, seconds=20):
    """The job once it is in one of these states."""

    def there():
        job = handle.job()
        return job if job.state in states else None

    return eventually(there, f"{handle!r} to be {' or '.join(states)}", seconds)


def attempt(app, handle):
    """The only attempt of a job that has ended badly."""
    settled(app, handle, "dead", "cancelled")
    (only,) = app.attempts(handle.id)
    return only


def terminate(process):
    process.send_signal(signal.SIGTERM)
