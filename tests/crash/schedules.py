"""Schedules under kills and pauses: one job for each tick of each schedule, and none is missing.

`python -m tests.crash.schedules [--ticks 10000] [--seed N] [--engine sqlite]`

Four workers fire a hundred schedules, each of them every second, half of them by cron. The workers are killed, and paused past their lease, all the time;
an operator pauses and resumes schedules. Then each second must have one job of each schedule, but for the seconds of its pauses.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
import threading
import time
from pathlib import Path
from random import Random
from typing import NamedTuple, Self

from mainstay import Mainstay, Retry
from mainstay.core.clock import SECOND
from mainstay.core.errors import StoreUnavailable

from .cluster import Cluster
from .engines import ENGINES
from .nemesis import Nemesis
from .outages import OUTAGES
from .waiting import rest, until
from .zygote import Zygote, listening

WORKERS, SCHEDULES, PAUSED = 4, 100, 10  # of these some are paused now and then
LEASE = 2.0  # seconds
BUDGET = 90.0  # seconds in which everything must come to rest once the faults have stopped
PAGE = 10_000
KEEN = Retry(attempts=30, base="20ms", cap="200ms")


class Plan(NamedTuple):
    """How long, and where."""

    ticks: int = 10_000
    seed: int = 1
    engine: str = "sqlite"


def build(url: str) -> Mainstay:
    """The application."""
    app = Mainstay(url)

    @app.job(retry=KEEN)
    def work(n: int) -> None: ...

    for n in range(SCHEDULES):
        times: dict[str, str] = {"cron": "* * * * * *"} if n % 2 else {"every": "1s"}
        app.schedule(f"s{n}", work.prepare(n), catch_up="all", **times)  # type: ignore[arg-type]
    return app


def work(folder: str, engine: str, slot: int) -> int:
    """A worker process."""
    app = build(ENGINES[engine](Path(folder)).url)
    app.events.on("worker_started", lambda worker: listening())
    return app.worker(concurrency=4, lease=f"{LEASE}s").run()


class Operator:
    """Pauses and resumes schedules while there are faults, and notes between which instants each was surely not paused."""

    def __init__(self, app: Mainstay, random: Random) -> None:
        self._app, self._random, self._over = app, random, threading.Event()
        self.pauses: dict[str, list[tuple[int, int]]] = {}  # name → from, until
        self._thread = threading.Thread(target=self._act)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _act(self) -> None:
        while not self._over.wait(0.2):
            self._pause(f"s{self._random.randrange(PAUSED)}")

    def _pause(self, name: str) -> None:
        begun = self._app.clock.now()
        self._insist(lambda: self._app.pause_schedule(name, "a test"))
        self._over.wait(self._random.uniform(0.2, 2.5))
        self._insist(lambda: self._app.resume_schedule(name))
        self.pauses.setdefault(name, []).append((begun - SECOND, self._app.clock.now() + SECOND))

    def _insist(self, change: object) -> None:
        """Make a change, again while a paused process holds a lock."""
        while True:
            try:
                change()  # type: ignore[operator]
            except StoreUnavailable:
                continue
            return


class Report:
    """What a run came to: the findings break a promise."""

    def __init__(self, app: Mainstay, operator: Operator, nemesis: Nemesis, quiet: list[str]) -> None:
        self.kills, self.stops = nemesis.kills, nemesis.stops
        self.pauses = sum(map(len, operator.pauses.values()))
        self.ticks, self.findings = 0, [*quiet]
        for n in range(SCHEDULES):
            found = ticks_of(app, f"s{n}")
            self.ticks += len(found)
            self.findings += audit(f"s{n}", found, operator.pauses.get(f"s{n}", []))

    def table(self) -> str:
        """For people."""
        return "\n".join([
            f"ticks {self.ticks} of {SCHEDULES} schedules, SIGKILLs {self.kills}, SIGSTOPs past the lease {self.stops}, pauses {self.pauses}",
            *self.findings[:20],
        ])  # fmt: skip


def ticks_of(app: Mainstay, name: str) -> list[int]:
    """The ticks of a schedule that have a job."""
    found: list[int] = []
    after = None
    while True:
        page = app.search(f"schedule:{name}", PAGE, after)
        found += [job.tick or 0 for job in app.store.get_many(page.ids)]
        after = page.after
        if after is None:
            return sorted(found)


def audit(name: str, ticks: list[int], pauses: list[tuple[int, int]]) -> list[str]:
    """What is wrong with the ticks of a schedule that fires every second."""
    findings = [f"{name} has no job"] if not ticks else []
    for before, tick in itertools.pairwise(ticks):
        missing = range(before + SECOND, tick, SECOND)
        if tick - before < SECOND:
            findings.append(f"{name} has two jobs for the tick {tick}")
        lost = [each for each in missing if not any(begun <= each <= ended for begun, ended in pauses)]
        if lost:
            findings.append(f"{name} has no job for {len(lost)} ticks, the first is {lost[0]}")
    return findings


def fired(app: Mainstay) -> int:
    """How many ticks have made a job."""
    return sum(rule.value.get("fired", 0) for rule in app.store.rules(["tick"]))


def waiting(app: Mainstay) -> int:
    """How many jobs have not ended."""
    return sum(count.jobs for count in app.store.counts(1_000) if count.label not in ("dead", "review"))


def run(plan: Plan, folder: Path) -> Report:
    """One run in this folder, which must be empty."""
    with OUTAGES[""](plan.engine, folder, Random(plan.seed)):
        return _run(plan, folder)


def _run(plan: Plan, folder: Path) -> Report:
    engine = ENGINES[plan.engine](folder)
    app, random = build(engine.url), Random(plan.seed)
    app.sync_schedules()
    quiet: list[str] = []
    errors = folder / "errors.log"
    with Zygote(errors) as zygote:
        cluster = Cluster(zygote, folder, {"engine": plan.engine}, {"worker": "tests.crash.schedules:work"})
        cluster.add("worker", WORKERS)
        nemesis = Nemesis(cluster, random, time.monotonic() + 900)
        with Operator(app, Random(plan.seed)) as operator:
            while fired(app) < plan.ticks and not nemesis.late():
                nemesis.kill(5)
                nemesis.pause(2, LEASE)
                rest(1.0)
        for n in range(SCHEDULES):
            app.reschedule(f"s{n}", end=app.clock.now() / 1000 + 2)
        if not until(lambda: _ended(app) and waiting(app) == 0, BUDGET):
            quiet.append(f"not at rest {BUDGET:.0f} s after the last fault: {app.store.counts(1_000)}")
        cluster.dismiss(cluster.of("worker"))
    quiet += cluster.unexpected + errors.read_text(encoding="utf-8").splitlines()
    report = Report(app, operator, nemesis, quiet)
    app.close()
    return report


def _ended(app: Mainstay) -> bool:
    return all(rule.value.get("next") is None for rule in app.store.rules(["tick"]))


def main(arguments: list[str] | None = None) -> int:
    """Run once and print the table; 1 when a promise was broken."""
    parser = argparse.ArgumentParser(prog="tests.crash.schedules", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--ticks", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    parser.add_argument("--engine", choices=sorted(ENGINES), default="sqlite")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        report = run(Plan(options.ticks, options.seed, options.engine), Path(folder))
    print(report.table())
    return 1 if report.findings else 0


if __name__ == "__main__":
    sys.exit(main())
