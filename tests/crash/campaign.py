"""The crash campaign: real processes on one real store, killed and paused at random, then every job audited.

`python -m tests.crash.campaign [--kills 200] [--stops 50] [--seed N] [--seconds N] [--engine sqlite] [--json FILE]`

First act: workers with default settings and producers are killed with SIGKILL and replaced at once. Second act: workers with
a lease of one second are paused past it, while their handlers run for longer than it. Third act, on engines that are
servers: `--outage` befalls the server `--strikes` times. After each act the faults stop:
everything must come to rest within a budget, every worker must still run a job that only it can run, and all must end in
good order. `--break unfenced` patches the token guard out of the finish: the campaign must then fail.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from mainstay import Mainstay

from . import journal
from .audit import Audit, percentile
from .cluster import Cluster
from .engines import ENGINES
from .mutations import VARIANTS
from .nemesis import Claims, Nemesis
from .outages import OUTAGES
from .waiting import at_rest, until
from .workload import announced, probe_queue
from .zygote import Zygote

if TYPE_CHECKING:
    from collections.abc import Callable

WORKERS, PRODUCERS = 4, 2
LEASE = 1.0  # seconds, in the second act
BUDGET = 60.0  # seconds in which everything must come to rest once the faults have stopped
PICKUP = 5.0  # seconds in which the first claim must come once the server is back
SHOWN = 12


class Plan(NamedTuple):
    """What to do to whom."""

    kills: int = 200
    stops: int = 50
    seed: int = 1
    seconds: float = 600.0
    engine: str = "sqlite"
    broken: str = ""
    lease: float | None = None  # seconds, in the first act; None: as the store would have it
    outage: str = ""  # what befalls the server in the third act
    strikes: int = 0  # how often


class Campaign:
    """One run in a folder of its own."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        self.plan, self.folder = plan, folder
        self.engine = ENGINES[plan.engine](folder)
        self.app = Mainstay(self.engine.url)
        self.app.store.set_setting("opened", "1")  # makes the schema
        self.engine.prepare()
        self.journal = journal.Journal(folder, "campaign")
        self.began, self.quiet = time.monotonic(), []
        self.kills = self.stops = self.strikes = 0
        self.pickups: list[float] = []

    def run(self, fault: Callable[[], float | None]) -> Report:
        """All acts, then the audit."""
        errors = self.folder / "errors.log"
        with Zygote(errors) as zygote:
            settings = {"engine": self.plan.engine, "slots": WORKERS, "broken": self.plan.broken}
            cluster = Cluster(zygote, self.folder, settings)
            if self.plan.kills:
                self._act(cluster, self.plan.lease, 0.3, lambda nemesis: nemesis.kill(self.plan.kills))
            if self.plan.stops:
                self._act(cluster, LEASE, 2.2 * LEASE, lambda nemesis: nemesis.pause(self.plan.stops, LEASE))
            if self.plan.strikes:
                claims = Claims(self.folder)
                self._act(
                    cluster, self.plan.lease, 0.3, lambda nemesis: nemesis.strike(self.plan.strikes, fault, claims)
                )
        audit = Audit(journal.read(self.folder), self.engine, self.app)
        audit.unexpected += cluster.unexpected + self.quiet + errors.read_text(encoding="utf-8").splitlines()
        self.app.close()
        self.engine.close()
        return Report(self, audit)

    def _act(self, cluster: Cluster, lease: float | None, longest: float, faults: Callable[[Nemesis], None]) -> None:
        """Faults of one kind, then rest."""
        options = {} if lease is None else {"lease": f"{lease}s"}
        cluster.add("worker", WORKERS, **options)
        cluster.add("producer", PRODUCERS, seed=str(self.plan.seed), longest=longest)
        nemesis = Nemesis(cluster, Random(f"{self.plan.seed}-{lease}"), self.began + self.plan.seconds)
        Claims(self.folder).first(self.journal.write("act"))  # a fault before the first claim would hit nothing
        faults(nemesis)
        self.kills, self.stops = self.kills + nemesis.kills, self.stops + nemesis.stops
        self.strikes, self.pickups = self.strikes + nemesis.strikes, self.pickups + nemesis.pickups
        self.quiet += [
            f"first claim {took:.1f} s after the server was back" for took in nemesis.pickups if took > PICKUP
        ]
        self._settle(cluster)

    def _settle(self, cluster: Cluster) -> None:
        """The faults have stopped: everything ends, every worker proves that it still works, all leave."""
        began = time.monotonic()
        cluster.dismiss(cluster.of("producer"))
        for member in cluster.of("worker"):
            self._probe(member.slot)
        if not until(lambda: at_rest(self.app), BUDGET):
            self.quiet.append(f"not at rest {BUDGET:.0f} s after the last fault: {self.app.store.counts(1_000)}")
        self.journal.write("rest", seconds=round(time.monotonic() - began, 2))
        cluster.dismiss(cluster.of("worker"))

    def _probe(self, slot: int) -> None:
        item = f"probe-{slot}-{time.monotonic_ns()}"
        draft = self.app._draft(f"probe-{slot}", {"item": item}, {"queue": probe_queue(slot)})
        announced([draft], self.journal, "probe", [item])
        handle = self.app.enqueue_many([draft])[0]
        self.journal.write("acked", items=[item], ids=[draft.id], answers=[handle.id], created=[True])


class Report:
    """What a campaign came to."""

    def __init__(self, campaign: Campaign, audit: Audit) -> None:
        plan, times = campaign.plan, audit.recoveries()
        rests = [line["seconds"] for line in audit.lines if line["op"] == "rest"]
        self.findings = [*audit.lost, *audit.twice, *audit.unexpected]
        self.figures: dict[str, Any] = {
            "engine": plan.engine,
            "seed": plan.seed,
            "SIGKILLs": campaign.kills,
            "SIGSTOPs past the lease": campaign.stops,
            f"outages of the server ({plan.outage or 'none'})": campaign.strikes,
            "first claim after one, max s": round(max(campaign.pickups, default=0.0), 2),
            "jobs acknowledged": len(audit.acked),
            "jobs in the store": len(audit.jobs),
            "handler starts": audit.count("start"),
            "started again after a fault": audit.again,
            "leases lost": audit.count("lease_lost"),
            "store errors": audit.count("store_error") + audit.count("refused"),
            "ended as": ", ".join(f"{state} {count}" for state, count in sorted(audit.states().items())),
            "lost": len(audit.lost),
            "recorded twice": len(audit.twice),
            "unexpected": len(audit.unexpected),
            "recovery, jobs": len(times),
            "recovery p50 s": round(percentile(times, 0.5), 2),
            "recovery p99 s": round(percentile(times, 0.99), 2),
            "recovery max s": round(times[-1], 2) if times else 0.0,
            "at rest after s": max(rests, default=0.0),
            "seconds": round(time.monotonic() - campaign.began, 1),
        }

    def table(self) -> str:
        """For people."""
        rows = [f"{name:30}{value}" for name, value in self.figures.items()]
        more = len(self.findings) - SHOWN
        return "\n".join([*rows, *self.findings[:SHOWN], *([f"… and {more} more"] if more > 0 else [])])


def run(plan: Plan, folder: Path) -> Report:
    """One campaign in this folder, which must be empty."""
    with OUTAGES[plan.outage](plan.engine, folder, Random(plan.seed)) as fault:
        return Campaign(plan, folder).run(fault)


def main(arguments: list[str] | None = None) -> int:
    """Run one campaign and print its table; 1 when a promise was broken."""
    parser = argparse.ArgumentParser(prog="tests.crash.campaign", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--stops", type=int, default=50)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    parser.add_argument("--seconds", type=float, default=600.0, help="give no more faults after so long")
    parser.add_argument("--engine", choices=sorted(ENGINES), default="sqlite")
    parser.add_argument("--lease", type=float, help="seconds, for the workers that are killed")
    parser.add_argument("--outage", choices=sorted(OUTAGES), default="", help="what befalls the server, in a third act")
    parser.add_argument("--strikes", type=int, default=0, help="how often")
    parser.add_argument("--break", dest="broken", choices=sorted(VARIANTS), default="", help="a known-bad variant")
    parser.add_argument("--keep", type=Path, help="keep the store and the journal in this folder")
    parser.add_argument("--json", type=Path, help="write the figures and findings to this file")
    options = parser.parse_args(arguments)
    plan = Plan(
        options.kills, options.stops, options.seed, options.seconds, options.engine, options.broken, options.lease,
        options.outage, options.strikes,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        report = run(plan, folder)
    print(report.table())
    if options.json:
        options.json.write_text(json.dumps({**report.figures, "findings": report.findings}, indent=2), encoding="utf-8")
    return 1 if report.findings else 0


if __name__ == "__main__":
    sys.exit(main())
