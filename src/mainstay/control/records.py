"""What the verbs of flow control return: frozen values with datetimes and timedeltas, as applications read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, timedelta


class Pause(NamedTuple):
    """A pause: of the whole installation (`all`), a `type` or a `queue`; who set it, when and why."""

    of: str
    name: str
    actor: str
    at: datetime
    reason: str


class Override(NamedTuple):
    """A value that an operator has set over what code declares; who and when."""

    value: Any
    actor: str
    at: datetime | None


class Change(NamedTuple):
    """What a verb has changed, or would change: the values before and after, by name; None: there was or is nothing."""

    kind: str
    name: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None

    @property
    def changed(self) -> bool:
        """Whether the values differ."""
        return self.before != self.after


class TypeRecord(NamedTuple):
    """A job type as data. Values have the names of options: queue, priority, attempts, backoff, timeout, keep, limit."""

    name: str
    description: str | None
    queue: str  # that holds
    declared: Mapping[str, Any]  # by the code
    set: Mapping[str, Override]  # by operators
    effective: Mapping[str, Any]
    drift: tuple[str, ...]  # the names of values that operators have set otherwise than the code declares
    paused: tuple[Pause, ...]
    disabled: Override | None
    stages: tuple[str, ...]
    schema: Mapping[str, Any]  # the JSON Schema of a payload
    created_at: datetime | None
    updated_at: datetime | None
    seen_at: datetime  # when a worker last registered it


class QueueRecord(NamedTuple):
    """A queue: how many jobs it has by state, whether it is paused, and its rules."""

    name: str
    counts: Mapping[str, int]
    depth: int  # queued, scheduled and blocked jobs
    capped: bool  # there are more than were counted
    oldest: datetime | None  # since when the oldest queued job waits
    paused: tuple[Pause, ...]
    declared: Mapping[str, Any]
    set: Mapping[str, Override]
    effective: Mapping[str, Any]
    drift: tuple[str, ...]


class SlotRecord(NamedTuple):
    """How a limit is used for one key: the queued and running jobs that hold it, and those in line."""

    key: str
    holders: int
    waiting: int
    capped: bool  # more wait than were counted
    next_start: datetime | None  # of a rate that permits no start now


class LimitRecord(NamedTuple):
    """A limit by its name. Values: running, rate, burst."""

    name: str
    types: tuple[str, ...]  # that have it
    declared: Mapping[str, Any]
    set: Mapping[str, Override]
    effective: Mapping[str, Any]
    drift: tuple[str, ...]
    slots: tuple[SlotRecord, ...]  # that are in use


class BreakerRecord(NamedTuple):
    """The breaker of a type: `closed`, `open` until an instant, or `probing` (one job is tried)."""

    type: str
    state: str
    until: datetime | None
    rest: timedelta | None
    failures: float | None  # the part of the last `of` outcomes that opens it; None: the type declares no breaker
    of: int | None
    failed: int  # of the `seen` outcomes that are counted now
    seen: int
    actor: str  # who opened it; "" if failures did
    at: datetime | None
    reason: str


class ScheduleRecord(NamedTuple):
    """A schedule: what it runs and when, how far it is, and what operators have changed."""

    name: str
    type: str
    args: Any  # of its jobs
    cron: str | None
    every: timedelta | None
    words: str  # its times in English
    tz: str
    start: datetime | None
    end: datetime | None
    limit: int | None
    jitter: timedelta | None
    catch_up: str
    overlap: str
    paused: Override | None  # its value is the reason
    next: datetime | None  # None: it is paused, has ended, or no worker has seen it yet
    last: datetime | None  # the newest tick that made a job
    job: str | None  # its id
    result: str | None  # the state of that job; None: it is gone
    fired: int
    missed: int  # ticks that came too late
    skipped: int  # ticks whose job before was not done
    problem: str | None  # why the next tick could not be fired
    declared: Mapping[str, Any]  # by the code; empty: it was made at run time
    set: Mapping[str, Override]  # by operators
    drift: tuple[str, ...]  # the names of values that operators have set otherwise than the code declares
    in_code: bool | None  # whether this program declares it; None: unknown


class SettingRecord(NamedTuple):
    """A setting of the installation."""

    name: str
    value: Any
    description: str | None
    updated_at: datetime | None


class ReviewRecord(NamedTuple):
    """A job that waits for a person."""

    id: str
    type: str
    queue: str
    question: str
    asked_at: datetime | None
    expires_at: datetime | None  # None: it waits for ever
    at_deadline: str | None  # what happens then: reject, approve, dead
    deciders: tuple[str, ...]  # actors and roles; none: anybody
    remind: timedelta | None  # between two reminders


class WorkerRecord(NamedTuple):
    """A registered worker: `live`, `stopping` or `dead` (its lease has run out)."""

    id: str
    state: str
    host: str
    pid: int
    slots: int
    running: int
    queues: tuple[str, ...]
    types: tuple[str, ...]
    started_at: datetime | None
    beat_at: datetime | None  # when it last renewed its lease
    expires_at: datetime | None  # when its lease ends


class Reason(NamedTuple):
    """One reason why a job is where it is: a `kind` for programs, a `text` for people, and what belongs to it.

    Kinds: paused, limit, rate, breaker, parents, scheduled, retrying, review, key, behind, worker, slot, expires, running, ended, ready.
    """

    kind: str
    text: str
    details: Mapping[str, Any] = {}


class Why(NamedTuple):
    """Why a job has not started, or what became of it. The first reason is the one that holds it now."""

    id: str
    type: str
    queue: str
    state: str
    reasons: tuple[Reason, ...]

    def __str__(self) -> str:
        return "\n".join(reason.text for reason in self.reasons)


class DeadRecord(NamedTuple):
    """The dead jobs that died of the same: of which error, how many, since when, and what was decided about them."""

    fingerprint: str | None  # None: of an older mainstay; a worker finds out within minutes
    type: str
    jobs: int
    capped: bool  # there are more dead jobs than were counted
    error: str | None  # of the newest job
    first: datetime | None  # when the first of them died
    last: datetime | None
    status: str  # open, ignored, resolved
    actor: str  # who decided that …
    at: datetime | None  # … and when
    note: str
    hours: tuple[int, ...]  # how many died in each of the last 24 hours
    sample: str  # the id of the newest job


class StuckRecord(NamedTuple):
    """A running job that is stuck."""

    id: str
    type: str
    kind: str  # silent, cancel, unstarted, timeout, long
    worker: str | None
    attempt: int
    since: datetime | None  # when it was claimed
    text: str  # for people
    fix: str  # what to type


class Discrepancy(NamedTuple):
    """A completed job whose effect does not hold, or could not be checked."""

    id: str
    type: str
    subject: str  # what the job was about
    kind: str  # wrong; changing: another job about the same thing has not ended; unchecked: verify= raised
    text: str  # what is wrong, or the error
    finished_at: datetime | None
    other: str | None = None  # the id of the job that changes it


class Reconciliation(NamedTuple):
    """What a check of completed jobs has found: up to 1,000 discrepancies, the job that ended last first, and how many there are."""

    found: tuple[Discrepancy, ...]
    checked: int
    superseded: int  # a later job was about the same thing
    looked: int  # ended jobs of all types
    complete: bool  # all ended jobs of that time were looked at; retention may have removed others
    wrong: int
    changing: int
    unchecked: int


class Component(NamedTuple):
    """A part of an installation: `healthy`, `degraded` or `unhealthy`, why, and the command that changes it."""

    name: str
    status: str
    text: str
    figures: Mapping[str, Any] = {}
    fix: str = ""


class Health(NamedTuple):
    """The health of an installation: the worst status of its components."""

    status: str
    components: tuple[Component, ...]
    at: datetime


class AlertRule(NamedTuple):
    """A rule for alerts as it holds: the threshold from which on it fires, and what operators have set of it."""

    name: str
    severity: str
    threshold: Any
    least: int | None  # jobs that must have ended before a rate counts
    enabled: bool
    silenced_until: datetime | None
    about: str  # when it fires, in words
    set: Mapping[str, Override]


class Incident(NamedTuple):
    """Something that a rule has found wrong: since when, until when, and whether its notices have arrived."""

    id: str
    rule: str
    subject: str
    severity: str
    title: str
    text: str
    type: str | None
    job: str | None
    queue: str | None
    tenant: str | None
    opened_at: datetime
    closed_at: datetime | None
    owed: int  # notices that are still to be delivered
    silenced: bool  # nobody was told
    past: tuple[tuple[datetime, datetime], ...]  # earlier times at which it was open, newest first


class WebhookRecord(NamedTuple):
    """An endpoint that gets events, and how its last deliveries went; never its secret."""

    id: str
    url: str
    events: tuple[str, ...]  # patterns: invoice.paid, invoice.*, *
    description: str
    max_failures: int  # so many failed deliveries within 24 hours disable it
    enabled: bool
    disabled_at: datetime | None
    disabled_because: str | None  # operator, max_failures_exceeded or gone
    created_at: datetime
    updated_at: datetime
    rotated_at: datetime | None  # when its secret was last changed
    signs_with: str  # "a stored secret", or the name of a variable, $NAME
    older_until: datetime | None  # until when the secret before signs too
    failures: int  # that count now
    succeeded: int  # of the deliveries that are kept
    failed: int
    average_ms: int | None  # of those that succeeded
    last_delivered_at: datetime | None


class WebhookDelivery(NamedTuple):
    """One attempt to deliver a message: what the receiver replied, or what went wrong."""

    at: datetime
    job: str  # its id is the message's id
    attempt: int
    status: int | None
    ms: int
    error: str | None
    answer: str | None  # the first 1,000 characters of the reply


class NewSecret(NamedTuple):
    """A change of an endpoint that has made a secret: it is shown here and nowhere else. None: the caller has given it."""

    change: Change
    id: str
    secret: str | None
