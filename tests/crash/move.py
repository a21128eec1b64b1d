"""Moving under fire: SQLite to PostgreSQL to Redis to SQLite, the mover killed halfway in each leg and run again.

`python -m tests.crash.move [--jobs 100000] [--seed N] [--batch 500] [--whole] [--json FILE]`

At the end all four stores must hold the same, row by row, and hand their jobs out in the same order. `--whole` kills nobody:
for the time that a move takes.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from mainstay.core.clock import HOUR, ManualClock
from mainstay.core.export import PARTS
from mainstay.stores import open_store
from mainstay.stores.move import MARK, digest
from tests.servers.engines import SERVERS, kind

from .sample_data import SampleData, claims
from .waiting import until

if TYPE_CHECKING:
    from mainstay.stores.contract import Store
    from mainstay.stores.move import Digest

PATIENCE = 300.0  # seconds for a leg


class Plan(NamedTuple):
    """What to move, and how."""

    jobs: int = 100_000
    seed: int = 1
    batch: int = 500
    kill: bool = True


class Leg(NamedTuple):
    """One move: from where, to where, what it said when it was killed, and how long each run took."""

    source: str
    target: str
    killed_at: str
    seconds: tuple[float, ...]


class Journey:
    """One run over all three engines, in a folder of its own."""

    def __init__(self, plan: Plan, folder: Path, stack: ExitStack) -> None:
        self.plan, self.folder, self.random = plan, folder, Random(plan.seed)
        self.clock = ManualClock()
        servers = [newest("postgres"), newest("redis")]
        self.names = ["sqlite", *servers, "sqlite again"]
        self.urls = [
            f"sqlite:///{folder / 'first.db'}",
            *(stack.enter_context(SERVERS[name](folder)) for name in servers),
            f"sqlite:///{folder / 'last.db'}",
        ]
        self.stores: list[Store] = [stack.enter_context(open_store(url, self.clock)) for url in self.urls]
        self.legs: list[Leg] = []
        self.findings: list[str] = []
        self.digests: list[dict[str, Digest]] = []
        self.claimed = 0

    def run(self) -> Journey:
        """Fill the first store, move on and on, compare."""
        SampleData(self.stores[0], self.clock, self.plan.seed).fill(self.plan.jobs)
        for n in range(3):
            self._leg(n)
        self.digests = [digests(store) for store in self.stores]
        for name, found in zip(self.names[1:], self.digests[1:], strict=True):
            self.findings += [f"{name} differs in {part}" for part in PARTS if found[part] != self.digests[0][part]]
        self._compare_claims()
        return self

    def _leg(self, n: int) -> None:
        killed_at, seconds = "", []
        if self.plan.kill:
            began = time.monotonic()
            killed_at = self._killed(n)
            seconds.append(time.monotonic() - began)
        began = time.monotonic()
        process = self._start(n)
        words, errors = process.communicate(timeout=PATIENCE)
        seconds.append(time.monotonic() - began)
        self.legs.append(Leg(self.names[n], self.names[n + 1], killed_at, tuple(round(each, 1) for each in seconds)))
        if process.returncode:
            raise RuntimeError(f"{self.legs[-1]} ended with {process.returncode}: {errors}")
        if json.loads(words)["jobs"]["rows"] != self.plan.jobs:
            self.findings.append(f"{self.legs[-1]} says {words}")

    def _start(self, n: int) -> subprocess.Popen[str]:
        words = [sys.executable, "-m", "mainstay", "move", self.urls[n], self.urls[n + 1], "--json"]
        return subprocess.Popen(
            [*words, "--batch", str(self.plan.batch)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def _killed(self, n: int) -> str:
        """Start a leg and kill it about halfway; answers how far it was."""
        part, wanted = self.random.choice((("jobs", self.plan.jobs // 2), ("logs", 1), ("attempts", 1)))
        process = self._start(n)
        reached = until(lambda: process.poll() is not None or self._is_at(n + 1, part, wanted), PATIENCE)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        mark = self.stores[n + 1].setting(MARK)
        if not reached or process.returncode != -signal.SIGKILL or mark is None:
            raise RuntimeError(f"the move to {self.names[n + 1]} was over before it could be killed: {mark}")
        return " ".join(str(json.loads(mark)[name]) for name in ("part", "rows"))

    def _is_at(self, n: int, part: str, rows: int) -> bool:
        """Whether a copy has come so far, or further."""
        found = json.loads(self.stores[n].setting(MARK) or '{"part":"types"}')
        order = [*PARTS, ""]
        place, wanted = order.index(found["part"]), order.index(part)
        return place > wanted or (place == wanted and found["rows"] >= rows)

    def _compare_claims(self) -> None:
        self.clock.move_to(self.clock.now() + HOUR)
        first, *others = [claims(store, self.clock.now()) for store in self.stores]
        self.claimed = len(first)
        for name, found in zip(self.names[1:], others, strict=True):
            if found != first:
                place = next((n for n, pair in enumerate(zip(first, found, strict=False)) if len(set(pair)) > 1), -1)
                self.findings.append(f"{name} hands out {len(found)} jobs in another order, from the {place}th on")

    def figures(self) -> dict[str, Any]:
        """What it came to."""
        return {
            "seed": self.plan.seed,
            **{part: found.rows for part, found in self.digests[0].items()},
            "handed out in the same order": self.claimed,
            **{f"{leg.source} to {leg.target}": _told(leg) for leg in self.legs},
            "findings": len(self.findings),
        }


def _told(leg: Leg) -> str:
    times = " s + ".join(map(str, leg.seconds))
    return f"{times} s" + (f", killed at {leg.killed_at}" if leg.killed_at else "")


def newest(wanted: str) -> str:
    """The last PostgreSQL, the first of the Redis kind: Valkey."""
    names = [name for name in SERVERS if kind(name) == wanted]
    return names[-1] if wanted == "postgres" else names[0]


def digests(store: Store) -> dict[str, Digest]:
    """What a store holds."""
    return {part: digest(store, part, lambda *_: None) for part in PARTS}


def run(plan: Plan, folder: Path) -> Journey:
    """One journey in this folder, which must be empty."""
    with ExitStack() as stack:
        return Journey(plan, folder, stack).run()


def main(arguments: list[str] | None = None) -> int:
    """Move there and back and print what it came to; 1 when anything differs."""
    parser = argparse.ArgumentParser(prog="tests.crash.move", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    parser.add_argument("--batch", type=int, default=500)
    parser.add_argument("--whole", action="store_true", help="kill nobody")
    parser.add_argument("--json", type=Path, help="write the figures and findings to this file")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        journey = run(Plan(options.jobs, options.seed, options.batch, not options.whole), Path(scratch))
    figures = journey.figures()
    print("\n".join([*(f"{name:34}{value}" for name, value in figures.items()), *journey.findings]))
    if options.json:
        options.json.write_text(json.dumps({**figures, "findings": journey.findings}, indent=2), encoding="utf-8")
    return 1 if journey.findings else 0


if __name__ == "__main__":
    sys.exit(main())
