"""What a claim costs where many jobs may not be taken, and where a worker serves many lanes (queue × type).

`foreign`: a drain behind jobs of a type that this worker lacks, at the head of the same queue, as a share of the plain drain.
`lanes`: a burst of jobs, each in a lane of its own, for a worker that serves many queues and types, beside the same burst in one lane for a
worker with one queue and one type; and what both workers and the server use at rest.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from ..figures import quantile
from ..processes import Workers, produce
from ..targets import THREADS
from .drain import beside_itself, drain
from .pickup import rest

if TYPE_CHECKING:
    from ..contenders import Contender
    from ..scale import Scale
    from . import Figures, Place

BURST = 100  # jobs


def foreign(contender: Contender, scale: Scale, place: Place) -> Figures | None:
    """Only mainstay with threads: a claim is the same for coroutines."""
    return _foreign(contender, scale, place) if contender.name == THREADS else None


@beside_itself
def _foreign(contender: Contender, scale: Scale, place: Place) -> Figures:
    site, jobs = place.site(contender), scale.drain
    produce(contender, site, "foreign", scale.foreign)
    produce(contender, site, "fill", jobs)
    place.engine.flush(site)
    # A queue that is longer than the run: a worker that walks past all of it may take minutes for a thousand jobs.
    figures = drain(contender, site, place.engine, jobs, jobs + scale.foreign)
    place.engine.discard(site)
    return figures


def lanes(contender: Contender, scale: Scale, place: Place) -> Figures | None:
    """Milliseconds from the return of the bulk call to the start of the last handler, and how many times those of one lane."""
    if contender.name != THREADS:
        return None
    one, many = (_bursts(contender, lanes, scale, place) for lanes in (1, scale.lanes))
    counts = {name: one[name] + many[name] for name in ("executions", "distinct", "completed", "expected")}
    return {
        "one_p50": one["p50"], "p50": many["p50"], "slower": many["p50"] / one["p50"],
        "one_cpu": one["idle_cpu"], "idle_cpu": many["idle_cpu"],
        "one_server": one["idle_server"], "idle_server": many["idle_server"],
        **counts, "ok": one["ok"] and many["ok"],
    }  # fmt: skip


def _bursts(contender: Contender, lanes: int, scale: Scale, place: Place) -> Figures:
    """One burst after the other for a worker that serves so many queues, each with as many types."""
    laned = copy.copy(contender)
    laned.environment = {**contender.environment, "BENCH_LANES": str(lanes)}
    site, jobs = place.site(laned, f"-{lanes}"), 1 + scale.bursts * BURST
    produce(laned, site, "wake")
    with Workers(laned, site, 1, jobs) as workers:
        workers.run(1)
        idle = rest(workers, place.engine, scale.idle)
        took = [_burst(laned, workers, first) for first in range(1, jobs, BURST)]
        workers.completed(jobs)
        workers.stop()
        counts = (workers.marks.executions(), workers.marks.distinct(), laned.count(site.address).completed)
    place.engine.discard(site)
    return (
        idle
        | {"p50": quantile(took, 0.50), "expected": jobs, "ok": set(counts) == {jobs}}
        | dict(zip(("executions", "distinct", "completed"), counts, strict=True))
    )


def _burst(contender: Contender, workers: Workers, first: int) -> float:
    """Milliseconds until the last of `BURST` jobs has started."""
    began = produce(contender, workers.site, "burst", first)["began"]
    workers.run(first + BURST)
    return (max(workers.marks.started(n) for n in range(first, first + BURST)) - began) / 1e6
