"""Measures the time of a claim while another session keeps a transaction open: a steady stream of jobs and one claimer.

python -m bench.holding ENGINE CONTENDER ADDRESS BEFORE HELD AFTER     prints the figures as JSON

Vacuum cannot remove row versions that ended after that transaction began, so every claim has more of them to skip.
"""

from __future__ import annotations

import json
import math
import sys
import threading
import time
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from .contenders import named

if TYPE_CHECKING:
    from collections.abc import Iterator

    import psycopg

    from .contenders import Claimer, Producer

RATE = 200  # jobs a second
EVERY = 0.05  # seconds between two claims
WANTED = 100
WARM = 5  # claims before the clock starts


class Stream(threading.Thread):
    """Enqueues jobs at a steady rate until it is stopped."""

    def __init__(self, producer: Producer) -> None:
        super().__init__()
        self.producer, self.made, self.stopping = producer, 0, threading.Event()
        self.seconds = 0.0

    def run(self) -> None:
        at = began = time.monotonic()
        while not self.stopping.is_set():
            time.sleep(max(0.0, at - time.monotonic()))
            self.producer.one(self.made)
            self.made += 1
            at += 1 / RATE
        self.seconds = time.monotonic() - began


def holding(engine: str, name: str, address: str, before: float, held: float, after: float) -> dict[str, object]:
    """Claim before, during and after the transaction; returns the time, the duration (ms) and the number of jobs of each claim."""
    contender = named(engine, name)
    stream = Stream(contender.open(address))
    stream.producer.one(-1)  # creates the tables
    claimer = contender.claimer(address, "claimer")
    assert claimer is not None
    stream.start()
    claims = [claim(claimer, 0.0) for _ in range(WARM)]
    claims += phases(claimer, address, before, held, after)
    stream.stopping.set()
    stream.join()
    while (last := claim(claimer, math.inf))[2]:
        claims.append(last)
    claimer.close()
    return {
        "claims": [one for one in claims if one[0] < math.inf],
        "made": stream.made + 1,
        "seconds": stream.seconds,
        "claimed": sum(n for *_, n in claims),
    }


def phases(
    claimer: Claimer, address: str, before: float, held: float, after: float
) -> Iterator[tuple[float, float, int]]:
    """Claim every 50 ms; the transaction is open in the middle."""
    import psycopg

    with psycopg.connect(address, autocommit=True) as other:
        start, open_ = time.monotonic(), False
        while (at := time.monotonic() - start) < before + held + after:
            if open_ != (before <= at < before + held):
                open_ = not open_
                _hold(other, open_)
            yield claim(claimer, at)
            time.sleep(EVERY)


def claim(claimer: Claimer, at: float) -> tuple[float, float, int]:
    began = perf_counter_ns()
    taken = len(claimer.turn(WANTED))
    return at, (perf_counter_ns() - began) / 1e6, taken


def _hold(connection: psycopg.Connection[Any], begin: bool) -> None:
    statements = ["BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT pg_current_xact_id()"] if begin else ["ROLLBACK"]
    for statement in statements:
        connection.execute(statement)


def main(engine: str, name: str, address: str, before: str, held: str, after: str) -> None:
    print(json.dumps(holding(engine, name, address, float(before), float(held), float(after))))


if __name__ == "__main__":
    main(*sys.argv[1:])
