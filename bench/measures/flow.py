"""What flow control costs: jobs with a limit beside the same without one, and other jobs beside many that may not start.

`limited`: a drain by two processes with 50 slots each of jobs of 200 tenants, of which 5 of each may run at once. `blocked`, `rated`, `paused`: a
drain behind many jobs of a type that the worker has, and that wait for a limit, for a rate, or for the end of a pause. `pausing`: how
soon workers obey a pause of a type with many waiting jobs, and the longest write of another connection meanwhile. `fair`: the share of
a tenant's many jobs that have started when the ten of another have.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from ..contenders.flow_jobs import FEW
from ..processes import Workers, produce
from ..targets import THREADS
from .drain import drain

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..contenders import Contender
    from ..scale import Scale
    from . import Figures, Place

    One = Callable[[Contender, Scale, Place], Figures | None]

PROCESSES = 2  # with 50 slots each, the default


def with_flow(contender: Contender, flow: str, **more: str) -> Contender:
    """The contender with the types of `flow`."""
    made = copy.copy(contender)
    made.environment = {**contender.environment, "BENCH_FLOW": flow, **more}
    return made


def limited(contender: Contender, scale: Scale, place: Place) -> Figures | None:
    """Only mainstay with threads, as all measures here."""
    if contender.name != THREADS:
        return None
    both = [_limited(with_flow(contender, flow), scale, place, f"-{flow}") for flow in ("tenants", "limited")]
    return _beside(*both)


def _limited(contender: Contender, scale: Scale, place: Place, tag: str) -> Figures:
    site = place.site(contender, tag)
    produce(contender, site, "fill", scale.limited)
    place.engine.flush(site)
    figures = drain(contender, site, place.engine, scale.limited, scale.limited, PROCESSES)
    place.engine.discard(site)
    return figures


def held_back(flow: str) -> One:
    """A drain behind many jobs of another type that may not start, beside a plain one."""

    def one(contender: Contender, scale: Scale, place: Place) -> Figures | None:
        if contender.name != THREADS:
            return None
        many = scale.paused if flow == "paused" else scale.blocked
        made = with_flow(contender, flow)
        return _beside(*(_behind(made, scale, place, jobs) for jobs in (0, many)))

    return one


def _behind(contender: Contender, scale: Scale, place: Place, many: int) -> Figures:
    site, jobs = place.site(contender, f"-{many}"), scale.drain
    if many:
        produce(contender, site, "foreign", many)
    produce(contender, site, "fill", jobs)
    place.engine.flush(site)
    figures = drain(contender, site, place.engine, jobs, jobs + many)
    place.engine.discard(site)
    return figures


def _beside(control: Figures, figures: Figures) -> Figures:
    more = {
        "control": control["rate"],
        "itself": figures["rate"] / control["rate"],
        "ok": figures["ok"] and control["ok"],
    }
    for used in ("cpu", "server"):
        if control[used]:
            more[f"{used}_itself"] = figures[used] / control[used]
    return figures | more


def pausing(contender: Contender, scale: Scale, place: Place) -> Figures | None:
    """Milliseconds until no handler starts after a pause, and until one does after a resume; and writes meanwhile."""
    if contender.name != THREADS:
        return None
    made = with_flow(contender, "pausing")
    site, queued = place.site(made), scale.paused
    produce(made, site, "fill", queued)
    place.engine.flush(site)
    with Workers(made, site, 1, queued) as workers:
        workers.run(1)
        told = produce(made, site, "pausing", 1_500)
        times = workers.marks.times()
        workers.stop()
    place.engine.discard(site)
    return _pause_figures(told, times)


def _pause_figures(told: dict[str, Any], times: list[int]) -> Figures:
    (paused, _), (resumed, _) = told["pause"], told["resume"]
    during = [at for at in times if paused <= at < resumed]
    again = [at for at in times if at >= resumed]
    took = {True: [0.0], False: [0.0]}
    for began, ended in told["wrote"]:
        meanwhile = any(began < end and ended > begin for begin, end in (told["pause"], told["resume"]))
        took[meanwhile].append((ended - began) / 1e6)
    return {
        "stops": (max(during, default=paused) - paused) / 1e6, "starts": (min(again) - resumed) / 1e6 if again else float("inf"),
        "longest": max(took[True]), "otherwise": max(took[False]),
        "pause": (told["pause"][1] - paused) / 1e6, "resume": (told["resume"][1] - resumed) / 1e6, "ok": bool(again),
    }  # fmt: skip


def fair(contender: Contender, scale: Scale, place: Place) -> Figures | None:
    """Per cent of the jobs of a tenant with many that have started when the last of another's ten has."""
    if contender.name != THREADS:
        return None
    many = scale.blocked
    made = with_flow(contender, "fair", BENCH_MOST=str(many))
    site, jobs = place.site(made), many + FEW
    produce(made, site, "fill", jobs)
    place.engine.flush(site)
    with Workers(made, site, 1, jobs) as workers:
        workers.run_numbers(range(many, jobs))
        last = max(workers.marks.started(n) for n in range(many, jobs))
        before = sum(at <= last for at in workers.marks.times()) - FEW
        workers.stop()
    place.engine.discard(site)
    return {"before": before / many * 100, "ok": True}
