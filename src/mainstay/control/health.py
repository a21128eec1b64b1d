"""The health of an installation: what a probe, a load balancer or an operator asks. `mainstay doctor` prints the same checks."""

from __future__ import annotations

import os
import shlex
import shutil
import time
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple

from ..core.clock import human, iso, span
from ..core.dead import CAP as DEAD, open_groups, since
from ..core.errors import MainstayError
from ..core.rules import SCHEDULE, TICK, TRIAGE
from ..core.thresholds import thresholds
from ..core.words import plural, size
from ..stores.move import closed
from .records import Component, Health
from .room import WAITING, full
from .rules import EPOCH, instant
from .settings import settings
from .workers import live

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..core.clock import Duration
    from ..core.dead import Group
    from ..core.job import Count, WorkerInfo
    from ..flow import Flow

HEALTHY, DEGRADED, UNHEALTHY = LEVELS = ("healthy", "degraded", "unhealthy")
CAP = 20_000  # jobs counted of each state
START = "mainstay worker --app …"
SHOWN = 5  # names in a sentence
TRIES = 2  # of a round trip that was slow: it may have met a pause of this process


class Seen(NamedTuple):
    """What the checks look at, read once."""

    now: int  # by the engine's clock
    here: int  # by the clock of this machine
    took: float  # milliseconds of one round trip
    limits: Mapping[str, int]
    counts: Sequence[Count]
    workers: Sequence[WorkerInfo]
    start: str  # the command that starts a worker


def health(app: Flow, timeout: Duration, start: str = START, counts: Sequence[Count] | None = None) -> Health:
    """Return the health, within the timeout: a store that hangs is unhealthy.

    `start` is the command that starts a worker; `counts` are of this moment, if the caller has them.
    """
    seconds = span("timeout", timeout) / 1000
    found: list[list[Component]] = []
    look = Thread(target=lambda: found.append(_components(app, start, counts)), name="mainstay-health", daemon=True)
    look.start()
    look.join(seconds)
    hangs = f"it has not replied within {human(round(seconds * 1000))}"
    return _health(found[0] if found else [_unreachable(hangs)], app.clock.now())


def _health(components: Sequence[Component], now: int) -> Health:
    worst = max((LEVELS.index(each.status) for each in components), default=0)
    return Health(LEVELS[worst], tuple(components), instant(now) or EPOCH)


def _components(app: Flow, start: str, counts: Sequence[Count] | None) -> list[Component]:
    try:
        return list(checks(app, start, counts))
    except (MainstayError, OSError) as error:
        return [_unreachable(str(error), getattr(error, "attempt", ""))]


def _unreachable(why: str, fix: str = "") -> Component:
    return Component("store", UNHEALTHY, why, {"reachable": False}, fix or "mainstay doctor")


def checks(app: Flow, start: str = START, counts: Sequence[Count] | None = None) -> Iterator[Component]:
    """Look at each part of an installation; raise if its store cannot be read."""
    seen = _look(app, start, counts)
    yield _store(app, seen)
    yield _workers(seen)
    yield _queues(app, seen)
    yield _dead(app, seen)
    yield _schedules(app, seen)
    path = "" if app.store.remote else app.store.diagnostics().get("file", "")
    if os.path.exists(path):
        yield _disk(path, seen)
    yield _clock(seen)


def _look(app: Flow, start: str, counts: Sequence[Count] | None) -> Seen:
    limits = thresholds({each.name: each.value for each in settings(app)})
    app.store.schedules_version(app.clock.now())  # opens what is to be measured
    took, now, here = _round_trip(app)
    for _ in range(TRIES):
        if took >= limits["health.store_ms"]:
            took, now, here = min((took, now, here), _round_trip(app))
    counts = app.store.counts(CAP) if counts is None else counts
    return Seen(now, here, took, limits, counts, app.store.workers(), start)


def _round_trip(app: Flow) -> tuple[float, int, int]:
    """Return how many milliseconds the store takes to reply, its instant, and the instant of this machine."""
    here, began = app.clock.now(), time.perf_counter()
    _, now = app.store.schedules_version(here)
    return (time.perf_counter() - began) * 1000, now, here


def _store(app: Flow, seen: Seen) -> Component:
    figures = {"reachable": True, "ms": round(seen.took, 1)}
    why_closed, most = closed(app.store), seen.limits["health.store_ms"]
    if why_closed:
        return Component("store", UNHEALTHY, why_closed, figures)
    if seen.took >= most:
        fix = "look at the load of the store and at the network"
        return Component("store", DEGRADED, f"it replies in {seen.took:.0f} ms; below {most} is healthy", figures, fix)
    return Component("store", HEALTHY, f"it replies in {seen.took:.1f} ms", figures)


def _workers(seen: Seen) -> Component:
    there, least = live(seen.workers, seen.now), seen.limits["health.workers"]
    slots, busy = sum(worker.slots for worker in there), sum(worker.running for worker in there)
    figures = {"live": len(there), "slots": slots, "running": busy}
    if not there and least:
        number = sum(count.jobs for count in seen.counts if count.label in WAITING)
        jobs = f", and {plural(number, 'job waits', 'jobs wait')}" if number else ""
        return Component("workers", UNHEALTHY, f"none is running{jobs}", figures, seen.start)
    text = f"{plural(len(there), 'worker')}, {plural(slots, 'slot')}"
    if len(there) < least:
        return Component("workers", DEGRADED, f"{text}; {least} are wanted", figures, seen.start)
    return Component("workers", HEALTHY, text, figures)


def _queues(app: Flow, seen: Seen) -> Component:
    queued = [count for count in seen.counts if count.label == "queued"]
    oldest = max((seen.now - count.oldest for count in queued if count.oldest is not None), default=0)
    number, filled = sum(count.jobs for count in queued), full(app.store, seen.counts)
    figures = {"queued": number, "oldest_ms": max(oldest, 0), "full": sorted(filled)}
    if filled:
        name, (depth, most) = min(filled.items())
        fix = shlex.join(["mainstay", "queues", "set", name, "--max-depth", str(2 * most)]) + "   (or more workers)"
        others = f", and {plural(len(filled) - 1, 'other')}" if len(filled) > 1 else ""
        text = f"the queue {name} is full: {depth:,} jobs wait, {most:,} may{others}"
        return Component("queues", DEGRADED, text, figures, fix)
    if oldest > seen.limits["health.oldest"]:
        text = f"a job has been queued for {human(oldest)}; {human(seen.limits['health.oldest'])} is healthy"
        return Component("queues", DEGRADED, text, figures, "mainstay status")
    capped = "at least " * any(count.capped for count in queued)
    waits = f", the oldest for {human(max(oldest, 0))}" if number else ""
    return Component("queues", HEALTHY, f"{capped}{plural(number, 'job')} queued{waits}", figures)


def open_dead(app: Flow, now: int) -> list[Group]:
    """Return the groups of dead jobs without those that an operator has ignored or resolved."""
    return open_groups(app.store.dead_counts(since(now), DEAD), app.store.rules([TRIAGE]))


def _dead(app: Flow, seen: Seen) -> Component:
    groups = open_dead(app, seen.now)
    number = sum(group.jobs for group in groups)
    figures = {"dead": number, "groups": len(groups), "capped": number >= DEAD}
    if number < min(seen.limits["health.dead_degraded"], seen.limits["health.dead_unhealthy"]):
        return Component("dead letters", HEALTHY, "no job is dead" if not number else f"{number:,} dead", figures)
    status = UNHEALTHY if number >= seen.limits["health.dead_unhealthy"] else DEGRADED
    more, types = "at least " * (number >= DEAD), _listed([group.type for group in groups])
    text = f"{more}{plural(number, 'job')} failed for good: {types}"
    return Component("dead letters", status, text, figures, "mainstay dead")


def _schedules(app: Flow, seen: Seen) -> Component:
    rules = app.store.rules([SCHEDULE, TICK])
    if not rules:
        return Component("schedules", HEALTHY, "no schedules", {"schedules": 0, "failing": [], "overdue": []})
    from ..core.schedule import due_at, effective  # takes a while

    states = {rule.name: rule.value for rule in rules if rule.kind == TICK}
    active = {
        rule.name: rule.value for rule in rules if rule.kind == SCHEDULE and effective(rule.value)["paused"] is None
    }
    failing = {name: states[name]["problem"] for name in active if states.get(name, {}).get("problem")}
    last = seen.now - seen.limits["health.overdue"]
    due = {name: due_at(value, states.get(name)) for name, value in active.items() if name not in failing}
    overdue = sorted(name for name, at in due.items() if at and at < last)  # 0: it has no plan yet
    figures = {"schedules": len(active), "failing": sorted(failing), "overdue": overdue}
    if failing:
        name = min(failing)
        fix = shlex.join(["mainstay", "schedules", "show", name])
        others = f"; so does {plural(len(failing) - 1, 'other')}" if len(failing) > 1 else ""
        return Component(
            "schedules", DEGRADED, f"the schedule {name} cannot fire: {failing[name]}{others}", figures, fix
        )
    if overdue:
        return Component("schedules", DEGRADED, f"ticks are overdue: {_listed(overdue)}", figures, seen.start)
    return Component("schedules", HEALTHY, plural(len(active), "schedule"), figures)


def _disk(path: str, seen: Seen) -> Component:
    free = shutil.disk_usage(os.path.dirname(path)).free
    low, empty = seen.limits["health.disk_degraded"], seen.limits["health.disk_unhealthy"]
    status = UNHEALTHY if free < empty else DEGRADED if free < low else HEALTHY
    fix = "" if status == HEALTHY else "free some space; mainstay delete 'state:ended age:>7d'"
    return Component("disk", status, f"{size(free)} free", {"free": free}, fix)


def _clock(seen: Seen) -> Component:
    """A clock that differs from the engine's, or a heartbeat in the future, means that a clock is wrong."""
    apart, most = seen.here - seen.now, seen.limits["health.skew"]
    ahead = max((worker.beat_at - seen.now for worker in seen.workers), default=0)
    figures, fix = {"skew_ms": apart, "worker_ahead_ms": max(ahead, 0)}, "run a time service (NTP)"
    if abs(apart) > most:
        text = f"{iso(seen.here)}: {human(abs(apart))} {'ahead of' if apart > 0 else 'behind'} the store's clock"
        return Component("clock", DEGRADED, text, figures, fix)
    if ahead > most:
        text = f"{iso(seen.here)}: a worker's clock is {human(ahead)} ahead"
        return Component("clock", DEGRADED, text, figures, fix)
    return Component("clock", HEALTHY, iso(seen.here), figures)


def _listed(names: Sequence[str]) -> str:
    found = sorted(set(names))
    return ", ".join(found[:SHOWN]) + (f" and {len(found) - SHOWN} more" if len(found) > SHOWN else "")
