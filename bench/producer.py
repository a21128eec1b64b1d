"""A producer in its own process, so that the imports and caches of one contender do not affect another.

python -m bench.producer ENGINE CONTENDER ADDRESS ACTION COUNT     prints the figures as JSON

`--against` runs the producers of other commits: keep the arguments and the JSON of the actions as they are.
"""

from __future__ import annotations

import json
import sys
import time
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from .contenders import CHUNK, Contender, Producer, named

if TYPE_CHECKING:
    from collections.abc import Callable

WARM = 20  # calls before the clock starts: they create the tables and prepare the statements
PICKUP_EVERY = 0.05


def singles(producer: Producer, count: int) -> dict[str, object]:
    """One durable call a job: the time of each and of all."""
    for n in range(WARM):
        producer.one(n)
    took, started = [], perf_counter_ns()
    for n in range(count):
        before = perf_counter_ns()
        producer.one(n)
        took.append(perf_counter_ns() - before)
    return {"seconds": (perf_counter_ns() - started) / 1e9, "took": took, "expected": count + WARM}


def bulk(producer: Producer, count: int) -> dict[str, object]:
    """The bulk call, a thousand jobs at a time."""
    producer.many(range(WARM))
    started = perf_counter_ns()
    for first in range(0, count, CHUNK):
        producer.many(range(first, min(first + CHUNK, count)))
    return {"seconds": (perf_counter_ns() - started) / 1e9, "expected": count + WARM}


def pickup(producer: Producer, count: int) -> dict[str, object]:
    """One job every 50 ms; returns when each call began. The numbers begin at 1: job 0 was for a worker that starts."""
    began = []
    for n in range(1, count + 1):
        time.sleep(PICKUP_EVERY)
        began.append(time.monotonic_ns())
        producer.one(n)
    return {"began": began}


def ones(producer: Producer, count: int) -> dict[str, object]:
    """Jobs 1 to `count`, a durable call each."""
    for n in range(1, count + 1):
        producer.one(n)
    return {}


def pausing(producer: Any, rest: int) -> dict[str, object]:
    """Pauses the type and resumes it, so many ms after each other; returns when, and when another connection wrote."""
    return dict(producer.pauser().run(rest / 1_000))


def wake(producer: Producer, _: int) -> dict[str, object]:
    """Job 0 alone: when it has run, the worker has started."""
    producer.one(0)
    return {}


def burst(producer: Producer, first: int) -> dict[str, object]:
    """A hundred jobs by one bulk call, the first of them job `first`; returns when the call returned."""
    producer.many(range(first, first + 100))
    return {"began": time.monotonic_ns()}


def waiting(contender: Contender) -> Callable[[Producer, int], dict[str, object]]:
    """A backlog, by the contender's fastest way."""

    def action(producer: Producer, count: int) -> dict[str, object]:
        contender.fill(producer, range(count))
        return {}

    return action


def main(engine: str, name: str, address: str, action: str, count: str) -> None:
    """Connect, run the action, and print its figures."""
    contender = named(engine, name)
    actions: dict[str, Callable[[Any, int], dict[str, object]]] = {
        "singles": singles, "bulk": bulk, "pickup": pickup, "ones": ones, "wake": wake, "burst": burst, "fill": waiting(contender), "pausing": pausing,
        "foreign": waiting(contender), "bury": lambda dead, count: dead.bury(count), "retry": lambda dead, count: dead.retry(count),
    }  # fmt: skip
    producer: Any = contender.foreign(address) if action in ("foreign", "bury", "retry") else contender.open(address)
    measured = actions[action](producer, int(count))
    producer.close()
    print(json.dumps(measured))


if __name__ == "__main__":
    main(*sys.argv[1:])
