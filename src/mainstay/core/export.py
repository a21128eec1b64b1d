"""A whole installation as plain rows, the same on every engine: what `mainstay move` carries from one store to another."""

from __future__ import annotations

from typing import Any, NamedTuple


class JobRecord(NamedTuple):
    """Everything about a job but its history."""

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


class AttemptRecord(NamedTuple):
    """One attempt that left a record."""

    job: str
    token: int
    number: int
    worker: str | None
    started_at: int
    ended_at: int
    outcome: str
    error: str | None
    traceback: str | None


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
    """One operator action; the trail is in their order."""

    at: int
    actor: str
    action: str
    job: str | None
    detail: str


class TypeRecord(NamedTuple):
    """One declared type."""

    name: str
    queue: str
    signature: str
    policy: str
    seen_at: int


class SettingRecord(NamedTuple):
    """One setting of the installation."""

    name: str
    value: str


# In this order: history comes after the jobs that it belongs to.
PARTS: dict[str, type[Any]] = {
    "types": TypeRecord,
    "settings": SettingRecord,
    "jobs": JobRecord,
    "attempts": AttemptRecord,
    "logs": LogRecord,
    "actions": ActionRecord,
}
PRIVATE = "move."  # settings that start so belong to the store they are in
ANOTHER = "another move into this store is at work: let it finish, or stop it and run this one again"


class Batch(NamedTuple):
    """Some rows of one part, in the store's order, and where to go on; None: that was all. Few where they are large."""

    rows: list[tuple[Any, ...]]
    after: str | None


def real(value: float | None) -> float | None:
    """A number as all engines can keep it: SQLite knows no NaN, and only one zero."""
    return None if value is None or value != value else float(value) + 0.0  # noqa: PLR0124  (NaN alone differs from itself)
