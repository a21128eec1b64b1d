"""An idle worker: its memory, its processor time, and how soon it starts a job that another process enqueues."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ..figures import quantile
from ..processes import Workers, produce

if TYPE_CHECKING:
    from ..contenders import Contender
    from ..scale import Scale
    from . import Figures, Place

SETTLING = 0.5  # seconds for a worker to come to rest after its first job


def pickup(contender: Contender, scale: Scale, place: Place) -> Figures:
    """From the start of the enqueue call to the start of the handler, across processes."""
    path, jobs = place.database(contender), scale.pickups + 1
    produce(contender, path, "wake")
    with Workers(contender, path, 1, jobs) as workers:
        workers.run(1)
        rest = _rest(workers, scale.idle)
        began = produce(contender, path, "pickup", scale.pickups)["began"]
        workers.run(jobs)
        workers.completed(jobs)
        workers.leave()
        waits = [(workers.marks.started(n) - at) / 1e6 for n, at in enumerate(began, 1)]
        counts = (workers.marks.executions(), workers.marks.distinct(), contender.count(path).completed)
    return (
        rest
        | _waits(waits)
        | dict(zip(("executions", "distinct", "completed"), counts, strict=True))
        | {
            "expected": jobs,
            "ok": set(counts) == {jobs},
        }
    )


def _rest(workers: Workers, seconds: float) -> Figures:
    """Memory, and the share of one core it uses while nothing happens."""
    time.sleep(SETTLING)
    before = workers.cpu()
    time.sleep(seconds)
    after = workers.cpu()
    busy = None if before is None or after is None else 100 * (after - before) / seconds
    return {"idle_rss": workers.memory(), "idle_cpu": busy}


def _waits(waits: list[float]) -> Figures:
    return {"p50": quantile(waits, 0.50), "p95": quantile(waits, 0.95), "p99": quantile(waits, 0.99)}
