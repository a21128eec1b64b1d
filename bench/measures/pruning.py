"""A drain while the worker removes many finished jobs whose retention is over; beside one that removes none, on the same store.

The backlog is drained by workers first, so that it is as on any store. The figures of a removal are those of its transaction, on
SQLite from the moment at which it has the write lock to the end of its commit; on Redis the processor time of its script.
"""

from __future__ import annotations

import copy
from statistics import quantiles
from typing import TYPE_CHECKING

from ..processes import Failed, Workers, produce
from ..targets import THREADS
from .drain import drain

if TYPE_CHECKING:
    from pathlib import Path

    from ..contenders import Contender
    from ..engines import Site
    from ..scale import Scale
    from . import Figures, Place


PORTIONS = 5  # of the backlog: one drain must not take longer than the bench waits


def pruning(contender: Contender, scale: Scale, place: Place) -> Figures | None:
    """Only mainstay with threads."""
    if contender.name != THREADS:
        return None
    site, jobs = place.site(contender), scale.pruning
    for _ in range(PORTIONS):
        portion = scale.backlog // PORTIONS
        produce(contender, site, "fill", portion)
        drain(contender, site, place.engine, portion, portion)
    produce(contender, site, "fill", jobs)
    place.engine.flush(site)
    control = drain(contender, site, place.engine, jobs, jobs)
    contender.expire(site.address)
    produce(contender, site, "fill", jobs)
    place.engine.flush(site)
    figures = _drain_and_prune(contender, site, jobs, place.folder / "holds")
    place.engine.discard(site)
    return figures | {"control": control["rate"], "itself": figures["rate"] / control["rate"]}


def _drain_and_prune(contender: Contender, site: Site, jobs: int, holds: Path) -> Figures:
    made = copy.copy(contender)
    made.environment = {**contender.environment, "BENCH_HOLDS": str(holds)}
    before = contender.count(site.address).completed
    with Workers(made, site, 1, jobs) as workers:
        workers.run(jobs)
        times = workers.marks.times()
        workers.stop()
        counts = workers.marks.executions(), workers.marks.distinct()
    took = [float(line) for line in holds.read_text().split()] if holds.exists() else []
    if len(took) < 2:
        raise Failed("the worker removed nothing")
    seconds = (times[-1] - times[0]) / 1e9
    removed = before + jobs - contender.count(site.address).completed
    return {
        "jobs": jobs, "rate": (jobs - 1) / seconds, "hold_p50": quantiles(took, n=100)[49], "hold_p99": quantiles(took, n=100)[98],
        "hold_max": max(took), "removed": removed / seconds, "ok": counts == (jobs, jobs) and not contender.count(site.address).waiting,
    }  # fmt: skip
