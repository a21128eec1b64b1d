"""Draining a queue with real worker processes. Executions, distinct jobs and stored completions are counted, not assumed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..processes import Workers, produce

if TYPE_CHECKING:
    from pathlib import Path

    from ..contenders import Contender
    from ..scale import Scale
    from . import Figures, Place


def with_one(contender: Contender, scale: Scale, place: Place) -> Figures:
    """One worker process."""
    return _fresh(contender, scale, place, 1)


def with_two(contender: Contender, scale: Scale, place: Place) -> Figures:
    """Two worker processes on one file."""
    return _fresh(contender, scale, place, 2)


def _fresh(contender: Contender, scale: Scale, place: Place, processes: int) -> Figures:
    path, jobs = place.database(contender), scale.share(scale.drain, contender.pace)
    produce(contender, path, "fill", jobs)
    return drain(contender, path, jobs, jobs, processes)


def drain(contender: Contender, path: Path, jobs: int, queued: int, processes: int = 1) -> Figures:
    """Run workers until the first `jobs` of `queued` jobs have run, stop them gracefully, and count."""
    before = contender.count(path).completed
    with Workers(contender, path, processes, queued) as workers:
        workers.run(jobs)
        if jobs == queued:
            workers.completed(before + jobs)
        peak = workers.memory("VmHWM")
        workers.leave()
        times, first = workers.marks.times(), workers.born
        counts = (workers.marks.executions(), workers.marks.distinct(), contender.count(path).completed - before)
    return {"peak": peak, **_speed(times[:jobs], first), **_verdict(counts, jobs, queued)}


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
    """All three alike, and as many as there were; where the queue is longer than the run, at least the run."""
    executions, distinct, completed = counts
    alike = executions == distinct == completed
    return {
        "expected": jobs,
        "executions": executions,
        "distinct": distinct,
        "completed": completed,
        "ok": alike and (executions == jobs if jobs == queued else executions >= jobs),
    }
