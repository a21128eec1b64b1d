"""What applications read about jobs: instants are aware datetimes in UTC, durations are timedeltas, JSON is parsed.

Stores return `core.job` values, with milliseconds and JSON text. They become these where an application reads them.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from .core import job as stored, retention
from .core.draft import Draft
from .core.errors import Conflict
from .core.payload import decode_result, loads
from .core.review import unpack
from .core.states import CANCELLED, ENDED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .stores.contract import Store

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DURATIONS = ("timeout", *retention.AGES, "remind")
_COPIED = (
    "queue",
    "priority",
    "max_attempts",
    "backoff",
    "timeout",
    "keep",
    *retention.NAMES,
    "tenant",
    "ref",
    "tags",
    "version",
    "schedule",
    "tick",
)

_KEPT_RULES = ("limits", "rates", "breaker")  # the others are of one job, or given by its queue


class Job(stored.Job[datetime, timedelta]):
    """A job as it is stored now: its arguments, its policy and its state."""

    _result: Callable[[str], str | None]
    _updated: Callable[[Job], datetime]

    @property
    def args(self) -> Any:
        """The arguments by name, as plain JSON values."""
        return loads(self.payload)

    @property
    def result(self) -> Any:
        """What the handler returned, or proposes in a review, as plain JSON values; read from the store now."""
        return decode_result(self._result(self.id))

    @property
    def progress(self) -> float | None:
        """How much is done, from 0 to 1; None if the handler has not said of how much."""
        return None if self.done is None or not self.total else min(max(self.done / self.total, 0.0), 1.0)

    @property
    def updated_at(self) -> datetime:
        """When something last happened to the job: it was enqueued, an attempt began or ended, an operator acted; read now."""
        return self._updated(self)

    @property
    def cancel_took(self) -> timedelta | None:
        """How long after the request a cancelled job ended; None for any other."""
        if self.state != CANCELLED or self.finished_at is None or self.cancel_at is None:
            return None
        return max(self.finished_at - self.cancel_at, timedelta())

    def __repr__(self) -> str:
        return f"<Job {self.id} {self.type} {self.label}, attempt {self.attempt} of {self.max_attempts}>"


def job_of(found: stored.Job, store: Store) -> Job:
    """Return a stored job as applications read it; the store is asked for its result, and when it was last updated."""
    job = Job(**_values(found))
    job.__dict__["_result"] = store.result
    job.__dict__["_updated"] = lambda _: _instant(
        stored.updated_at(found, store.attempts(found.id), store.actions(found.id, 1))
    )
    return job


def _instant(ms: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=ms)


def each_of(found: Iterable[Any]) -> list[Any]:
    """Return stored attempts, log lines or actions as applications read them."""
    return [type(item)(**_values(item)) for item in found]


def _values(item: Any) -> dict[str, Any]:
    return {name: _value(name, value) for name, value in item._asdict().items()}


def _value(name: str, value: Any) -> Any:
    if value is None:
        return None
    if name in ("at", "tick") or name.endswith("_at"):
        return _instant(value)
    if name == "details":
        return json.loads(value)
    if name == "review":
        return each_of([unpack(value)])[0]
    if name not in _DURATIONS:
        return value
    return None if retention.shown(name, value) is None else timedelta(milliseconds=value)


def copy_of(job: stored.Job) -> Draft:
    """Return a draft of the same work: arguments, policy and limits, no key. Its parent is the first job."""
    draft = Draft(job.type, job.payload, parent=job.id, **{name: getattr(job, name) for name in _COPIED})
    if job.rules is not None:
        from .core import limits, rules

        limits.set_rules(draft, {name: rule for name, rule in rules.unpack(job.rules).items() if name in _KEPT_RULES})
    return draft


def copy_of_ended(job: stored.Job) -> Draft:
    """Return a copy of a job that has ended; raise `Conflict` for any other."""
    if job.state not in ENDED:
        raise Conflict(f"job {job.id} is {job.label}, it has not ended: app.retry runs a waiting job now")
    return copy_of(job)
