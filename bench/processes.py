"""Real processes: producers that are waited for, workers that are watched and asked to leave."""

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
PATIENCE = 60.0  # seconds until a run that does not come to an end is given up …
ENOUGH = 20.0  # … or, where a long queue slows a contender down, until what has run by then has to do
LOOK = 0.005
SLOW_LOOK = 0.05  # where looking makes the server work, which is measured too


# An installed package has its bytecode beside it; a checkout whose user forbids writing any would be compiled at each start.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


class Failed(Exception):
    """A run that did not come to its end; printed as FAILED, never as a figure."""


def produce(contender: Contender, site: Site, action: str, count: int = 0) -> dict[str, Any]:
    """Run a producer to its end and answer what it measured."""
    command = contender.producer(site.address, action, count)
    ended = subprocess.run(command, **surroundings(contender), capture_output=True, text=True, check=False)
    if ended.returncode:
        raise Failed(f"the producer said: {last_words(ended.stderr)}")
    return dict(json.loads(ended.stdout))


def surroundings(contender: Contender, **more: str) -> dict[str, Any]:
    """The folder and the variables of a contender's process, as `subprocess` takes them."""
    return {"cwd": contender.root or ROOT, "env": ENVIRONMENT | dict(contender.environment) | more}


def last_words(text: str) -> str:
    """The last line of what a process printed: in a traceback, the error."""
    return text.strip().rpartition("\n")[2] or "nothing"


def until(
    done: Callable[[], bool], alive: Callable[[], bool] = lambda: True, patience: float = PATIENCE, look: float = LOOK
) -> bool:
    """Look every few milliseconds until it is so; False when it takes too long or cannot happen any more."""
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
        """Wait until the first so many jobs have started."""
        self._must(until(lambda: self.marks.reached(jobs), self.alive), f"{jobs} jobs to start")

    def run_some(self, jobs: int) -> int:
        """As `run`, for a limited time; answers how many of them have started."""
        until(lambda: self.marks.reached(jobs), self.alive, ENOUGH)
        self._must(self.alive() and self.marks.distinct() > 1, "the first jobs of a long queue")
        return min(jobs, self.marks.distinct())

    def completed(self, jobs: int) -> None:
        """Wait until the store says so many are completed; what it says in the end is counted by the caller."""
        look = LOOK if self.contender.engine == "sqlite" else SLOW_LOOK
        until(lambda: self.contender.count(self.site.address).completed >= jobs, self.alive, look=look)

    def leave(self) -> None:
        """Ask them to finish what they run and end; one that must be killed has failed."""
        for process in self._started:
            process.send_signal(self.contender.stop)
        self._must(until(lambda: all(process.poll() is not None for process in self._started)), "the worker to stop")

    def _must(self, came: bool, what: str) -> None:
        if not came:
            said = last_words(self.log.read_text(errors="replace"))
            raise Failed(f"gave up waiting for {what}; the worker said: {said}")

    def memory(self, field: str = "VmRSS") -> float | None:
        """Resident memory of all processes together in MiB; `VmHWM` for the highest it was."""
        kilobytes = [_status(pid, field) for pid in self._pids()]
        return sum(kilobytes) / 1024 if kilobytes else None

    def cpu(self) -> float | None:
        """Seconds of processor time so far, of all processes together."""
        pids = list(self._pids())
        return sum(map(_ticks, pids)) / TICKS if pids else None

    def _pids(self) -> Iterator[int]:
        return family(process.pid for process in self._started)


def family(started: Iterable[int]) -> Iterator[int]:
    """These processes and their descendants; none where there is no /proc."""
    if not PROC.exists():
        return
    parents = {int(entry.name): _parent(entry) for entry in PROC.iterdir() if entry.name.isdigit()}
    found = set(started)
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    yield from found


def family_ticks(pid: int) -> int | None:
    """The processor time of a server and its children, of those too that have ended and were waited for."""
    pids = list(family([pid]))
    return sum(map(_ticks, pids)) + _ticks(pid, ended=True) if pids else None


def seconds(ticks: int | None) -> float | None:
    return None if ticks is None else ticks / TICKS


def _stat(pid: int | str) -> list[str]:
    """The fields after the command name, which may itself hold spaces and brackets."""
    return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()


def _parent(entry: Path) -> int:
    try:
        return int(_stat(entry.name)[1])
    except OSError:  # ended meanwhile
        return 0


def _ticks(pid: int, ended: bool = False) -> int:
    """Processor time of a process; `ended`: of those of its children that are no more. One that just ended has none."""
    try:
        fields = _stat(pid)
    except OSError:
        return 0
    return int(fields[13]) + int(fields[14]) if ended else int(fields[11]) + int(fields[12])


def _status(pid: int, field: str) -> int:
    lines = (PROC / str(pid) / "status").read_text().splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith(field + ":")), 0)
