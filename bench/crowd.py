"""Measures the time of a claim: claimers without workers, each with its own connection, in one process.

python -m bench.crowd ENGINE CONTENDER ADDRESS CLAIMERS PER_SECOND SECONDS     prints the figures as JSON

`PER_SECOND` is the number of claims of all claimers together. While they keep to it, the figure is the time of a claim and not of the
wait for the server. 0: as fast as they can.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from time import perf_counter_ns
from typing import TYPE_CHECKING

from .contenders import named

if TYPE_CHECKING:
    from .contenders import Claimer

WARM = 3  # turns of each claimer before its clock starts: connected, prepared, planned


class Member(threading.Thread):
    """One claimer. Each turn claims a job and completes the one before."""

    def __init__(self, claimer: Claimer, pause: float, first: float, end: float) -> None:
        super().__init__()
        self.claimer, self.pause, self.first, self.end = claimer, pause, first, end
        self.took: list[int] = []
        self.claimed: list[str] = []

    def run(self) -> None:
        at = self.first
        while at < self.end:
            time.sleep(max(0.0, at - time.monotonic()))
            before = perf_counter_ns()
            self.claimed += self.claimer.turn(1)
            self.took.append(perf_counter_ns() - before)
            at = max(at + self.pause, time.monotonic())


def crowd(engine: str, name: str, address: str, claimers: int, per_second: float, seconds: float) -> dict[str, object]:
    """Run the claimers side by side; returns the time of each turn and the number of claims."""
    contender, pause = named(engine, name), claimers / per_second if per_second else 0.0
    made = [contender.claimer(address, f"claimer-{n}") for n in range(claimers)]
    opened = [claimer for claimer in made if claimer is not None]
    for claimer in opened:
        for _ in range(WARM):
            claimer.turn(0)
    start = time.monotonic() + 0.1
    members = [
        Member(claimer, pause, start + n * pause / claimers, start + seconds) for n, claimer in enumerate(opened)
    ]
    for member in members:
        member.start()
    for member in members:
        member.join()
    spent = time.monotonic() - start
    for claimer in opened:
        claimer.close()
    claimed = [job for member in members for job in member.claimed]
    took = [each for member in members for each in member.took[WARM:]]
    return {"took": took, "seconds": spent, "claimed": len(claimed), "distinct": len(set(claimed))}


def main(engine: str, name: str, address: str, claimers: str, per_second: str, seconds: str) -> None:
    print(json.dumps(crowd(engine, name, address, int(claimers), float(per_second), float(seconds))))


if __name__ == "__main__":
    main(*sys.argv[1:])
