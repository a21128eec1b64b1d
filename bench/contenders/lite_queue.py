"""litequeue: a bare queue without a worker, so the loop round it is ours: pop, run, done."""

from __future__ import annotations

import json
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

from ..marks import mark, payload
from . import Contender, Stored, ask

if TYPE_CHECKING:
    from collections.abc import Sequence

IDLE = 0.005

COLD = """
import json
from litequeue import LiteQueue
queue = LiteQueue({path!r})
queue.put(json.dumps({payload!r}))
queue.close()
"""


def make(path: str) -> Any:
    from litequeue import LiteQueue as Queue

    return Queue(path)


class Putter:
    """A producer that puts."""

    def __init__(self, path: str) -> None:
        self.queue = make(path)

    def one(self, n: int) -> None:
        self.queue.put(json.dumps(payload(n)))

    def many(self, numbers: Sequence[int]) -> None:
        with self.queue.transaction():
            for n in numbers:
                self.one(n)

    def close(self) -> None:
        self.queue.close()


class LiteQueue(Contender):
    """litequeue at the only durability it offers."""

    name = "litequeue"
    about = (
        "loop of pop / run / done in 1 thread, polls every 5 ms; bulk = put in a transaction; NORMAL is its only mode"
    )
    durability = "synchronous=NORMAL"
    package = "litequeue"
    module = "bench.contenders.lite_queue"
    pace = 0.2

    def open(self, path: str) -> Putter:
        return Putter(path)

    def age(self, path: str) -> None:
        ask(path, "UPDATE Queue SET status = 2, lock_time = in_time, done_time = in_time")

    def count(self, path: str) -> Stored:
        status = "SELECT count(*) FROM Queue WHERE status = "
        return Stored(*ask(path, status + "0", status + "2"))

    def cold(self, path: str) -> str:
        return COLD.format(path=path, payload=payload(0))


def loop(queue: Any, stopping: list[int]) -> None:
    """Pop, run, done. Versions after 0.9 want the claim's number back."""
    while not stopping:
        message = queue.pop()
        if message is None:
            time.sleep(IDLE)
            continue
        mark(json.loads(message.data)["n"])
        fence = {"claim_id": message.claim_id} if hasattr(message, "claim_id") else {}
        queue.done(message.message_id, **fence)


if __name__ == "__main__":
    signals: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: signals.append(number))
    loop(make(sys.argv[1]), signals)
