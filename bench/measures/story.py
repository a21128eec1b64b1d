"""What reports of handlers cost: a drain of jobs that log or save, beside one of the same jobs that do not.

`logs`: five lines a job. `lines`: a hundred, and how many are stored a second. `saves`: one checkpoint a job. `worker_log`: a worker with its
default log level, beside one that logs warnings only.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from ..contenders.story_jobs import LINES
from ..processes import produce
from ..targets import THREADS
from .drain import drain

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..contenders import Contender
    from ..scale import Scale
    from . import Figures, Place

FEWER = {"lines": 10}  # a share of the jobs of a drain: each has many lines


def reporting(name: str) -> Callable[[Contender, Scale, Place], Figures | None]:
    """A drain of jobs that report, beside a plain one right before. Only mainstay with threads."""

    def one(contender: Contender, scale: Scale, place: Place) -> Figures | None:
        if contender.name != THREADS:
            return None
        jobs = scale.drain // FEWER.get(name, 1)
        control = _drained(contender, place, jobs, "-control")
        figures = _drained(_with(contender, name), place, jobs, f"-{name}")
        shares = {f"{each}_itself": _share(figures[each], control[each]) for each in ("cpu", "server")}
        told = {"control": control["rate"], "itself": figures["rate"] / control["rate"], **shares}
        return figures | told | {"lines": figures["rate"] * LINES.get(name, 0), "ok": figures["ok"] and control["ok"]}

    return one


def _with(contender: Contender, name: str) -> Contender:
    made = copy.copy(contender)
    said = {"BENCH_LOG_LEVEL": "info"} if name == "worker_log" else {"BENCH_SAYS": name}
    made.environment = {**contender.environment, **said}
    return made


def _share(used: float | None, before: float | None) -> float | None:
    return None if used is None or not before else used / before


def _drained(contender: Contender, place: Place, jobs: int, tag: str) -> Figures:
    site = place.site(contender, tag)
    produce(contender, site, "fill", jobs)
    place.engine.flush(site)
    figures = drain(contender, site, place.engine, jobs, jobs)
    place.engine.discard(site)
    return figures
