"""All data of an installation as plain rows, the same on every engine: what `mainstay move` copies."""

from __future__ import annotations

from typing import Any, NamedTuple


class JobRecord(NamedTuple):
    """Every column of a job: the one list from which the engines derive theirs. Attempts and log lines are apart."""

    id: str
    type: str
    queue: str
    state: str
    priority: int
    ord: int
    run_at: int | None
    attempt: int
    max_attempts: int
    crashes: int
    token: int
    worker: str | None
    lock: str | None
    lock_until: int | None
    timeout: int | None
    keep: int | None
    backoff: str | None
    created_at: int
    started_at: int | None
    finished_at: int | None
    expires_at: int | None
    cancel_at: int | None
    reason: str | None
    payload: str
    key: str | None
    tenant: str | None
    ref: str | None
    tags: str | None  # a JSON array
    parent: str | None
    result: str | None
    checkpoint: str | None
    done: float | None
    total: float | None
    stage: str | None
    version: int  # of the payload
    children: str | None  # drafts that the job enqueues when its review is approved, as JSON
    bulks: str | None  # the bulk actions that changed the job: their ids, with a space between them
    rules: str | None  # what may hold the job back, as JSON
    waits: str | None  # for what a blocked job waits
    start_by: int | None
    schedule: str | None  # whose tick made the job …
    tick: int | None  # … and that tick's instant
    keep_cancelled: int | None
    keep_dead: int | None
    keep_last: int | None  # so many of its type and state are kept
    review: str | None  # what the last review of the job asks, as JSON
    trace: str | None  # the span that enqueued the job, as W3C traceparent
    fingerprint: str | None  # of a dead job: of what it died
    details: str | None  # what a handler says about its progress, as JSON


class AttemptRecord(NamedTuple):
    """One recorded attempt."""

    job: str
    token: int
    number: int
    worker: str | None
    started_at: int
    ended_at: int
    outcome: str
    error: str | None
    traceback: str | None
    code: str | None  # of the error


class LogRecord(NamedTuple):
    """One line of a job's log."""

    job: str
    token: int
    n: int
    at: int
    level: str
    stage: str | None
    message: str
    fields: str | None


class ActionRecord(NamedTuple):
    """One operator action, in the order in which they happened."""

    at: int
    actor: str
    action: str
    job: str | None  # None: a bulk action
    detail: str
    bulk: str | None  # its id


class TypeRecord(NamedTuple):
    """One registered type."""

    name: str
    queue: str
    signature: str
    policy: str
    seen_at: int
    description: str | None
    takes: str | None  # the JSON Schema of a payload
    created_at: int | None
    updated_at: int | None


class RuleRecord(NamedTuple):
    """One rule that an operator or the code has set."""

    kind: str
    name: str
    value: str  # JSON
    actor: str
    at: int
    reason: str


class AfterRecord(NamedTuple):
    """One parent of a job that waits."""

    parent: str
    child: str


class SettingRecord(NamedTuple):
    """One setting of the installation."""

    name: str
    value: str
    description: str | None
    updated_at: int | None


class KeyRecord(NamedTuple):
    """One key that is taken for ever."""

    key: str
    type: str
    job: str
    since: int


class TallyRecord(NamedTuple):
    """One counter (`core.tally`): of a minute, of the hour that begins at the minute of which it is the negative, or (0) of all hours."""

    minute: int
    type: str
    name: str
    n: int


class DeliveryRecord(NamedTuple):
    """One attempt to deliver a message to an endpoint. It has an error, or it arrived."""

    endpoint: str
    at: int
    job: str
    token: int  # of the attempt
    attempt: int
    status: int | None  # that the receiver replied
    ms: int  # until the reply, or the error
    error: str | None
    answer: str | None  # the beginning of the reply's body


# In this order: attempts and log lines come after their jobs.
PARTS: dict[str, type[Any]] = {
    "types": TypeRecord,
    "settings": SettingRecord,
    "rules": RuleRecord,
    "jobs": JobRecord,
    "after": AfterRecord,
    "attempts": AttemptRecord,
    "logs": LogRecord,
    "actions": ActionRecord,
    "keys": KeyRecord,
    "tallies": TallyRecord,
    "deliveries": DeliveryRecord,
}
PRIVATE = "move."  # settings that start so belong to one store and are not moved
ANOTHER = "another move into this store is running: let it finish, or stop it and run this one again"


class Batch(NamedTuple):
    """Some rows of one part, in the store's order, and the position to continue from; None at the end. Fewer if they are large."""

    rows: list[tuple[Any, ...]]
    after: str | None


def real(value: float | None) -> float | None:
    """Return a number that all engines can store: SQLite has no NaN and only one zero."""
    return None if value is None or value != value else float(value) + 0.0  # noqa: PLR0124  (NaN alone differs from itself)


class Rewrite(NamedTuple):
    """A text of a job in another form: of the job itself, of the attempt with this token, or of its line `n` of the log."""

    column: str
    was: str
    now: str
    token: int | None = None
    n: int | None = None


class JobHistory(NamedTuple):
    """A job with all that belongs to it: what an archive and `mainstay export` have of it."""

    job: JobRecord
    attempts: list[AttemptRecord]
    logs: list[LogRecord]
    actions: list[ActionRecord]  # of operators; those on many jobs have no job
