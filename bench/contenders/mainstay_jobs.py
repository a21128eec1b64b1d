"""mainstay as a user runs it: two job types, the default options, the worker of the command line."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from ..marks import mark, payload
from . import Contender, Stored, ask

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mainstay import Mainstay

COLD = """
from mainstay import Mainstay
Mainstay("sqlite:///{path}").enqueue({type!r}, {payload!r})
"""


def make(path: Path | str) -> Mainstay:
    """The application: the same no-op as a plain function and as a coroutine."""
    from mainstay import Mainstay

    app = Mainstay(f"sqlite:///{path}")

    @app.job
    def noop(n: int, pad: str) -> None:
        mark(n)

    @app.job
    async def anoop(n: int, pad: str) -> None:
        mark(n)

    return app


class Enqueuer:
    """A producer that uses the typed calls."""

    def __init__(self, path: Path, type: str) -> None:
        self.app = make(path)
        self.job = self.app.registry.expect(type)

    def one(self, n: int) -> None:
        self.job.enqueue(**payload(n))

    def many(self, numbers: Sequence[int]) -> None:
        self.app.enqueue_many(self.job.prepare(**payload(n)) for n in numbers)

    def close(self) -> None:
        self.app.close()


class MainstayThreads(Contender):
    """Plain functions on thread slots."""

    name = "mainstay"
    about = (
        "defaults; plain function on thread slots; `mainstay worker --log-level warning` (no contender logs its jobs)"
    )
    package = "mainstay"
    type = "noop"

    def open(self, path: Path) -> Enqueuer:
        return Enqueuer(path, self.type)

    def age(self, path: Path) -> None:
        ended = "state = 'completed', started_at = created_at, finished_at = created_at, expires_at = created_at + keep"
        ask(path, f"UPDATE mainstay_job SET {ended}, attempt = 1, token = 1")

    def count(self, path: Path) -> Stored:
        state = "SELECT count(*) FROM mainstay_job WHERE state = "
        return Stored(*ask(path, state + "'queued'", state + "'completed'"))

    def workers(self, path: Path, processes: int) -> list[list[str]]:
        """One command, whatever the number: the supervisor starts the processes."""
        command = [sys.executable, "-m", "mainstay", "worker", "--app", "bench.contenders.mainstay_jobs:app"]
        return [[*command, "--processes", str(processes), "--log-level", "warning"]]

    def cold(self, path: Path) -> str:
        return COLD.format(path=path, type=self.type, payload=payload(0))


class MainstayAsync(MainstayThreads):
    """Coroutines on the event loop."""

    name = "mainstay async"
    about = "as mainstay; coroutine on the worker's event loop"
    type = "anoop"


if "BENCH_DB" in os.environ:  # a worker process looks for `app`
    app = make(os.environ["BENCH_DB"])
