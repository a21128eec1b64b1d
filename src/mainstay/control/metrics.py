"""Metrics in Prometheus' text format, read from the store: right whichever process is asked, and however many there are."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from .. import __version__
from ..core.rules import WEBHOOK
from ..core.tally import ATTEMPTS, attempts, histogram
from ..core.webhooks import GONE, MANY, OPERATOR
from .workers import state_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ..core.clock import Clock
    from ..core.job import Count
    from ..stores.contract import Store

    Sample = tuple[str, dict[str, str], float]  # the end of the name, labels, value

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.1, 0.5, 1, 5, 10, 30, 60, 300)
CAP = 100_000  # jobs counted of each state
STATUSES = ("enqueued", "completed", "failed", "retried", "dead", "cancelled", "snoozed", "released", "review")
STATES = ("queued", "scheduled", "retrying", "blocked", "running", "review", "dead")


class Metric(NamedTuple):
    """One metric: its name, kind and meaning, and its samples: the end of a name, labels and a value."""

    name: str
    kind: str
    about: str
    samples: list[tuple[str, dict[str, str], float]]


def text(store: Store, clock: Clock) -> str:
    """Return all metrics as text."""
    return "".join(f"{line}\n" for metric in metrics(store, clock.now()) for line in _lines(metric))


def metrics(store: Store, now: int) -> list[Metric]:
    """Return all metrics."""
    totals: dict[str, Counter[str]] = {}
    for _, type, name, n in store.totals():
        totals.setdefault(type, Counter())[name] += n
    counts, depth = store.counts(CAP), Counter[tuple[str, str]]()
    for count in counts:
        depth[count.type, "running" if count.label == "cancelling" else count.label] += count.jobs
    types = sorted({*totals, *(type for type, _ in depth)})
    deep = (("", {"type": type, "state": state}, depth[type, state]) for type in types for state in STATES)
    running = (("", {"type": type}, depth[type, "running"]) for type in types)
    return [
        _metric("jobs_total", "counter", "What happened to jobs and attempts.", _jobs(totals)),
        _metric("jobs_active", "gauge", "Jobs that run.", running),
        _metric("queue_depth", "gauge", "Jobs that have not ended, and dead ones.", deep),
        _metric("queue_oldest_seconds", "gauge", "How long the oldest queued job has been due.", _oldest(counts, now)),
        _metric("job_duration_seconds", "histogram", "How long attempts ran.", _times(totals, "r")),
        _metric("job_wait_seconds", "histogram", "From when a job was due to when it started.", _times(totals, "w")),
        _metric("job_attempts", "histogram", "Attempts of jobs that completed or died.", _attempts(totals)),
        *_workers(store, now),
        _metric(
            "webhooks", "gauge", "Endpoints that get events, and those that are disabled, by reason.", _webhooks(store)
        ),
        _metric("info", "gauge", "The version of mainstay that answers.", [("", {"version": __version__}, 1)]),
    ]


def _metric(name: str, kind: str, about: str, samples: Iterable[Sample]) -> Metric:
    return Metric(f"mainstay_{name}", kind, about, list(samples))


def _lines(metric: Metric) -> Iterator[str]:
    yield f"# HELP {metric.name} {metric.about}"
    yield f"# TYPE {metric.name} {metric.kind}"
    for end, labels, value in metric.samples:
        shown = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        yield f"{metric.name}{end}{{{shown}}} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _jobs(totals: Mapping[str, Mapping[str, int]]) -> Iterator[Sample]:
    for type, names in totals.items():
        for status in STATUSES:
            yield "", {"type": type, "status": status}, names.get(status, 0)
        yield "", {"type": type, "status": "started"}, attempts(names)  # counted when they end


def _oldest(counts: Sequence[Count], now: int) -> Iterator[Sample]:
    oldest: dict[str, int] = {}
    for count in counts:
        if count.label == "queued" and count.oldest is not None:
            oldest[count.type] = min(oldest.get(count.type, now), count.oldest)
    for type, at in sorted(oldest.items()):
        yield "", {"type": type}, (now - at) / 1000


def _times(totals: Mapping[str, Mapping[str, int]], kind: str) -> Iterator[Sample]:
    for type, names in totals.items():
        buckets = histogram(names, kind)
        for bound in SECONDS:
            yield "_bucket", {"type": type, "le": f"{bound:g}"}, sum(n for ms, n in buckets if ms <= bound * 1000)
        yield from _sums(type, sum(n for _, n in buckets), names.get(f"{kind}sum", 0) / 1000)


def _attempts(totals: Mapping[str, Mapping[str, int]]) -> Iterator[Sample]:
    """A job that took one attempt is not counted by its attempts: it is one of all that ended."""
    for type, names in totals.items():
        ended = names.get("completed", 0) + names.get("dead", 0)
        more = histogram(names, "a")
        for bound in ATTEMPTS[:-1]:
            yield "_bucket", {"type": type, "le": str(bound)}, ended - sum(n for tries, n in more if tries > bound)
        yield from _sums(type, ended, ended + names.get("asum", 0))


def _sums(type: str, count: int, total: float) -> Iterator[Sample]:
    yield "_bucket", {"type": type, "le": "+Inf"}, count
    yield "_sum", {"type": type}, total
    yield "_count", {"type": type}, count


def _webhooks(store: Store) -> Iterator[Sample]:
    found = Counter(rule.value["set"].get("disabled_because") or "enabled" for rule in store.rules([WEBHOOK]))
    for state in ("enabled", OPERATOR, MANY, GONE) if found else ():
        yield "", {"state": state}, found[state]


def _workers(store: Store, now: int) -> list[Metric]:
    workers = [(state_of(worker, now), worker) for worker in store.workers()]
    states = Counter(state for state, _ in workers)
    there = [worker for state, worker in workers if state == "live"]
    slots = "Jobs that the live workers can run at the same time."
    return [
        _metric("workers", "gauge", "Registered workers.", (("", {"state": state}, states[state]) for state in ("live", "stopping"))),
        _metric("worker_slots", "gauge", slots, [("", {}, sum(worker.slots for worker in there))]),
    ]  # fmt: skip
