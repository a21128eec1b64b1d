"""Drains a queue with real worker processes, and counts executions, distinct jobs and stored completions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..processes import Workers, produce

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..contenders import Contender
    from ..engines import Engine, Site
    from ..scale import Scale
    from . import Figures, Place

    Run = Callable[[Contender, Scale, Place], Figures]


def with_one(contender: Contender, scale: Scale, place: Place) -> Figures:
    """One worker process."""
    return _fresh(contender, place, scale, 1)


def beside_itself(run: Run) -> Run:
    """Also drain a plain queue with one process right before, for a ratio of two figures that are close in time."""

    def both(contender: Contender, scale: Scale, place: Place) -> Figures:
        if not scale.conclusive:
            return run(contender, scale, place)
        control = _fresh(contender, place, scale, 1, "-control")
        figures = run(contender, scale, place)
        ratio = {"control": control["rate"], "itself": figures["rate"] / control["rate"]}
        return figures | ratio | {"ok": figures["ok"] and control["ok"]}

    return both


def with_two(contender: Contender, scale: Scale, place: Place) -> Figures | None:
    """Two worker processes on one file or server."""
    return _two(contender, scale, place) if contender.several else None


@beside_itself
def _two(contender: Contender, scale: Scale, place: Place) -> Figures:
    return _fresh(contender, place, scale, 2)


def _fresh(contender: Contender, place: Place, scale: Scale, processes: int, tag: str = "") -> Figures:
    jobs = scale.share(scale.drain, contender.pace)
    site = place.site(contender, tag)
    produce(contender, site, "fill", jobs)
    place.engine.flush(site)
    figures = drain(contender, site, place.engine, jobs, jobs, processes)
    place.engine.discard(site)
    return figures


def drain(contender: Contender, site: Site, engine: Engine, jobs: int, queued: int, processes: int = 1) -> Figures:
    """Run workers until the first `jobs` of `queued` jobs have started, stop them gracefully, and count."""
    before = contender.count(site.address).completed
    with Workers(contender, site, processes, queued) as workers:
        workers.run(1)
        cpu, server = workers.cpu(), engine.cpu(site)
        if jobs == queued:
            workers.run(jobs)
            workers.completed(before + jobs)
        else:
            jobs = workers.run_some(jobs)
        marks = workers.marks
        used = {
            "cpu": _each(cpu, workers.cpu(), marks.distinct()), "server": _each(server, engine.cpu(site), marks.distinct()),
            "peak": workers.memory("VmHWM"),
        }  # fmt: skip
        workers.stop()
        counts = (marks.executions(), marks.distinct(), contender.count(site.address).completed - before)
        speed = _speed(marks.times()[:jobs], workers.born)
    return speed | used | _verdict(counts, jobs, queued)


def _each(before: float | None, after: float | None, jobs: int) -> float | None:
    """Microseconds of processor time a job: the figure that other load on the machine changes least."""
    return None if before is None or after is None else (after - before) / jobs * 1e6


def _speed(times: list[int], born: int) -> Figures:
    """Steady: between the first handler and the last. Start-up: from the command to the first handler."""
    steady = (times[-1] - times[0]) / 1e9
    return {
        "jobs": len(times),
        "rate": (len(times) - 1) / steady,
        "from_start": len(times) / ((times[-1] - born) / 1e9),
        "startup": (times[0] - born) / 1e9,
    }


def _verdict(counts: tuple[int, int, int], jobs: int, queued: int) -> Figures:
    """All three counts must be equal, and equal to `jobs`; if the queue is longer than the run, at least `jobs`."""
    executions, distinct, completed = counts
    alike = executions == distinct == completed
    return {
        "expected": jobs,
        "executions": executions,
        "distinct": distinct,
        "completed": completed,
        "ok": alike and (executions == jobs if jobs == queued else executions >= jobs),
    }
