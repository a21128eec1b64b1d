"""What applications read about jobs: instants are aware datetimes in UTC, durations are timedeltas, JSON is parsed.

Stores return `core.job` values, with milliseconds and JSON text. They become these where an application reads them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from .core.draft import Draft
from .core.payload import decode_result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .core import job as stored

T = TypeVar("T")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DURATIONS = ("timeout", "keep")
_COPIED = ("queue", "priority", "max_attempts", "backoff", "timeout", "keep", "tenant", "ref", "tags", "version")


@dataclass(frozen=True, slots=True, repr=False)
class Job:
    """A job as it is stored now: its arguments, its policy and its state."""

    id: str
    type: str
    queue: str
    state: str
    label: str  # the state as it is shown to people: `retrying` and `cancelling` too
    priority: int
    payload: str  # the arguments as JSON text
    attempt: int
    max_attempts: int
    crashes: int
    token: int
    worker: str | None
    created_at: datetime
    run_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    expires_at: datetime | None
    cancel_at: datetime | None
    timeout: timedelta | None
    keep: timedelta | None
    reason: str | None
    key: str | None
    tenant: str | None
    ref: str | None
    tags: tuple[str, ...]
    parent: str | None
    done: float | None
    total: float | None
    stage: str | None
    error: str | None
    code: str | None  # of the error: an HTTP status, a name that the handler gave
    version: int  # of the payload
    _result: Callable[[str], str | None] = field(compare=False)

    @property
    def args(self) -> Any:
        """The arguments by name, as plain JSON values."""
        return json.loads(self.payload)

    @property
    def result(self) -> Any:
        """What the handler returned, or proposes in a review, as plain JSON values; read from the store now."""
        return decode_result(self._result(self.id))

    @property
    def progress(self) -> float | None:
        """How much is done, from 0 to 1; None if the handler has not said of how much."""
        return None if self.done is None or not self.total else min(max(self.done / self.total, 0.0), 1.0)

    @property
    def retrying(self) -> bool:
        """Whether the job waits for its next attempt after one that failed."""
        return self.label == "retrying"

    def __repr__(self) -> str:
        return f"<Job {self.id} {self.type} {self.label}, attempt {self.attempt} of {self.max_attempts}>"


class Attempt(NamedTuple):
    """One attempt at a job and how it ended."""

    number: int
    token: int
    worker: str | None
    started_at: datetime
    ended_at: datetime | None
    outcome: str
    error: str | None
    traceback: str | None
    code: str | None


class LogLine(NamedTuple):
    """One line of a job's log."""

    at: datetime
    token: int
    level: str
    stage: str | None
    message: str
    fields: dict[str, Any]


class Action(NamedTuple):
    """One operator action."""

    at: datetime
    actor: str
    action: str
    job: str | None
    detail: dict[str, Any]


def job_of(found: stored.Job, result: Callable[[str], str | None]) -> Job:
    """Return a stored job as applications read it; `result` reads a result from the store."""
    values = _values(found) | {"label": found.label, "_result": result}
    return Job(**{name: values[name] for name in Job.__slots__})


def each_of(kind: type[T], found: Iterable[stored.Attempt | stored.LogLine | stored.Action]) -> list[T]:
    """Return stored attempts, log lines or actions as applications read them."""
    return [kind(**_values(item)) for item in found]


def _values(item: stored.Job | stored.Attempt | stored.LogLine | stored.Action) -> dict[str, Any]:
    return {name: _value(name, value) for name, value in item._asdict().items()}


def _value(name: str, value: Any) -> Any:
    if value is None:
        return None
    if name == "at" or name.endswith("_at"):
        return _EPOCH + timedelta(milliseconds=value)
    return timedelta(milliseconds=value) if name in _DURATIONS else value


def copy_of(job: stored.Job) -> Draft:
    """Return a draft of the same work: arguments and policy, no key. Its parent is the first job."""
    return Draft(job.type, job.payload, parent=job.id, **{name: getattr(job, name) for name in _COPIED})
