"""mainstay with flow control: what `BENCH_FLOW` says of the types, and of the jobs that a drain finds beside its own.

`tenants`: jobs of 200 tenants. `limited`: the same, and 5 of each may run at once. `fair`: a tenant with many jobs and one with 10.
`blocked`, `rated`, `paused`: the type `foreign`, which the worker has, and whose jobs may not start.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from ..marks import mark, payload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mainstay import Draft, Mainstay
    from mainstay.registry import JobType

FLOW = os.environ.get("BENCH_FLOW", "")
TENANTS, RUNNING = 200, 5
FEW = 10  # jobs of the tenant that has few
FOREIGN, ELSEWHERE = "foreign", "elsewhere"
HOUR = 3_600_000


def add_types(app: Mainstay) -> None:
    """The types `noop` and, where jobs are to be held back, `foreign`."""
    from mainstay import Limit

    app.job(name="noop", **{"limit": Limit(running=RUNNING, key="tenant")} if FLOW == "limited" else {})(_noop)
    if FLOW == "fair":
        app.queue("default", fair=True)
    limits: dict[str, Any] = {"blocked": Limit(running=1), "rated": Limit(rate="1/h")}
    app.job(name=FOREIGN, **{"limit": limits[FLOW]} if FLOW in limits else {})(_noop)


def _noop(n: int, pad: str) -> None:
    mark(n)


class TenantsProducer:
    """A producer of jobs with tenants; of `fair`, all but the last few have the same."""

    def __init__(self, app: Mainstay) -> None:
        self.app, self.job, self.most = app, app.registry.expect("noop"), int(os.environ.get("BENCH_MOST", "0"))

    def one(self, n: int) -> None:
        self.app.enqueue(self._draft(n))

    def many(self, numbers: Sequence[int]) -> None:
        self.app.enqueue_many(map(self._draft, numbers))

    def close(self) -> None:
        self.app.close()

    def _draft(self, n: int) -> Draft:
        tenant = f"t{n % TENANTS}" if not self.most else "many" if n < self.most else "few"
        return self.job.options(tenant=tenant).prepare(**payload(n))


class HeldProducer:
    """A producer of jobs that may not start: the first one holds what the others wait for."""

    def __init__(self, app: Mainstay) -> None:
        from mainstay.core.rules import rate_slot

        self.app, self.job = app, app.registry.expect(FOREIGN)
        if FLOW == "paused":
            app.pause(type=FOREIGN)
        elif FLOW == "rated":
            app.store.push_rate([rate_slot(FOREIGN, "")], int(time.time() * 1_000), HOUR)
        else:
            self.job.options(queue=ELSEWHERE).enqueue(**payload(0))

    def one(self, n: int) -> None:
        self.job.enqueue(**payload(n))

    def many(self, numbers: Sequence[int]) -> None:
        self.app.enqueue_many(self.job.prepare(**payload(n)) for n in numbers)

    def close(self) -> None:
        self.app.close()


class Pauser:
    """Pauses and resumes the type `noop` while another connection writes."""

    def __init__(self, app: Mainstay, other: JobType[..., None, Any]) -> None:
        self.app, self.other = app, other

    def run(self, rest: float) -> dict[str, Any]:
        """When each call began and ended, and each write; in monotonic nanoseconds."""
        import threading

        over, wrote = threading.Event(), []

        def write() -> None:
            while not over.is_set():
                began = time.monotonic_ns()
                self.other.enqueue(**payload(0))
                wrote.append((began, time.monotonic_ns()))
                over.wait(0.002)

        thread = threading.Thread(target=write)
        thread.start()
        told = {}
        for name, call in (("pause", self.app.pause), ("resume", self.app.resume)):
            time.sleep(rest)
            began = time.monotonic_ns()
            call(type="noop")
            told[name] = (began, time.monotonic_ns())
        time.sleep(rest)
        over.set()
        thread.join()
        return {**told, "wrote": wrote}
