"""Dead jobs in groups by fingerprint: what a store counts, and what is made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .clock import HOUR

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .job import Rule

LENGTH, SHORTEST = 12, 4  # hex digits of a fingerprint, and how many of them are shown at least
CAP = 100_000  # dead jobs that are counted
ACTOR, AGAIN = "mainstay", "a job died of it again"  # who reopens a resolved group, and why
HOURS = 24  # of which a group says how many jobs died in each
OPEN, IGNORED, RESOLVED = STATUSES = ("open", "ignored", "resolved")


class DeadCount(NamedTuple):
    """How many jobs of a fingerprint died within an hour, counted from the instant asked for; -1: before it."""

    fingerprint: str | None  # None: the job died under an older mainstay, and no worker has looked at it yet
    type: str
    hour: int
    jobs: int
    first: int
    last: int
    sample: str  # the id of the newest of these jobs


class Group(NamedTuple):
    """The dead jobs of a fingerprint."""

    fingerprint: str | None
    type: str
    jobs: int
    first: int
    last: int
    sample: str
    hours: tuple[int, ...]  # jobs that died in each hour, the last one at the end


def since(now: int) -> int:
    """Return the instant from which hours are counted, so that the last of them ends now."""
    return now + 1 - HOURS * HOUR


def grouped(counts: Iterable[DeadCount]) -> list[Group]:
    """Return the groups, the largest first, and of equal ones the one in which a job died last."""
    found: dict[tuple[str | None, str], list[DeadCount]] = {}
    for count in counts:
        found.setdefault((count.fingerprint, count.type), []).append(count)
    return sorted(map(_group, found.values()), key=lambda group: (-group.jobs, -group.last))


def _group(counts: list[DeadCount]) -> Group:
    hours = [0] * HOURS
    for count in counts:
        if count.hour >= 0:
            hours[min(count.hour, HOURS - 1)] += count.jobs  # one that another clock dated ahead died now
    newest = max(counts, key=lambda count: count.last)
    first = min(count.first for count in counts)
    return Group(
        newest.fingerprint,
        newest.type,
        sum(count.jobs for count in counts),
        first,
        newest.last,
        newest.sample,
        tuple(hours),
    )


def status_of(status: str, at: int, last: int) -> str:
    """Return the status of a group: one that was resolved is open again when a job has died in it since."""
    return OPEN if status == RESOLVED and last > at else status


def group_status(group: Group, rule: Rule | None) -> str:
    """Return the status of a group, by what an operator has decided about it."""
    return OPEN if rule is None else status_of(rule.value["status"], rule.value.get("last") or rule.at, group.last)


def open_groups(counts: Iterable[DeadCount], rules: Iterable[Rule]) -> list[Group]:
    """Return the groups that are open, the largest first, by what operators have decided."""
    decided = {rule.name: rule for rule in rules}
    return [group for group in grouped(counts) if group_status(group, decided.get(group.fingerprint or "")) == OPEN]


def short_names(prints: Iterable[str], shortest: int) -> dict[str, str]:
    """Return for each fingerprint the shortest beginning that no other has."""
    known = sorted(set(prints))
    found = {}
    for place, name in enumerate(known):
        near = known[max(place - 1, 0) : place] + known[place + 1 : place + 2]
        size = next(
            (n for n in range(shortest, len(name)) if not any(other[:n] == name[:n] for other in near)), len(name)
        )
        found[name] = name[:size]
    return found
