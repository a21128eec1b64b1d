"""mainstay with many dead jobs of a type that no worker here serves, and an operator who retries them by a search."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from ..marks import payload
from .flow_jobs import ELSEWHERE, FOREIGN

if TYPE_CHECKING:
    from mainstay import Mainstay

AT_ONCE = 500  # jobs that one claim takes
SEARCH = f"type:{FOREIGN} state:dead"


class Dead:
    """Makes dead jobs, and retries them."""

    def __init__(self, app: Mainstay) -> None:
        self.app, self.job = app, app.registry.expect(FOREIGN)

    def bury(self, count: int) -> dict[str, Any]:
        """Enqueue jobs, claim them and let them fail for good."""
        from mainstay.core.decide import decide
        from mainstay.core.job import WorkerInfo
        from mainstay.core.outcome import Outcome

        store, now = self.app.store, int(time.time() * 1_000)
        failed = Outcome("failed", error="ValueError: no", retry=False, reason="permanent")
        self.app.enqueue_many(self.job.options(queue=ELSEWHERE).prepare(**payload(n)) for n in range(count))
        store.register(
            WorkerInfo("undertaker", "here", 1, 1, (ELSEWHERE,), (FOREIGN,), now, now, now + 600_000, 0, False)
        )
        while jobs := store.claim("undertaker", {ELSEWHERE: [FOREIGN]}, AT_ONCE, int(time.time() * 1_000)).jobs:
            at = int(time.time() * 1_000)
            store.finish([decide(job, failed, at, lambda: 0.0) for job in jobs])
        store.deregister("undertaker")
        return {"dead": self.app.bulk(SEARCH).count()}

    def retry(self, _count: int) -> dict[str, Any]:
        """Retry them all; how many were counted before, and how long it took."""
        bulk = self.app.bulk(SEARCH)
        expected, began = bulk.count(), time.monotonic_ns()
        report = bulk.retry(actor="bench")
        return {
            "expected": expected, "changed": report.changed, "refused": sum(report.refused.values()), "began": began,
            "ended": time.monotonic_ns(),
        }  # fmt: skip

    def close(self) -> None:
        self.app.close()
