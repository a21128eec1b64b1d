"""Problems that a store's counts and workers show, each with the command that fixes it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from ..core.clock import human
from .output import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..core.job import Count, Declaration, Job, WorkerInfo

WAITING = ("queued", "retrying", "scheduled")


class Finding(NamedTuple):
    """A problem, and what to do about it."""

    text: str
    fix: str


def live(workers: Iterable[WorkerInfo], now: int) -> list[WorkerInfo]:
    """Return the workers that have a valid lease and are not stopping."""
    return [worker for worker in workers if worker.expires_at > now and not worker.stopping]


def served(workers: Iterable[WorkerInfo], now: int) -> set[str]:
    """Return the types that live workers serve."""
    return {type for worker in live(workers, now) for type in worker.types}


def findings(
    counts: Sequence[Count], workers: Sequence[WorkerInfo], declared: Sequence[Declaration], now: int
) -> list[Finding]:
    """Return all findings, the most urgent first."""
    review = [
        Finding(f"{_wait(count.jobs, count.type, count.capped)} for a decision", f"mainstay ls state:review type:{count.type}")
        for count in counts if count.label == "review"
    ]  # fmt: skip
    dead = [
        Finding(f"{'at least ' * count.capped}{plural(count.jobs, 'job')} of {count.type} failed for good", f"mainstay ls state:dead type:{count.type}")
        for count in counts if count.label == "dead"
    ]  # fmt: skip
    return [*trouble(counts, workers, now), *differences(declared), *review, *dead]


def differences(declared: Sequence[Declaration]) -> list[Finding]:
    """Types of which live workers take different payloads."""
    by_type: dict[str, list[str]] = {}
    for each in declared:
        by_type.setdefault(each.type, []).append(
            f"{each.signature} of version {each.version} ({plural(each.workers, 'worker')})"
        )
    fix = "finish the deploy, or give one of the types another name"
    return [
        Finding(f"live workers differ in what they take: {', '.join(taken)}", fix)
        for taken in by_type.values() if len(taken) > 1
    ]  # fmt: skip


def trouble(counts: Sequence[Count], workers: Sequence[WorkerInfo], now: int) -> list[Finding]:
    """Return what is wrong with the workers."""
    return [*_unserved(counts, workers, now), *_silent(workers, now)]


def _unserved(counts: Sequence[Count], workers: Sequence[WorkerInfo], now: int) -> list[Finding]:
    """Types with jobs that could run now, but without a live worker."""
    there = served(workers, now)
    waiting, capped = Counter[str](), set()
    for count in counts:
        due = count.oldest is None or count.oldest <= now
        if count.label in WAITING and due and count.type not in there:
            waiting[count.type] += count.jobs
            capped |= {count.type} if count.capped else set()
    return [
        Finding(
            f"{_wait(number, type, type in capped)}, but no live worker serves that type", "mainstay worker --app …"
        )
        for type, number in waiting.items()
    ]


def _wait(number: int, type: str, capped: bool) -> str:
    return "at least " * capped + plural(number, f"job of {type} waits", f"jobs of {type} wait")


def _silent(workers: Sequence[WorkerInfo], now: int) -> list[Finding]:
    return [
        Finding(
            f"worker {worker.id} ({worker.host}, pid {worker.pid}) was last seen {human(now - worker.beat_at)} ago"
            + (f" with {plural(worker.running, 'job')}" if worker.running else ""),
            "mainstay worker --app …   (any worker takes over)",
        )
        for worker in workers if worker.expires_at <= now
    ]  # fmt: skip


def why_waiting(job: Job, counts: Sequence[Count], workers: Sequence[WorkerInfo], now: int) -> list[str]:
    """Return why a waiting job does not run, the most specific reason first."""
    reasons = []
    if job.retrying:
        reasons.append(f"attempt {job.attempt} of {job.max_attempts} failed; it waits before the next one")
    if job.state == "scheduled" and job.run_at is not None:
        due = job.run_at - now
        reasons.append(f"it is due in {human(due)}" if due > 0 else "it is due; a worker queues it at its next poll")
    if job.state == "review":
        return ["a person has to decide: mainstay approve or mainstay reject"]
    able = [worker for worker in live(workers, now) if job.type in worker.types]
    if not able:
        seen = "" if live(workers, now) else " (no worker is running at all)"
        reasons.append(f"no live worker serves the type {job.type}{seen}")
    elif all(worker.running >= worker.slots for worker in able):
        reasons.append(
            f"all {sum(worker.slots for worker in able)} slots of the workers that serve {job.type} are busy"
        )
    return reasons + (_ahead(job, counts) if job.state == "queued" else [])


def _ahead(job: Job, counts: Sequence[Count]) -> list[str]:
    same = next((count for count in counts if (count.type, count.label) == (job.type, "queued")), None)
    if same is None or same.jobs < 2:
        return []
    more = "more than " if same.capped else ""
    return [f"{more}{plural(same.jobs - 1, 'other job')} of its type {'is' if same.jobs == 2 else 'are'} queued"]
