"""The real worker on a real file, and whatever a hostile world can bring. Nobody ever sees a traceback."""

import os
import subprocess
import sys
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from mainstay import Mainstay
from mainstay.core.states import ENDED, REVIEW
from tests.waiting import eventually

ROOT = Path(__file__).parents[2]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "jobs.db"


@pytest.fixture
def app(path):
    with closing(Mainstay(f"sqlite:///{path}")) as app:
        yield app


@pytest.fixture(autouse=True)
def _no_traceback(capfd):
    """Whatever happened, no part of mainstay broke: a worker says so on stderr when one does."""
    yield
    said = capfd.readouterr().err
    assert "Traceback" not in said, said


@contextmanager
def at_work(app, **options):
    """A worker in this process; what the world did to its store meanwhile is collected, not raised."""
    errors = []
    stop = app.events.on("store_error", lambda error, wait: errors.append(error))
    with app.worker(**{"concurrency": 4, "grace": "2s", "poll": "50ms"} | options) as worker:
        worker.store_errors = errors
        yield worker
    stop()


def ended(app, handle, seconds=20):
    """The job, once it has ended or waits for a person."""

    def look():
        job = app.store.get(handle.id)
        return job if job is not None and (job.state in ENDED or job.state == REVIEW) else None

    return eventually(look, f"the end of job {handle.id}", seconds)


@pytest.fixture
def program(tmp_path):
    """Starts Python programs in interpreters of their own; what is left at the end is killed."""
    running = []

    def start(source, *arguments, **options):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
        process = subprocess.Popen(
            [sys.executable, "-c", source, *map(str, arguments)], env=environment, cwd=tmp_path, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options,
        )  # fmt: skip
        running.append(process)
        return process

    yield start
    for process in running:
        if process.poll() is None:
            process.kill()
        process.communicate()


def finished(process, seconds=60):
    """What a program printed, once it has ended well."""
    out, err = process.communicate(timeout=seconds)
    assert process.returncode == 0, err
    assert "Traceback" not in err, err
    return out
