"""Problems that a store's counts and workers show, each with the command that fixes it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from ..core.clock import human
from ..core.dead import SHORTEST, short_names
from ..core.words import plural
from .workers import live

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..core.job import Count, Declaration, Job, WorkerInfo
    from .records import DeadRecord

GROUPS, LONGEST = 3, 60  # groups of dead jobs that are named, and characters of what they died of
WAITING = ("queued", "retrying", "scheduled")
UNSERVED = "no live worker serves that type", "no live worker serves their types"  # of one, of several


class Finding(NamedTuple):
    """A problem, and what to do about it."""

    text: str
    fix: str


def served(workers: Iterable[WorkerInfo], now: int) -> set[str]:
    """Return the types that live workers serve."""
    return {type for worker in live(workers, now) for type in worker.types}


def by_type(counts: Iterable[Count]) -> list[Count]:
    """Return the counts of each type and label, added up over the queues."""
    found: dict[tuple[str, str], Count] = {}
    for count in counts:
        same = found.setdefault((count.type, count.label), count)
        if same is not count:
            oldest = min((each.oldest for each in (same, count) if each.oldest is not None), default=None)
            found[count.type, count.label] = same._replace(
                jobs=same.jobs + count.jobs, oldest=oldest, capped=same.capped or count.capped
            )
    return list(found.values())


def findings(
    counts: Sequence[Count], workers: Sequence[WorkerInfo], declared: Sequence[Declaration], now: int, start: str,
    groups: Sequence[DeadRecord] = (),
) -> list[Finding]:  # fmt: skip
    """Return all findings, the most urgent first. `start` is the command that starts a worker, `groups` are the open groups of dead jobs."""
    review = [
        Finding(f"{_wait(count.jobs, count.type, count.capped)} for a decision", "mainstay reviews")
        for count in by_type(counts) if count.label == "review"
    ]  # fmt: skip
    return [*trouble(counts, workers, now, start), *differences(declared), *review, *deaths(groups)]


def deaths(groups: Sequence[DeadRecord]) -> list[Finding]:
    """Return a finding about each of the largest groups of dead jobs, and one about all others."""
    names = short_names((group.fingerprint for group in groups if group.fingerprint), SHORTEST)
    found = [
        Finding(
            f"{'at least ' * group.capped}{plural(group.jobs, 'job')} of {group.type} died of {_what(group.error)}",
            f"mainstay dead show {names[group.fingerprint]}" if group.fingerprint else "mainstay dead",
        )
        for group in groups[:GROUPS]
    ]
    rest = sum(group.jobs for group in groups[GROUPS:])
    return [*found, Finding(f"{plural(rest, 'job')} died of other causes", "mainstay dead")] if rest else found


def _what(error: str | None) -> str:
    """Return the class of an error; of a job that died of none, its reason."""
    what = error.partition(": ")[0] if error else "an unknown cause"
    return what if len(what) <= LONGEST else f"{what[:LONGEST]}…"


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


def unserved(counts: Iterable[Count], workers: Sequence[WorkerInfo], now: int) -> list[str]:
    """Return the types with jobs that could run now, but without a live worker."""
    return sorted({count.type for count in _unserved(_due(counts, now), live(workers, now))})


def _due(counts: Iterable[Count], now: int) -> list[Count]:
    return [count for count in counts if count.label in WAITING and (count.oldest is None or count.oldest <= now)]


def _unserved(due: Iterable[Count], there: Iterable[WorkerInfo]) -> list[Count]:
    known = {type for worker in there for type in worker.types}
    return [count for count in due if count.type not in known]


def trouble(counts: Sequence[Count], workers: Sequence[WorkerInfo], now: int, start: str) -> list[Finding]:
    """Return what is wrong with the workers. `start` is the command that starts one."""
    there, due = live(workers, now), _due(counts, now)
    return [*_unserved_types(due, there, start), *_unserved_queues(due, there, start), *_silent(workers, now, start)]


def _unserved_types(due: Iterable[Count], there: Iterable[WorkerInfo], start: str) -> list[Finding]:
    """Return one finding about all types with jobs that could run now, but without a live worker."""
    missed = _unserved(due, there)
    waiting, capped = _added((count.type, count.jobs) for count in missed), any(count.capped for count in missed)
    if len(waiting) > 1:
        listed = ", ".join(f"{type} {number:,}" for type, number in waiting.most_common())
        text = f"{'at least ' * capped}{waiting.total():,} jobs wait, but {UNSERVED[1]}: {listed}"
        return [Finding(text, start)]
    return [Finding(f"{_wait(number, type, capped)}, but {UNSERVED[0]}", start) for type, number in waiting.items()]


def _unserved_queues(due: Iterable[Count], there: Sequence[WorkerInfo], start: str) -> list[Finding]:
    """Return the queues with jobs that could run now, whose types live workers serve in other queues only."""
    lanes = {(queue, type) for worker in there for queue in worker.queues for type in worker.types}
    known = {type for _, type in lanes}
    missed = [count for count in due if count.type in known and (count.queue, count.type) not in lanes]
    return [
        Finding(
            f"{'at least ' * any(count.capped for count in missed)}{plural(number, 'job waits', 'jobs wait')}, "
            f"but no live worker serves the queue {queue}",
            f"{start} --queues {','.join(dict.fromkeys((queue, *_queues(there))))}",
        )
        for queue, number in _added((count.queue, count.jobs) for count in missed).items()
    ]


def _queues(workers: Iterable[WorkerInfo]) -> list[str]:
    return sorted({queue for worker in workers for queue in worker.queues})


def _added(numbers: Iterable[tuple[str, int]]) -> Counter[str]:
    found = Counter[str]()
    for name, number in numbers:
        found[name] += number
    return found


def _wait(number: int, type: str, capped: bool) -> str:
    return "at least " * capped + plural(number, f"job of {type} waits", f"jobs of {type} wait")


def _silent(workers: Sequence[WorkerInfo], now: int, start: str) -> list[Finding]:
    return [
        Finding(
            f"worker {worker.id} ({worker.host}, pid {worker.pid}) was last seen {human(now - worker.beat_at)} ago"
            + (f" with {plural(worker.running, 'job')}" if worker.running else ""),
            f"{start}   (any worker takes over)",
        )
        for worker in workers if worker.expires_at <= now
    ]  # fmt: skip


def unable(job: Job, there: Sequence[WorkerInfo], start: str) -> list[str]:
    """Return why no live worker starts the job now: none serves its type or its queue, or all are busy."""
    able = [worker for worker in there if job.type in worker.types]
    if not able:
        seen = "" if there else " (no worker is running at all)"
        return [f"no live worker serves the type {job.type}{seen} → {start}"]
    serving = [worker for worker in able if job.queue in worker.queues]
    if not serving:
        queues = ",".join((job.queue, *_queues(able)))
        return [f"no live worker serves the queue {job.queue} → {start} --queues {queues}"]
    if all(worker.running >= worker.slots for worker in serving):
        return [f"all {sum(worker.slots for worker in serving)} slots of the workers that serve {job.type} are busy"]
    return []
