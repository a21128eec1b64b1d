"""What the store answers about jobs: frozen values, the same on every engine."""

from __future__ import annotations

from operator import itemgetter
from typing import Any, NamedTuple

from .states import SCHEDULED


def field_getter(record: Any, *names: str) -> itemgetter[Any]:
    """What takes these fields out of a record, many times quicker than one by one by their names: for the hot path."""
    return itemgetter(*map(record._fields.index, names))


class Job(NamedTuple):
    """A job as it stands: what was asked, how it is treated, where it is."""

    id: str
    type: str
    queue: str
    state: str
    priority: int
    payload: str
    attempt: int
    max_attempts: int
    crashes: int
    token: int
    worker: str | None
    created_at: int
    run_at: int | None
    started_at: int | None
    finished_at: int | None
    expires_at: int | None
    cancel_at: int | None
    timeout: int | None
    keep: int | None
    backoff: str | None
    reason: str | None
    key: str | None
    tenant: str | None
    ref: str | None
    tags: tuple[str, ...]
    parent: str | None
    done: float | None  # progress: this much …
    total: float | None  # … of this
    stage: str | None
    error: str | None  # the last attempt's error, one line

    @property
    def retrying(self) -> bool:
        """Waiting for its next attempt after one that failed."""
        return self.state == SCHEDULED and self.attempt > 0

    @property
    def label(self) -> str:
        """The state as people are shown it."""
        if self.retrying:
            return "retrying"
        return "cancelling" if self.cancel_at is not None and self.state == "running" else self.state


class Claimed(NamedTuple):
    """A job in the hands of a worker: enough to run it and to decide what becomes of it. `seq` is the store's own."""

    seq: int | str
    id: str
    type: str
    queue: str
    attempt: int
    max_attempts: int
    crashes: int
    token: int
    timeout: int | None
    keep: int | None
    backoff: str | None
    created_at: int
    started_at: int
    cancelling: bool
    payload: str
    rank: int  # with `ord` and `seq` the place in its queue: lower runs first
    ord: int
    worker: str | None


class Attempt(NamedTuple):
    """One attempt at a job and how it ended."""

    number: int
    token: int
    worker: str | None
    started_at: int
    ended_at: int | None
    outcome: str
    error: str | None
    traceback: str | None


def history(job: Job, recorded: list[Attempt]) -> list[Attempt]:
    """Every attempt: those on record, then the one that runs or that completed, of which the job itself tells."""
    known = job.started_at is None or any(attempt.token == job.token for attempt in recorded)
    if known or job.state not in ("running", "completed"):
        return recorded
    last = Attempt(job.attempt, job.token, job.worker, job.started_at or 0, job.finished_at, job.state, None, None)
    return [*recorded, last]


class LogLine(NamedTuple):
    """One line of a job's log."""

    at: int
    token: int
    level: str
    stage: str | None
    message: str
    fields: dict[str, Any]


class Action(NamedTuple):
    """One operator action in the audit trail."""

    at: int
    actor: str
    action: str
    job: str | None
    detail: dict[str, Any]


class WorkerInfo(NamedTuple):
    """A worker as the store sees it."""

    id: str
    host: str
    pid: int
    slots: int
    queues: tuple[str, ...]
    types: tuple[str, ...]
    started_at: int
    beat_at: int
    expires_at: int
    running: int
    stopping: bool


class TypeInfo(NamedTuple):
    """A job type as some worker last registered it."""

    name: str
    queue: str
    signature: str
    policy: dict[str, Any]
    seen_at: int


class Count(NamedTuple):
    """How many jobs of a type are in a state; `capped` when there are more than were counted."""

    type: str
    label: str
    jobs: int
    oldest: int | None
    capped: bool
