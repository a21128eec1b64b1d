"""Flow control under kills and pauses: a limit, and chains of parents and children, audited by the engine's own account of every move.

`python -m tests.crash.flow [--kills 200] [--stops 20] [--seed N] [--engine sqlite]`

Eight workers with a lease of two seconds serve jobs of which three may run at once, and chains of three jobs of which each starts
when the one before it has completed. They are killed and paused past their lease while new jobs arrive. Then everything must come
to rest: no job waits, no slot is held, never did more than three jobs run under the limit, and no child started before its parent had
completed. Handlers of a worker that was counted out may still run: the store's tokens are what is limited.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from mainstay import Limit, Mainstay, Retry
from mainstay.core.errors import StoreBusy

from .cluster import Cluster
from .engines import ENGINES
from .nemesis import Nemesis
from .outages import OUTAGES
from .waiting import rest, until
from .zygote import Zygote, listening

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .engines import Engine

WORKERS, RUNNING = 8, 3
RATE, BURST = 50, 5  # starts a second, and at once
LEASE = 2.0  # seconds
BUDGET = 60.0  # seconds in which everything must come to rest once the faults have stopped
AHEAD = 12  # jobs of each kind that wait while there are faults
KEEN = Retry(attempts=30, base="20ms", cap="200ms")
STAGES = ("sanitize", "extract", "upload")


class Plan(NamedTuple):
    """What to do to whom."""

    kills: int = 200
    stops: int = 20
    seed: int = 1
    engine: str = "sqlite"


def build(url: str) -> Mainstay:
    """The application."""
    app = Mainstay(url)

    @app.job(retry=KEEN, limit=Limit(running=RUNNING))
    def limited(item: int) -> None:
        rest(0.02)

    @app.job(retry=KEEN, limit=Limit(rate=f"{RATE}/s", burst=BURST))
    def paced(item: int) -> None:
        pass

    for name in STAGES:
        app.job(name=name, retry=KEEN)(_stage)
    return app


def _stage(item: int) -> None:
    rest(0.01)


def work(folder: str, engine: str, slot: int) -> int:
    """A worker process."""
    app = build(ENGINES[engine](Path(folder)).url)
    app.events.on("worker_started", lambda worker: listening())
    return app.worker(concurrency=4, lease=f"{LEASE}s").run()


class Feeder:
    """Keeps jobs waiting while there are faults."""

    def __init__(self, app: Mainstay) -> None:
        self._app, self._over = app, threading.Event()
        self.parents: dict[str, str] = {}  # child → parent
        self.limited: list[str] = []
        self._thread = threading.Thread(target=self._feed)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _feed(self) -> None:
        while not self._over.is_set():
            if waiting(self._app) < AHEAD:
                with suppress(StoreBusy):  # a process was paused while it held a lock
                    self._more()
            self._over.wait(0.05)

    def _more(self) -> None:
        limited = self._app.registry.expect("limited")
        self.limited += [handle.id for handle in self._app.enqueue_many(limited.prepare(n) for n in range(AHEAD))]
        for n in range(AHEAD // 3):
            before: Any = None
            for name in STAGES:
                job = self._app.registry.expect(name)
                handle = (job.options(after=[before]) if before else job).enqueue(n)
                if before:
                    self.parents[handle.id] = before.id
                before = handle


def waiting(app: Mainstay) -> int:
    """How many jobs have not ended."""
    return sum(count.jobs for count in app.store.counts(1_000) if count.label not in ("dead", "review"))


class Report:
    """What a run came to: the findings break a promise."""

    def __init__(self, engine: Engine, app: Mainstay, feeder: Feeder, nemesis: Nemesis, quiet: list[str]) -> None:
        moves = [record for record in engine.account() if record.op == "move"]
        self.most = most_running(moves, set(feeder.limited))
        self.kills, self.stops = nemesis.kills, nemesis.stops
        self.jobs = len(feeder.limited) + len(feeder.parents) * 3 // 2
        ends = Counter(state_of(app, id) for id in [*feeder.limited, *feeder.parents, *feeder.parents.values()])
        self.ended = dict(ends)
        self.findings = [*quiet, *early_children(moves, feeder.parents)]
        self.findings += [
            f"{info.slot!r} has {info.holders} holders, and {info.waiting} jobs wait"
            for info in app.store.slots(100, 100)
        ]
        if not feeder.limited or not feeder.parents:
            self.findings.append("no jobs were enqueued")
        if self.most > RUNNING:
            self.findings.append(f"{self.most} jobs ran at once, {RUNNING} may")
        if set(ends) - {"completed", "dead", "cancelled"}:
            self.findings.append(f"some jobs have not ended: {dict(ends)}")

    def table(self) -> str:
        """For people."""
        return "\n".join([
            f"SIGKILLs {self.kills}, SIGSTOPs past the lease {self.stops}, jobs {self.jobs}, most at once {self.most} of {RUNNING}",
            f"ended as {self.ended}", *self.findings,
        ])  # fmt: skip


def state_of(app: Mainstay, job: str) -> str:
    """The state of a job."""
    found = app.store.get(job)
    return found.state if found else "gone"


def starts(engine: str, folder: Path, jobs: int) -> list[int]:
    """When each of so many paced jobs started, by the engine's clock, with eight worker processes and no faults."""
    with OUTAGES[""](engine, folder, Random(1)), Zygote(folder / "errors.log") as zygote:
        app = build(ENGINES[engine](folder).url)
        paced = app.registry.expect("paced")
        handles = app.enqueue_many(paced.prepare(n) for n in range(jobs))
        cluster = Cluster(zygote, folder, {"engine": engine}, {"worker": "tests.crash.flow:work"})
        cluster.add("worker", WORKERS)
        assert until(lambda: waiting(app) == 0, BUDGET)
        cluster.dismiss(cluster.of("worker"))
        found = [job.started_at or 0 for job in app.store.get_many([handle.id for handle in handles])]
        app.close()
    return sorted(found)


def too_fast(started: list[int], rate: float, burst: int) -> list[str]:
    """The windows, from one start to another, in which there are more starts than burst + rate × seconds."""
    return [
        f"{n + 1 - first} starts in {started[n] - started[first]} ms"
        for n in range(len(started))
        for first in range(n + 1)
        if n + 1 - first > burst + rate * (started[n] - started[first]) / 1_000
    ]


def most_running(moves: Iterable[Any], jobs: set[str]) -> int:
    """The largest number of these jobs that ran at one time, in the order of commits."""
    running: set[str] = set()
    most = 0
    for move in moves:
        if move.job in jobs:
            (running.add if move.args["after"] == "running" else running.discard)(move.job)
            most = max(most, len(running))
    return most


def early_children(moves: Iterable[Any], parents: dict[str, str]) -> Iterator[str]:
    """Children that started before their parent had completed."""
    completed: set[str] = set()
    for move in moves:
        if move.args["after"] == "completed":
            completed.add(move.job)
        elif move.args["after"] == "running" and move.job in parents and parents[move.job] not in completed:
            yield f"job {move.job} started before its parent {parents[move.job]} had completed"


def run(plan: Plan, folder: Path) -> Report:
    """One run in this folder, which must be empty."""
    with OUTAGES[""](plan.engine, folder, Random(plan.seed)):
        return _run(plan, folder)


def _run(plan: Plan, folder: Path) -> Report:
    engine = ENGINES[plan.engine](folder)
    app = build(engine.url)
    app.store.set_setting("opened", "1")  # makes the schema
    engine.prepare()
    quiet: list[str] = []
    errors = folder / "errors.log"
    with Zygote(errors) as zygote, Feeder(app) as feeder:
        cluster = Cluster(zygote, folder, {"engine": plan.engine}, {"worker": "tests.crash.flow:work"})
        cluster.add("worker", WORKERS)
        nemesis = Nemesis(cluster, Random(plan.seed), time.monotonic() + 600)
        nemesis.kill(plan.kills)
        nemesis.pause(plan.stops, LEASE)
        feeder.__exit__()
        if not until(lambda: waiting(app) == 0, BUDGET):
            quiet.append(f"not at rest {BUDGET:.0f} s after the last fault: {app.store.counts(1_000)}")
        cluster.dismiss(cluster.of("worker"))
    quiet += cluster.unexpected + errors.read_text(encoding="utf-8").splitlines()
    report = Report(engine, app, feeder, nemesis, quiet)
    app.close()
    engine.close()
    return report


def main(arguments: list[str] | None = None) -> int:
    """Run once and print the table; 1 when a promise was broken."""
    parser = argparse.ArgumentParser(prog="tests.crash.flow", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--stops", type=int, default=20)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    parser.add_argument("--engine", choices=sorted(ENGINES), default="sqlite")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        report = run(Plan(options.kills, options.stops, options.seed, options.engine), Path(folder))
    print(report.table())
    return 1 if report.findings else 0


if __name__ == "__main__":
    sys.exit(main())
