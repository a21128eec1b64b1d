"""What stores return about jobs, workers and types: frozen values, the same on every engine.

Stores give instants and durations in milliseconds. Applications read the same records with datetimes and timedeltas (`mainstay.job`).
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

from .errors import Conflict
from .states import SCHEDULED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import TypeVar

    from .frames import Frame

    At = TypeVar("At", default=int)
    Span = TypeVar("Span", default=int)
else:
    from typing import TypeVar

    At, Span = TypeVar("At"), TypeVar("Span")


def field_getter(record: Any, *names: str) -> itemgetter[Any]:
    """Return a getter for these fields of a record. On the hot path it is many times faster than access by name."""
    return itemgetter(*map(record._fields.index, names))


class Job(NamedTuple, Generic[At, Span]):
    """A job as it is stored now: its payload, its policy and its state."""

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
    created_at: At
    run_at: At | None
    started_at: At | None
    finished_at: At | None
    expires_at: At | None
    cancel_at: At | None
    timeout: Span | None
    keep: Span | None
    backoff: str | None
    reason: str | None
    key: str | None
    tenant: str | None
    ref: str | None
    tags: tuple[str, ...]
    parent: str | None
    done: float | None  # progress: how much is done …
    total: float | None  # … and of how much
    stage: str | None
    error: str | None  # the last attempt's error, one line
    code: str | None  # that error's code
    version: int  # of the payload
    rules: str | None  # what may hold the job back, as JSON
    waits: str | None  # for what a blocked job waits
    start_by: At | None
    schedule: str | None  # whose tick made the job …
    tick: At | None  # … and that tick's instant
    review: str | None  # what its last review asks, as JSON (`core.review`)
    keep_cancelled: Span | None = None  # None: as `keep`; this and the next: `core.retention`
    keep_dead: Span | None = None  # None: for ever
    keep_last: int | None = None  # None: all
    trace: str | None = None  # the span that enqueued the job, as W3C traceparent
    fingerprint: str | None = None  # of what it died, or had died before it was retried (`core.fingerprint`)
    details: Any = None  # what else a handler says about its progress: JSON, which applications read parsed

    @property
    def retrying(self) -> bool:
        """Whether the job waits for its next attempt after one that failed."""
        return self.state == SCHEDULED and self.attempt > 0

    @property
    def label(self) -> str:
        """The state as it is shown to people."""
        if self.retrying:
            return "retrying"
        return "cancelling" if self.cancel_at is not None and self.state == "running" else self.state


class Claimed(NamedTuple):
    """A claimed job: what a worker needs to run it and to decide what happens next. `seq` is the store's own number."""

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
    rank: int  # with `ord` and `seq` the place in its queue: the lowest runs first
    ord: int
    worker: str | None
    version: int = 1  # of the payload
    rules: str | None = None  # what may hold the job back


class Labels(NamedTuple):
    """What a producer said about a job beside its arguments. A claim does not read it: few handlers ask."""

    tenant: str | None = None
    ref: str | None = None
    key: str | None = None
    tags: tuple[str, ...] = ()
    parent: str | None = None
    schedule: str | None = None
    tick: int | None = None
    review: tuple[str, str, str] | None = None  # of the last review: question, actor, note
    trace: str | None = None  # the span that enqueued it, as W3C traceparent


class Attempt(NamedTuple, Generic[At]):
    """One attempt at a job and how it ended."""

    number: int
    token: int
    worker: str | None
    started_at: At
    ended_at: At | None
    outcome: str
    error: str | None
    traceback: str | None
    code: str | None = None  # of the error

    @property
    def frames(self) -> list[Frame]:
        """The frames of the traceback, the innermost last; `frame.user` if it is in the user's code, not in a library."""
        from .frames import frames

        return frames(self.traceback)


def updated_at(job: Job, attempts: Sequence[Attempt], actions: Sequence[Action]) -> int:
    """Return when something last happened to a job: it was enqueued, an attempt began or ended, an operator did something."""
    known = [job.created_at, job.started_at, job.finished_at, job.cancel_at]
    known += [at for attempt in attempts for at in (attempt.started_at, attempt.ended_at)]
    return max(at for at in (*known, *(action.at for action in actions)) if at is not None)


def history(job: Job, recorded: list[Attempt]) -> list[Attempt]:
    """Return every attempt: the recorded ones, then one that runs or completed, which the job row itself describes."""
    known = job.started_at is None or any(attempt.token == job.token for attempt in recorded)
    if known or job.state not in ("running", "completed"):
        return recorded
    last = Attempt(job.attempt, job.token, job.worker, job.started_at or 0, job.finished_at, job.state, None, None)
    return [*recorded, last]


class LogLine(NamedTuple, Generic[At]):
    """One line of a job's log."""

    at: At
    token: int
    level: str
    stage: str | None
    message: str
    fields: dict[str, Any]


class JobLine(NamedTuple, Generic[At]):
    """One line of the log of one of many jobs."""

    job: str
    at: At
    token: int
    level: str
    stage: str | None
    message: str
    fields: dict[str, Any]


class Action(NamedTuple, Generic[At]):
    """One operator action."""

    at: At
    actor: str
    action: str
    job: str | None
    detail: dict[str, Any]


class WorkerInfo(NamedTuple):
    """A registered worker."""

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
    description: str | None = None
    takes: str | None = None  # the JSON Schema of a payload
    created_at: int | None = None
    updated_at: int | None = None  # when the declaration last changed


class Rule(NamedTuple):
    """One rule that an operator or the code has set: a pause, what overrides a type, the rules of a queue, a limit, an open breaker."""

    kind: str
    name: str
    value: dict[str, Any]
    actor: str = ""
    at: int = 0
    reason: str = ""


class RuleChanged(Conflict):
    """The rule has changed since it was read: read it again, and change what it is now."""


def check_unchanged(rule: Rule | None, was: tuple[Rule | None] | None) -> None:
    """Raise `RuleChanged` if a rule has another value than the one on which a change is based; None: on whatever there is."""
    if was is not None and (rule and rule.value) != (was[0] and was[0].value):
        raise RuleChanged


def change_of(rule: Rule, before: Rule | None, remove: bool) -> dict[str, Any]:
    """Return what the audit trail says of a rule that was changed or removed."""
    after = None if remove else rule.value
    return {
        "kind": rule.kind,
        "name": rule.name,
        "before": before and before.value,
        "after": after,
        "reason": rule.reason,
    }


class SlotInfo(NamedTuple):
    """How a slot of a limit or a rate is used: its holders, and the jobs in line; `capped` when more wait than were counted."""

    slot: str
    holders: int
    waiting: int
    capped: bool


class KeyInfo(NamedTuple):
    """A key that is taken for ever; `there` while the job that took it exists."""

    key: str
    type: str
    job: str
    since: int
    there: bool


class Declaration(NamedTuple):
    """What live workers take as the payload of a type. Workers that declare the same are counted together."""

    type: str
    version: int
    signature: str
    takes: str  # a JSON Schema
    workers: int = 1


class Count(NamedTuple):
    """How many jobs of a queue and type are in a state; `capped` when there are more than were counted."""

    queue: str
    type: str
    label: str
    jobs: int
    oldest: int | None
    capped: bool
