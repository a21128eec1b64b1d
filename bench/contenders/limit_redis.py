"""The limit on Redis: what a careful engineer writes by hand with redis-py and Lua, at the same durability, and nothing more.

A hash a job, three sorted sets (ready, active, completed), no retries, no leases, no logs, no results, no keys. One script call marks
the last 100 completed and takes the next 100: one round trip and one fsync a batch, which no loop that claims and completes can go
below. A job's record is kept, as every contender that stores completions keeps it. A reference, not a ceiling: it is serial.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

from ..marks import mark, payload
from . import Contender, Stored

if TYPE_CHECKING:
    from collections.abc import Sequence

BATCH = 100
IDLE = 1.0  # seconds until it polls when no notification arrives

ADD = """
local now = ARGV[1]
for i = 2, #ARGV do
    local id = redis.call('INCR', 'job:last')
    redis.call('HSET', 'job:' .. id, 'queue', 'default', 'type', 'noop', 'payload', ARGV[i], 'state', 'queued', 'priority', 0,
               'attempts', 0, 'max_attempts', 3, 'created_at', now)
    redis.call('ZADD', 'ready', now, string.format('%012d', id))
end
redis.call('LPUSH', 'wake', '1')
redis.call('LTRIM', 'wake', 0, 0)
"""
TURN = """
local now, worker, wanted = ARGV[1], ARGV[2], tonumber(ARGV[3])
for i = 4, #ARGV do
    local key = 'job:' .. tonumber(ARGV[i])
    if redis.call('HGET', key, 'worker') == worker then
        redis.call('HSET', key, 'state', 'completed', 'worker', '', 'finished_at', now)
        redis.call('ZREM', 'active', ARGV[i])
        redis.call('ZADD', 'completed', now, ARGV[i])
    end
end
local taken = {}
if wanted > 0 then
    local popped = redis.call('ZPOPMIN', 'ready', wanted)
    for i = 1, #popped, 2 do
        local key = 'job:' .. tonumber(popped[i])
        redis.call('HSET', key, 'state', 'running', 'worker', worker, 'started_at', now)
        redis.call('HINCRBY', key, 'attempts', 1)
        redis.call('ZADD', 'active', now, popped[i])
        taken[#taken + 1] = popped[i]
        taken[#taken + 1] = redis.call('HGET', key, 'payload')
    end
end
return taken
"""

COLD = """
import json, time, redis
client = redis.Redis.from_url({url!r})
client.eval({add!r}, 0, int(time.time() * 1000), json.dumps({payload!r}))
client.close()
"""


def connect(url: str) -> Any:
    """A client; with hiredis installed it parses replies in C."""
    import redis

    return redis.Redis.from_url(url)


def now() -> int:
    return int(time.time() * 1000)


class Hand:
    """A producer written by hand."""

    def __init__(self, url: str) -> None:
        self.client = connect(url)
        self.add = self.client.register_script(ADD)

    def one(self, n: int) -> None:
        self.add(args=[now(), json.dumps(payload(n))])

    def many(self, numbers: Sequence[int]) -> None:
        self.add(args=[now(), *(json.dumps(payload(n)) for n in numbers)])

    def close(self) -> None:
        self.client.close()


class Turns:
    """Completes and claims on one connection."""

    def __init__(self, url: str, name: str) -> None:
        self.client, self.name = connect(url), name
        self.script = self.client.register_script(TURN)
        self.held: list[bytes] = []

    def take(self, wanted: int) -> list[bytes]:
        """Complete the claimed jobs and claim the next in one call; returns number, payload, number, payload …"""
        self.held = self.script(args=[now(), self.name, wanted, *self.held[::2]])
        return self.held

    def turn(self, wanted: int) -> list[str]:
        return [number.decode() for number in self.take(wanted)[::2]]

    def close(self) -> None:
        self.take(0)
        self.client.close()


class RedisLimit(Contender):
    """The reference."""

    engine = "redis"
    name = "limit"
    about = f"redis-py with hiredis, one Lua call completes {BATCH} and claims {BATCH}, BLPOP wakes it, records kept"
    durability = "appendfsync as stated"
    module = "bench.contenders.limit_redis"

    def open(self, address: str) -> Hand:
        return Hand(address)

    def count(self, address: str) -> Stored:
        with connect(address) as client:
            return Stored(client.zcard("ready"), client.zcard("completed"))

    def claimer(self, address: str, name: str) -> Turns:
        return Turns(address, name)

    def cold(self, address: str) -> str:
        return COLD.format(url=address, add=ADD, payload=payload(0))


class Loop:
    """Its worker: one thread, one connection."""

    def __init__(self, url: str) -> None:
        self.turns = Turns(url, f"worker-{time.monotonic_ns()}")
        self.stopping = False

    def stop(self, *_: object) -> None:
        self.stopping = True

    def run(self) -> None:
        while not self.stopping:
            held = self.turns.take(BATCH)
            for text in held[1::2]:
                mark(json.loads(text)["n"])
            if not held:
                self.turns.client.blpop("wake", timeout=IDLE)
        self.turns.close()


if __name__ == "__main__":
    loop = Loop(sys.argv[1])
    signal.signal(signal.SIGTERM, loop.stop)
    loop.run()
