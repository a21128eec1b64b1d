"""The soak: `python -m tests.soak --engine sqlite --minutes 30`.

A supervisor with two worker processes and their process slots, and a producer, work at jobs of every kind on a real engine. A
second worker runs the handlers that never end in a thread: it starts its process anew for each.
Memory (PSS), file descriptors and threads of every process are sampled. The soak fails when one of them grows after the
warm-up, when a job is lost, stuck, dead without reason or run too often, or when a process does not end in good order.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mainstay import Mainstay
from mainstay.core.errors import Conflict
from tests.crash import journal
from tests.crash.waiting import at_rest, rest
from tests.servers.engines import ENGINES
from tests.soak.audit import SHOWN, audit
from tests.soak.kinds import ENDLESS, ENDS_DEAD
from tests.soak.sampling import Growth, Sample, growths, sample, table, tree

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
WARM_UP = 0.2  # of the time, and at least …
SHORTEST_WARM_UP = 30.0  # … so many seconds
AT_REST = 90.0  # seconds in which everything must have ended once the producer has
STOP = 40.0  # seconds in which a process that was asked to end must have ended
WORKER = ("-m", "mainstay", "worker", "--app", "tests.soak.jobs:app", "--concurrency", "8", "--processes")
WORKERS = {
    "worker": (*WORKER, "2", "--queues", "default"),
    "endless": (*WORKER, "1", "--queues", ENDLESS, "--grace", "2s"),
}


class Report(NamedTuple):
    """What a soak came to."""

    accepted: int
    started: int
    growths: list[Growth]
    problems: list[str]


class Soak:
    """One run on one store, with its files in a folder."""

    def __init__(self, url: str, folder: Path, seconds: float) -> None:
        self._url, self._folder, self._seconds = url, folder, seconds
        self._app, self._journal = Mainstay(url), journal.Journal(folder, "soak")
        self._every = min(5.0, max(0.5, seconds / 120))
        self._samples: list[Sample] = []
        self.problems: list[str] = []

    def run(self) -> Report:
        """Let everything work for the given time, then let it end, then check."""
        self._app.store.set_setting("opened", "1")  # makes the schema
        workers = {name: self._start(name, *command) for name, command in WORKERS.items()}
        producer = self._start("producer", "-m", "tests.soak.producer")
        try:
            self._watch([producer, *workers.values()])
            self._end("producer", producer)
            self._settle()
            for name, worker in workers.items():
                self._end(name, worker)
        finally:
            for process in (producer, *workers.values()):
                process.kill()
                process.wait()
        self._app.close()
        return self._report()

    def _start(self, name: str, *command: str) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "MAINSTAY_URL": self._url, "SOAK_FOLDER": str(self._folder)}
        # Else glibc keeps blocks of this size after they are freed, and memory grows to what the largest jobs once needed together.
        environment["MALLOC_MMAP_THRESHOLD_"] = str(256 << 10)
        environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        with (self._folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, *command], env=environment, cwd=self._folder, stdout=log, stderr=log
            )

    def _watch(self, processes: list[subprocess.Popen[bytes]]) -> None:
        """Sample and decide reviews until the time is over; what was seen during the warm-up does not count."""
        began = time.monotonic()
        warm = began + max(SHORTEST_WARM_UP, WARM_UP * self._seconds)
        while (now := time.monotonic()) < began + self._seconds:
            if now >= warm:
                self._samples += sample(tree([process.pid for process in processes]), now)
            self._decide()
            rest(self._every)

    def _decide(self) -> None:
        """Do what people do: decide reviews, look at dead jobs and delete them."""
        for job in self._app.list("state:review", limit=100):
            decide = self._app.reject if job.type in ENDS_DEAD else self._app.approve
            try:
                decide(job.id)
            except Conflict as error:
                self.problems.append(f"{job.type}: {error}")
        for job in self._app.list("state:dead", limit=100):
            if job.type not in ENDS_DEAD:
                self.problems.append(f"{job.type} {job.id} is dead: {job.reason}")
            attempts = [
                [each.started_at, each.ended_at, each.outcome, each.error] for each in self._app.store.attempts(job.id)
            ]
            self._journal.write("dead", job=job.id, reason=job.reason, attempts=attempts)  # the job itself is deleted
            self._app.delete(job.id)

    def _settle(self) -> None:
        limit = time.monotonic() + AT_REST
        while not (at_rest(self._app) and not self._app.list("state:review")):
            if time.monotonic() > limit:
                stuck = self._app.store.counts(1_000)
                self.problems.append(f"stuck {AT_REST:.0f} s after the last enqueue: {stuck}")
                return
            self._decide()
            rest(0.1)
        self._decide()

    def _end(self, name: str, process: subprocess.Popen[bytes]) -> None:
        if process.poll() is not None:
            self.problems.append(f"the {name} ended by itself with {process.returncode}: see {name}.log")
            return
        process.send_signal(signal.SIGTERM)
        try:
            code = process.wait(STOP)
        except subprocess.TimeoutExpired:
            self.problems.append(f"the {name} did not end within {STOP:.0f} s of SIGTERM")
            return
        if code != 0:
            self.problems.append(f"the {name} ended with {code}: see {name}.log")

    def _report(self) -> Report:
        lines = journal.read(self._folder)
        found = growths(self._samples)
        problems = [*self.problems, *audit(lines)]
        problems += [f"{each.role}: {each.measure} grew by {each.grown:.1f} to a mean of {each.mean:.1f}" for each in found
                     if each.too_much]  # fmt: skip
        accepted = sum(len(line["items"]) for line in lines if line["op"] in ("accepted", "asked"))
        return Report(accepted, sum(line["op"] == "start" for line in lines), found, problems)


def run(engine: str, folder: Path, seconds: float) -> Report:
    """Run a soak on a fresh store of an engine."""
    with ENGINES[engine](folder) as url:
        return Soak(url, folder, seconds).run()


def main(arguments: list[str]) -> int:
    """Run, print the table, and return 1 if anything is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--engine", choices=[name for name in ENGINES if name != "memory"], default="sqlite")
    parser.add_argument("--minutes", type=float, default=30.0, help="how long jobs come (30)")
    parser.add_argument("--keep", action="store_true", help="keep the folder with logs and journals")
    given = parser.parse_args(arguments)
    with _folder(given.keep) as folder:
        report = run(given.engine, folder, given.minutes * 60)
    print(
        f"{given.engine}: {report.accepted:,} jobs accepted, {report.started:,} attempts, {given.minutes:g} minutes\n"
    )
    print(table(report.growths))
    print("\n" + ("\n".join(report.problems[: 5 * SHOWN]) or "flat; nothing lost, stuck or run too often"))
    return int(bool(report.problems))


@contextmanager
def _folder(keep: bool) -> Iterator[Path]:
    """A folder for one run; with `keep` it stays, and its name is printed."""
    folder = Path(tempfile.mkdtemp(prefix="mainstay-soak-"))
    if keep:
        print(f"files: {folder}", flush=True)
    try:
        yield folder
    finally:
        if not keep:
            shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
