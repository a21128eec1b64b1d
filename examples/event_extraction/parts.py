"""What the system needs on this machine: PostgreSQL, a language model, faults in front of it, and worker processes."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.servers import model
from tests.servers.faults import FaultServer
from tests.servers.postgres import Postgres
from tests.servers.process import Server

ROOT = Path(__file__).parents[2]
APP = "examples.event_extraction.jobs:app"


@contextmanager
def servers():
    """Start the servers and name them to the application by its variables; yields the fault server."""
    with ExitStack() as stack:
        database = stack.enter_context(Postgres("18"))
        faults = stack.enter_context(FaultServer(model=model.address()))
        os.environ.update(EVENTS_DATABASE=database.url(), EVENTS_MODEL=faults.url)
        os.environ.update(MAINSTAY_URL=database.url(), PYTHONPATH=str(ROOT), NO_COLOR="1")
        yield faults


class Workers(Server):
    """`mainstay worker` as a process: with `--processes`, several under a supervisor. It ends with whoever has started it."""

    name, as_user = "workers", ""
    app = APP

    def __init__(self, *arguments, **environment):
        self.arguments, self.code = arguments, None
        self.environment = [f"{name}={value}" for name, value in environment.items()]
        super().__init__()

    def program(self):
        python = [sys.executable, "-m", "mainstay", "worker", "--app", self.app]
        return ["env", *self.environment, *python, *self.arguments]

    def ready(self):
        return True  # as a process; it takes jobs a moment later

    def stop(self):
        """Stop as a service does."""
        self.signal(signal.SIGTERM)
        self.gone()
        self.code = self._guardian.returncode
        shutil.rmtree(self.folder, ignore_errors=True)


class Fleet:
    """Worker processes without a supervisor, which are killed at random and replaced at once."""

    def __init__(self, size):
        self.workers = [self._start() for _ in range(size)]
        self.killed, self._next = 0, time.monotonic() + 2

    def _start(self):
        return Workers("--concurrency", "25").start()

    def kill_some(self, most):
        """Wait a moment; kill a process if it is time for that. Returns whether there are more to kill."""
        time.sleep(0.1)
        if time.monotonic() > self._next:
            n = random.randrange(len(self.workers))
            self.workers[n].kill()
            self.workers[n] = self._start()
            self.killed += 1
            self._next = time.monotonic() + random.uniform(0.3, 1.5)
        return self.killed < most

    @property
    def code(self):
        """The worst exit code of those that were left."""
        return max(worker.code for worker in self.workers)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for worker in self.workers:
            worker.stop()


def command(*arguments):
    """Run a command of mainstay; returns what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", "mainstay", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return (done.stdout + done.stderr).rstrip()
