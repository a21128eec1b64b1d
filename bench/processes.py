"""The processes of the bench: producers that run to their end, and workers that are started, watched and stopped."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from .marks import StartedJobs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from .contenders import Contender
    from .engines import Site

ROOT = Path(__file__).resolve().parent.parent
PROC = Path("/proc")
TICKS = os.sysconf("SC_CLK_TCK")
PATIENCE = 60.0  # seconds until a run that does not end has failed
ENOUGH = 20.0  # seconds for a drain of a long queue: the jobs that have started by then give the rate
LOOK = 0.005
SLOW_LOOK = 0.05  # where counting uses the server, whose processor time is measured


# An installed package has compiled bytecode. Without it, each start would compile the checkout.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


class Failed(Exception):
    """A run that did not end as it should; printed as FAILED, never as a figure."""


def produce(contender: Contender, site: Site, action: str, count: int = 0) -> dict[str, Any]:
    """Run a producer to its end and return its figures."""
    command = contender.producer(site.address, action, count)
    ended = subprocess.run(command, **surroundings(contender), capture_output=True, text=True, check=False)
    if ended.returncode:
        raise Failed(f"the producer said: {last_words(ended.stderr)}")
    return dict(json.loads(ended.stdout))


def surroundings(contender: Contender, **more: str) -> dict[str, Any]:
    """The folder and the variables of a contender's process, as `subprocess` takes them."""
    return {"cwd": contender.root or ROOT, "env": ENVIRONMENT | dict(contender.environment) | more}


def last_words(text: str) -> str:
    """The last line that a process printed: in a traceback, the error."""
    return text.strip().rpartition("\n")[2] or "nothing"


def until(
    done: Callable[[], bool], alive: Callable[[], bool] = lambda: True, patience: float = PATIENCE, look: float = LOOK
) -> bool:
    """Poll until `done()`; False if it takes too long or the processes have ended."""
    end = time.monotonic() + patience
    while not done():
        if time.monotonic() > end or not alive():
            return done()
        time.sleep(look)
    return True


class Workers:
    """The worker processes of one contender, from start to stop."""

    def __init__(self, contender: Contender, site: Site, processes: int, jobs: int) -> None:
        self.contender, self.site = contender, site
        self.marks = StartedJobs(site.files.with_suffix(".marks"), jobs)
        self.log = site.files.with_suffix(".log")
        given = surroundings(
            contender, BENCH_MARKS=str(self.marks.path), BENCH_DB=site.address, BENCH_ENGINE=contender.engine
        )
        self.born = time.monotonic_ns()
        with self.log.open("ab") as log:
            self._started = [
                subprocess.Popen(command, **given, stdout=log, stderr=log)
                for command in contender.workers(site.address, processes)
            ]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._started:
            if process.poll() is None:
                process.kill()
            process.wait()

    def alive(self) -> bool:
        return all(process.poll() is None for process in self._started)

    def run(self, jobs: int) -> None:
        """Wait until the first `jobs` jobs have started."""
        self._must(until(lambda: self.marks.reached(jobs), self.alive), f"{jobs} jobs to start")

    def run_numbers(self, numbers: range) -> None:
        """Wait until these jobs have started."""
        self._must(until(lambda: all(map(self.marks.started, numbers)), self.alive), f"jobs {numbers} to start")

    def run_some(self, jobs: int) -> int:
        """As `run`, for at most `ENOUGH` seconds; returns how many of them have started."""
        until(lambda: self.marks.reached(jobs), self.alive, ENOUGH)
        self._must(self.alive() and self.marks.distinct() > 1, "the first jobs of a long queue")
        return min(jobs, self.marks.distinct())

    def completed(self, jobs: int) -> None:
        """Wait until the store has `jobs` completed jobs; the caller checks the final count."""
        look = LOOK if self.contender.engine == "sqlite" else SLOW_LOOK
        until(lambda: self.contender.count(self.site.address).completed >= jobs, self.alive, look=look)

    def stop(self) -> None:
        """Stop them gracefully; a worker that does not end has failed."""
        for process in self._started:
            process.send_signal(self.contender.stop)
        self._must(until(lambda: all(process.poll() is not None for process in self._started)), "the worker to stop")

    def _must(self, came: bool, what: str) -> None:
        if not came:
            said = last_words(self.log.read_text(errors="replace"))
            raise Failed(f"gave up waiting for {what}; the worker said: {said}")

    def memory(self, field: str = "VmRSS") -> float | None:
        """Resident memory of all processes together in MiB; `VmHWM` for the peak."""
        kilobytes = [_status(pid, field) for pid in self._pids()]
        return sum(kilobytes) / 1024 if kilobytes else None

    def cpu(self) -> float | None:
        """Seconds of processor time so far, of all processes together."""
        pids = list(self._pids())
        return sum(map(_ticks, pids)) / TICKS if pids else None

    def _pids(self) -> Iterator[int]:
        return family(process.pid for process in self._started)


def family(started: Iterable[int]) -> Iterator[int]:
    """These processes and their descendants; empty on systems without /proc."""
    if not PROC.exists():
        return
    parents = {int(entry.name): _parent(entry) for entry in PROC.iterdir() if entry.name.isdigit()}
    found = set(started)
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    yield from found


def family_ticks(pid: int) -> int | None:
    """The processor time of a server and its children, including children that have ended."""
    pids = list(family([pid]))
    return sum(map(_ticks, pids)) + _ticks(pid, ended=True) if pids else None


def seconds(ticks: int | None) -> float | None:
    return None if ticks is None else ticks / TICKS


def _stat(pid: int | str) -> list[str]:
    """The fields after the command name, which may contain spaces and brackets."""
    return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()


def _parent(entry: Path) -> int:
    try:
        return int(_stat(entry.name)[1])
    except OSError:  # it has ended
        return 0


def _ticks(pid: int, ended: bool = False) -> int:
    """Processor time of a process; `ended`: of its children that have ended. 0 for a process that has just ended."""
    try:
        fields = _stat(pid)
    except OSError:
        return 0
    return int(fields[13]) + int(fields[14]) if ended else int(fields[11]) + int(fields[12])


def _status(pid: int, field: str) -> int:
    lines = (PROC / str(pid) / "status").read_text().splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith(field + ":")), 0)
