"""Huey on SQLite, as its documentation sets it up for many small tasks."""

from __future__ import annotations

import logging
import signal
import sys
from typing import TYPE_CHECKING, Any

from ..marks import mark, payload
from . import Contender, Producer, Stored, ask

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

COLD = """
from huey import SqliteHuey
huey = SqliteHuey("bench", filename={path!r})
@huey.task(name="noop")
def noop(n, pad):
    return 1
noop(**{payload!r})
"""


def make(path: str) -> tuple[Any, Any]:
    """The huey of that file and its one task. It returns a value, so that a completion is stored."""
    from huey import SqliteHuey

    huey = SqliteHuey("bench", filename=path)

    @huey.task(name="noop")
    def noop(n: int, pad: str) -> int:
        mark(n)
        return 1

    return huey, noop


class Hive:
    """A producer that calls the task."""

    def __init__(self, path: str) -> None:
        self.huey, self.task = make(path)

    def one(self, n: int) -> None:
        self.task(**payload(n))

    def many(self, numbers: Sequence[int]) -> None:
        raise NotImplementedError("huey has no bulk call")

    def close(self) -> None:
        self.huey.storage.close()


class HueySqlite(Contender):
    """Huey with its SQLite storage."""

    name = "huey"
    durability = "synchronous=FULL"
    about = "SqliteHuey, WAL, results on, consumer with 1 thread (a 2nd only contends), no periodic tasks, polls every 0.1 s"
    package = "huey"
    module = "bench.contenders.huey_sqlite"
    bulk = False
    pace = 0.05
    stop = signal.SIGINT  # its graceful signal

    def open(self, path: str) -> Hive:
        return Hive(path)

    def fill(self, producer: Producer, numbers: Iterable[int]) -> None:
        """Straight into its table, in its own serialisation: there is no bulk call."""
        assert isinstance(producer, Hive)
        huey, task = producer.huey, producer.task
        rows = ((huey.name, huey.serialize_task(task.s(**payload(n)))) for n in numbers)
        with huey.storage.db(commit=True) as cursor:
            cursor.executemany("INSERT INTO task (queue, data, priority) VALUES (?, ?, 0)", rows)

    def age(self, path: str) -> None:
        kept = "INSERT INTO kv (queue, key, value) SELECT queue, 'finished-' || id, data FROM task"
        ask(path, kept, "DELETE FROM task")

    def count(self, path: str) -> Stored:
        return Stored(*ask(path, "SELECT count(*) FROM task", "SELECT count(*) FROM kv"))

    def cold(self, path: str) -> str:
        return COLD.format(path=path, payload=payload(0))


if __name__ == "__main__":
    from bench.contenders.huey_sqlite import make as imported  # a task is known by its module: not by `__main__`

    logging.disable(logging.INFO)
    imported(sys.argv[1])[0].create_consumer(workers=1, periodic=False).run()
