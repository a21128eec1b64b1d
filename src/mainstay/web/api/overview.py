"""The overview: what waits, runs and fails, what is wrong, and what to do about it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from ...control import health, stats, status
from ...control.findings import Finding, by_type, served, unserved
from ...control.held import KINDS
from ...control.pauses import pauses
from ...control.records import Health, Incident, Pause
from ...control.room import WAITING
from ...control.rules import instant
from ...control.workers import live
from ...core.limits import effective
from ...core.search_terms import Term
from ..call import Call
from ..operations import operation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...app import Mainstay
    from ...control.stats import StatsRecord
    from ...core.job import Count, Rule, WorkerInfo

SHOWN = ("queued", "running", "retrying", "scheduled", "blocked", "review", "dead")
CAP = 10_000  # jobs counted of each state: 19 ms on SQLite, a hundred thousand take 40
REVIEWS = (Term("state", "=", ("review",)),)
SEARCHED = 500  # reviews that a look at the counts reads
RATE = 5  # minutes that are over, of which the numbers by minute are the mean


class Numbers(msgspec.Struct, kw_only=True):
    """The installation in a few numbers; of dead jobs those that nobody ignores. `capped`: there are more jobs than were counted; `oldest_wait` is in seconds."""

    waiting: int
    running: int
    review: int
    dead: int
    done_per_minute: float
    failed_per_minute: float
    oldest_wait: float | None
    capped: bool


class Counts(msgspec.Struct, kw_only=True):
    """What waits for people: dead jobs that nobody ignores, and reviews. `capped`: there are more reviews than were counted."""

    dead: int
    review: int
    capped: bool


class Minute(msgspec.Struct, kw_only=True):
    """What happened in one minute, and how long jobs waited and ran, in seconds."""

    at: datetime | None
    enqueued: int
    completed: int
    failed: int
    dead: int
    wait_p50: float | None
    wait_p95: float | None
    wait_p99: float | None
    run_p50: float | None
    run_p95: float | None
    run_p99: float | None


class TypeRow(msgspec.Struct, kw_only=True):
    """A type at a glance: its jobs that have not ended or are dead, and the last hour. `failure` is the part of attempts that failed."""

    type: str
    queue: str
    queued: int
    running: int
    retrying: int
    scheduled: int
    blocked: int
    review: int
    dead: int
    capped: bool
    oldest: datetime | None
    p95_wait: float | None
    p95_run: float | None
    failure: float | None
    trend: list[int]
    paused: Pause | None
    disabled: bool
    breaker: str | None
    workers: int


class Overview(msgspec.Struct, kw_only=True):
    """What a person looks at first."""

    health: Health
    verdict: str
    numbers: Numbers
    series: list[Minute]
    types: list[TypeRow]
    findings: list[Finding]
    incidents: list[Incident]


class Seen(NamedTuple):
    """What an overview is made of, read once."""

    now: int
    counts: Sequence[Count]
    workers: Sequence[WorkerInfo]
    rules: Sequence[Rule]
    queues: Mapping[str, str]  # of registered types
    hour: Mapping[str, StatsRecord]
    minutes: Sequence[StatsRecord]


@operation("GET", "/api/overview")
def read_overview(call: Call) -> Overview:
    """Return what waits, runs and fails, the last hour by minute and by type, and what is wrong."""
    return call.site.recent.get("overview", lambda: overview(call.app))


@operation("GET", "/api/counts")
def read_counts(call: Call) -> Counts:
    """Return how many jobs wait for people, as the header of every page shows it: much less work than the overview."""
    return call.site.recent.get("counts", lambda: counts(call.app))


def counts(app: Mainstay) -> Counts:
    """Return how many jobs wait for people."""
    now = app.clock.now()
    found = app.store.search(REVIEWS, SEARCHED, None, now)
    return Counts(
        dead=sum(group.jobs for group in health.open_dead(app, now)),
        review=len(found.ids),
        capped=found.after is not None,
    )


def overview(app: Mainstay) -> Overview:
    """Return the overview of an installation."""
    seen = _look(app)
    checked = health.health(app, "5s", counts=seen.counts)
    found = status.all_findings(app, seen.counts, seen.workers, health.START)
    return Overview(
        health=checked,
        verdict=status.verdict(checked, unserved(seen.counts, seen.workers, seen.now), found),
        numbers=_numbers(seen, checked),
        series=[_minute(row) for row in seen.minutes[-60:]],
        types=_types(seen),
        findings=found,
        incidents=app.alerts.open(),
    )


def _look(app: Mainstay) -> Seen:
    store, now = app.store, app.clock.now()
    queues = {info.name: info.queue for info in store.types()}
    hour, minutes = stats.hour(store, app.clock)
    by_name = {row.type or "": row for row in hour}
    return Seen(now, store.counts(CAP), store.workers(), store.rules(KINDS), queues, by_name, minutes)


def _numbers(seen: Seen, checked: Health) -> Numbers:
    number = {label: sum(count.jobs for count in seen.counts if count.label == label) for label in SHOWN}
    queued = [count.oldest for count in seen.counts if count.label == "queued" and count.oldest is not None]
    over = seen.minutes[-RATE - 1 : -1]
    return Numbers(
        waiting=sum(number[label] for label in WAITING),
        running=number["running"],
        review=number["review"],
        dead=next((part.figures["dead"] for part in checked.components if part.name == "dead letters"), number["dead"]),
        done_per_minute=sum(row.completed for row in over) / max(len(over), 1),
        failed_per_minute=sum(row.failed for row in over) / max(len(over), 1),
        oldest_wait=max(seen.now - min(queued), 0) / 1000 if queued else None,
        capped=any(count.capped for count in seen.counts),
    )


def _minute(row: StatsRecord) -> Minute:
    return Minute(
        at=row.at, enqueued=row.enqueued, completed=row.completed, failed=row.failed, dead=row.dead,
        wait_p50=row.wait.p50, wait_p95=row.wait.p95, wait_p99=row.wait.p99,
        run_p50=row.run.p50, run_p95=row.run.p95, run_p99=row.run.p99,
    )  # fmt: skip


def _types(seen: Seen) -> list[TypeRow]:
    """Return a row for each type that is registered, has jobs or had some in the last hour."""
    by_place = {(count.type, count.label): count for count in by_type(seen.counts)}
    names = {*seen.queues, *(type for type, _ in by_place), *seen.hour, *served(seen.workers, seen.now)}
    return [_type(name, by_place, seen) for name in sorted(names)]


def _type(name: str, by_place: Mapping[tuple[str, str], Count], seen: Seen) -> TypeRow:
    counts = {label: by_place[name, label] for label in SHOWN if (name, label) in by_place}
    jobs = {label: counts[label].jobs if label in counts else 0 for label in SHOWN}
    rule = next((rule for rule in seen.rules if (rule.kind, rule.name) == ("type", name)), None)
    holds = effective(rule.value) if rule else {}
    queue = holds.get("queue") or seen.queues.get(name) or next((count.queue for count in counts.values()), "default")
    lately, queued = seen.hour.get(name), counts.get("queued")
    return TypeRow(
        type=name, queue=queue, **jobs, capped=any(count.capped for count in counts.values()),
        oldest=instant(queued.oldest) if queued else None,
        p95_wait=lately.wait.p95 if lately else None, p95_run=lately.run.p95 if lately else None,
        failure=1 - lately.success if lately and lately.success is not None else None, trend=list(lately.trend) if lately else [],
        paused=next(iter(pauses(seen.rules, name, queue)), None), disabled=bool(holds.get("disabled")),
        breaker=_breaker(name, seen), workers=sum(name in worker.types for worker in live(seen.workers, seen.now)),
    )  # fmt: skip


def _breaker(name: str, seen: Seen) -> str | None:
    """Return the state of a breaker that is not closed."""
    rule = next((rule for rule in seen.rules if (rule.kind, rule.name) == ("breaker", name)), None)
    return None if rule is None else "open" if rule.value.get("until", 0) > seen.now else "probing"
