"""Dramatiq on Redis, as its documentation sets it up: the default middleware, one process, some threads, no stored results.

It keeps no record of what it completed: a message is acknowledged and removed. What was completed is therefore what was enqueued
(the producer counts) less what the broker still holds; mainstay and the limit keep every job, so the rows are not quite alike.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from ..marks import mark, payload
from . import Contender, Producer, Stored

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

THREADS = 16
ENQUEUED = "bench:enqueued"


def make(url: str) -> tuple[Any, Any]:
    """The broker and its one actor."""
    import dramatiq
    from dramatiq.brokers.redis import RedisBroker

    broker = RedisBroker(url=url)
    dramatiq.set_broker(broker)

    @dramatiq.actor(actor_name="noop")
    def noop(n: int, pad: str) -> None:
        mark(n)

    return broker, noop


class Sender:
    """A producer that sends."""

    def __init__(self, url: str) -> None:
        self.broker, self.actor = make(url)
        self.sent = 0

    def one(self, n: int) -> None:
        self.actor.send(**payload(n))
        self.sent += 1

    def many(self, numbers: Sequence[int]) -> None:
        raise NotImplementedError("dramatiq has no bulk call")

    def close(self) -> None:
        self.broker.client.incrby(ENQUEUED, self.sent)
        self.broker.close()


class Dramatiq(Contender):
    """Dramatiq with its Redis broker."""

    engine = "redis"
    name = "dramatiq"
    about = (
        f"RedisBroker, default middleware, 1 process with {THREADS} threads, no results: a completed message is removed"
    )
    durability = "appendfsync as stated"
    package = "dramatiq"
    bulk = False
    pace = 0.15

    def open(self, address: str) -> Sender:
        return Sender(address)

    def fill(self, producer: Producer, numbers: Iterable[int]) -> None:
        for n in numbers:
            producer.one(n)

    def count(self, address: str) -> Stored:
        """Messages in the broker's hash wait or run."""
        import redis

        with redis.Redis.from_url(address) as client:
            sent, left = int(client.get(ENQUEUED) or 0), client.hlen("dramatiq:default.msgs")
        return Stored(left, sent - left)

    def workers(self, address: str, processes: int) -> list[list[str]]:
        """Its own command."""
        command = [sys.executable, "-m", "dramatiq", "bench.contenders.dramatiq_jobs"]
        return [[*command, "--processes", str(processes), "--threads", str(THREADS)]]


if os.environ.get("BENCH_ENGINE") == "redis":  # a worker process loads the broker
    broker, noop = make(os.environ["BENCH_DB"])
