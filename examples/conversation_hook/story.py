"""The parts of the story: processes that are started, and what is waited for and checked."""

import json
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from contextlib import closing
from pathlib import Path

from tests.servers.process import Server

HOOK = Path(__file__).with_name("hook.py")
ROOT = HOOK.parents[2]
LIMIT = 100.0  # ms from the start of the hook to its exit


class Failed(Exception):
    """The story did not go as it should."""


def check(fact, text):
    """Say that something holds, or stop the story."""
    if not fact:
        raise Failed(text)
    say(text, "  ✓ ")


def say(text, start="  "):
    """Print a text within the width of the terminal."""
    columns = shutil.get_terminal_size((80, 24)).columns
    print(textwrap.fill(text, columns, initial_indent=start, subsequent_indent=" " * len(start)), flush=True)


def heading(text):
    print(f"\n{text}", flush=True)


def counted(app, *names):
    """Check that Prometheus gets these metrics."""
    lines = app.metrics().splitlines()
    check(all(any(line.startswith(name) for line in lines) for name in names), f"metrics: {', '.join(names)}")


def waited(condition, what, seconds=180):
    """Wait until something is true, and return it."""
    until = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > until:
            raise Failed(f"waited {seconds} s in vain: {what}")
        time.sleep(0.1)
    return value


def hooked(event):
    """Run the hook for an event, as an editor does; return the milliseconds from its start to its exit, and those of the processor."""
    text, before = json.dumps(event), processor()
    started = time.perf_counter()
    done = subprocess.run([sys.executable, HOOK], input=text, capture_output=True, text=True, check=False)
    took = (time.perf_counter() - started) * 1000
    if done.returncode:
        raise Failed(done.stderr)
    return took, processor() - before


def processor():
    """Milliseconds of processor that ended children have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1000


def p95(values):
    """The value that 95 of 100 do not exceed."""
    ordered = sorted(values)
    return ordered[-(-len(ordered) * 95 // 100) - 1]


def rows(path):
    """Every conversation, by its id."""
    with closing(sqlite3.connect(path)) as db:
        db.row_factory = sqlite3.Row
        return {row["id"]: dict(row) for row in db.execute("SELECT * FROM conversations")}


def statuses(path):
    """How many conversations have come how far."""
    with closing(sqlite3.connect(path)) as db:
        return dict(db.execute("SELECT status, count(*) FROM conversations GROUP BY status"))


class Workers(Server):
    """`mainstay worker` with several processes, as an operator starts it. It ends with the story, however that ends."""

    name, as_user, ending = "workers", "", "SIGTERM"

    def __init__(self, processes):
        self._processes = processes
        super().__init__()

    def program(self):
        command = [sys.executable, "-m", "mainstay", "worker", "--app", "examples.conversation_hook.pipeline:app"]
        return ["env", f"PYTHONPATH={ROOT}", *command, "--processes", self._processes, "--concurrency", "4"]

    def ready(self):
        return True  # as a process; it takes jobs a moment later

    def stop(self):
        """Stop gracefully; return the exit code."""
        if self._guardian.poll() is None:
            self.signal(signal.SIGTERM)
        code = self._guardian.wait(40)
        shutil.rmtree(self.folder, ignore_errors=True)
        return code

    def __exit__(self, *_):
        if (
            self._guardian.poll() is None
        ):  # the story was interrupted; a supervisor that is killed leaves its processes behind
            self.stop()
