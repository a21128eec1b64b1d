"""What the jobs that a search finds have in common: how many there are by state, type, queue, worker, tag and tenant. Bounded."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from .rules import CAP

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..app import Mainstay
    from ..core.job import Job

LOOKED = 1_000  # of the newest jobs
MOST = 50  # values of one facet
COUNTED = ("label", "type", "queue")  # that the store counts by


class Facet(NamedTuple):
    """One value, and how many jobs have it; `capped` when there are more than were counted."""

    name: str
    jobs: int
    capped: bool


class Facets(NamedTuple):
    """The values of each kind, the most frequent first."""

    states: tuple[Facet, ...]
    types: tuple[Facet, ...]
    queues: tuple[Facet, ...]
    workers: tuple[Facet, ...]
    tags: tuple[Facet, ...]
    tenants: tuple[Facet, ...]
    looked: int  # jobs that were looked at, the newest


def facets(app: Mainstay, search: str) -> Facets:
    """Return the facets of the newest jobs that a search finds. Without one, states, types and queues are of all unfinished and dead jobs."""
    page = app.search(search, LOOKED)
    jobs, more = app.reader.get_many(page.ids), page.after is not None
    whole = _whole(app) if not search.strip() else [_of(jobs, name, more) for name in COUNTED]
    tags = _facet((tag for job in jobs for tag in job.tags), more)
    states, types, queues = whole
    return Facets(states, types, queues, _of(jobs, "worker", more), tags, _of(jobs, "tenant", more), len(jobs))


def _of(jobs: Sequence[Job], field: str, more: bool) -> tuple[Facet, ...]:
    return _facet((value for job in jobs if (value := getattr(job, field))), more)


def _facet(values: Iterable[str], more: bool) -> tuple[Facet, ...]:
    return tuple(Facet(name, jobs, more) for name, jobs in Counter(values).most_common(MOST))


def _whole(app: Mainstay) -> list[tuple[Facet, ...]]:
    counts = app.reader.counts(CAP)
    found = []
    for field in COUNTED:
        total: Counter[str] = Counter()
        for each in counts:
            total[getattr(each, field)] += each.jobs
        capped = {getattr(each, field) for each in counts if each.capped}
        found.append(tuple(Facet(name, jobs, name in capped) for name, jobs in total.most_common(MOST)))
    return found
