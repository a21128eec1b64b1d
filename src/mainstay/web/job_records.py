"""Jobs and what belongs to them as the API returns them."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from ..control import json_records
from ..control.logs import shown_level

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ..core.job import Action, Attempt, Job, LogLine


class JobRecord(msgspec.Struct, kw_only=True):
    """A job in a list: its state, its arguments without secrets, and one line `about` it. `label` is the state for people."""

    id: str
    type: str
    queue: str
    state: str
    label: str
    priority: int
    args: Any
    attempt: int
    max_attempts: int
    crashes: int
    worker: str | None
    created_at: datetime
    run_at: datetime | None
    started_at: datetime | None
    cancel_at: datetime | None
    finished_at: datetime | None
    expires_at: datetime | None
    took: float | None
    cancel_took: float | None
    timeout: float | None
    key: str | None
    tenant: str | None
    ref: str | None
    tags: list[str]
    parent: str | None
    schedule: str | None
    tick: datetime | None
    done: float | None
    total: float | None
    stage: str | None
    details: Any
    error: str | None
    code: str | None
    reason: str | None
    fingerprint: str | None
    about: str


class FrameRecord(msgspec.Struct, kw_only=True):
    """One frame of a traceback; `user` if it is in the user's own code."""

    file: str
    line: int
    function: str
    code: str
    user: bool


class AttemptRecord(msgspec.Struct, kw_only=True):
    """One attempt at a job and how it ended."""

    number: int
    worker: str | None
    started_at: datetime
    ended_at: datetime | None
    outcome: str
    error: str | None
    code: str | None
    traceback: str | None
    frames: list[FrameRecord]


class LineRecord(msgspec.Struct, kw_only=True):
    """One line of a job's log; `number` counts from 1, over all attempts."""

    number: int
    at: datetime
    attempt: int | None
    level: str
    stage: str | None
    message: str
    fields: dict[str, Any]


class ActionRecord(msgspec.Struct, kw_only=True):
    """What an operator did."""

    at: datetime
    actor: str
    action: str
    job: str | None
    detail: dict[str, Any]


class JobPage(msgspec.Struct, kw_only=True):
    """A page of jobs. `after` fetches the next one; `searched`: a text search has looked at so many of the newest jobs."""

    jobs: list[JobRecord]
    after: str | None
    searched: int | None = None


def job_record(job: Job, now: int) -> JobRecord:
    """Return a job as a row of a list."""
    return JobRecord(**json_records.of_job(job, now), about=json_records.about(job))


def job_records(jobs: Iterable[Job], now: int) -> list[JobRecord]:
    """Return jobs as rows."""
    return [job_record(job, now) for job in jobs]


def attempt_record(attempt: Attempt) -> AttemptRecord:
    """Return an attempt with the frames of its traceback."""
    known = json_records.of(attempt)
    frames = [FrameRecord(**frame._asdict()) for frame in attempt.frames]
    return AttemptRecord(**{name: known[name] for name in known if name != "token"}, frames=frames)


def line_records(lines: Sequence[LogLine], before: int, numbers: Mapping[int, int]) -> list[LineRecord]:
    """Return log lines with their numbers; `before` of them are not among these. `numbers` has the attempt of each token."""
    return [
        LineRecord(
            number=number, at=json_records.of(line)["at"], attempt=numbers.get(line.token), level=shown_level(line),
            stage=line.stage, message=line.message, fields=line.fields,
        )
        for number, line in enumerate(lines, before + 1)
    ]  # fmt: skip


def attempt_numbers(attempts: Iterable[Attempt]) -> dict[int, int]:
    """Return the number of each attempt by its token."""
    return {attempt.token: attempt.number for attempt in attempts}


def action_record(action: Action) -> ActionRecord:
    """Return what an operator did."""
    return ActionRecord(**json_records.of(action))
