"""An idle worker: its memory, its processor time, and the time until it starts a job that another process enqueues."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ..figures import quantile
from ..processes import Workers, produce

if TYPE_CHECKING:
    from ..contenders import Contender
    from ..engines import Engine
    from ..scale import Scale
    from . import Figures, Place

SETTLING = 0.5  # seconds until a worker is idle after its first job


def pickup(contender: Contender, scale: Scale, place: Place) -> Figures:
    """From the start of the enqueue call to the start of the handler, across processes."""
    site, jobs = place.site(contender), scale.pickups + 1
    produce(contender, site, "wake")
    with Workers(contender, site, 1, jobs) as workers:
        workers.run(1)
        idle = rest(workers, place.engine, scale.idle)
        began = produce(contender, site, "pickup", scale.pickups)["began"]
        workers.run(jobs)
        workers.completed(jobs)
        workers.stop()
        waits = [(workers.marks.started(n) - at) / 1e6 for n, at in enumerate(began, 1)]
        counts = (workers.marks.executions(), workers.marks.distinct(), contender.count(site.address).completed)
    place.engine.discard(site)
    return (
        idle
        | _waits(waits)
        | dict(zip(("executions", "distinct", "completed"), counts, strict=True))
        | {
            "expected": jobs,
            "ok": set(counts) == {jobs},
        }
    )


def rest(workers: Workers, engine: Engine, seconds: float) -> Figures:
    """Memory, and the share of a core that worker and server use while no job waits."""
    time.sleep(SETTLING)
    before = workers.cpu(), engine.cpu(workers.site)
    time.sleep(seconds)
    after = workers.cpu(), engine.cpu(workers.site)
    busy, server = (_share(*pair, seconds) for pair in zip(before, after, strict=True))
    return {"idle_rss": workers.memory(), "idle_cpu": busy, "idle_server": server}


def _share(before: float | None, after: float | None, seconds: float) -> float | None:
    return None if before is None or after is None else 100 * (after - before) / seconds


def _waits(waits: list[float]) -> Figures:
    return {"p50": quantile(waits, 0.50), "p95": quantile(waits, 0.95), "p99": quantile(waits, 0.99)}
