"""All that is known of one job."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from ...control import json_records
from ...control.again import Commands, commands
from ...control.logs import length
from ...control.possible import possible
from ...control.records import Why
from ...control.rules import instant
from ...control.timeline import gaps, stages, timeline
from ...core import rules
from ...core.job import updated_at
from ...core.retention import shown
from ...core.states import ENDED, REVIEW
from ..call import Call
from ..job_records import (
    ActionRecord,
    AttemptRecord,
    JobRecord,
    LineRecord,
    action_record,
    attempt_numbers,
    attempt_record,
    job_record,
    job_records,
    line_records,
)
from ..operations import operation
from ..reasons import explained
from ..roles import OPERATOR
from .reviews import ReviewDetail, may_decide, review_detail

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...core.job import Action, Attempt, Job, LogLine

READ, SHOWN = 10_000, 500  # lines of the log: for the timeline, and in the page
ACTIONS, RELATED = 100, 50  # of the job; children and parents


class JobDetail(JobRecord, kw_only=True):
    """A job with what a list leaves out. Durations are in seconds; `waits` is for what a blocked job waits."""

    updated_at: datetime
    start_by: datetime | None
    waits: str | None
    version: int
    backoff: str | None
    keep: float | None
    keep_cancelled: float | None
    keep_dead: float | None
    keep_last: int | None
    trace: str | None


class TimelineEvent(msgspec.Struct, kw_only=True):
    """An event; `took` are the seconds until the next one. Kinds: created, started, stage, log, more, cancel, ended, finished, retried, due."""

    at: datetime
    kind: str
    what: str
    text: str
    took: float | None


class StageRecord(msgspec.Struct, kw_only=True):
    """A stage of an attempt; `took` is None while it runs."""

    name: str
    attempt: int
    started_at: datetime | None
    took: float | None
    failed: bool


class JobPageRecord(msgspec.Struct, kw_only=True):
    """All that is known of a job. `logs` are its last 500 lines."""

    job: JobDetail
    result: Any
    checkpoint: Any
    review: ReviewDetail | None
    attempts: list[AttemptRecord]
    logs: list[LineRecord]
    logs_total: int
    actions: list[ActionRecord]
    children: list[JobRecord]
    after: list[JobRecord]
    why: Why | None
    timeline: list[TimelineEvent]
    stages: list[StageRecord]
    copy: Commands
    actions_possible: list[str]


@operation("GET", "/api/jobs/{id}", tenants=True, personal=True)
def read_job(call: Call, id: str) -> JobPageRecord:
    """Return all that is known of a job: attempts, log, timeline, what operators did, why it waits, and what can be done."""
    job, store = call.job(id), call.app.store
    attempts, actions, lines = store.attempts(job.id), store.actions(job.id, ACTIONS), store.logs(job.id, 0, READ)
    shown_lines, total = _last_lines(call, job, lines)
    return JobPageRecord(
        job=_detail(call, job, attempts, actions),
        result=json_records.kept(store.result, job.id),
        checkpoint=json_records.kept(store.checkpoint, job.id),
        review=review_detail(call, job) if job.state == REVIEW else None,
        attempts=[attempt_record(attempt) for attempt in attempts],
        logs=line_records(shown_lines, total - len(shown_lines), attempt_numbers(attempts)),
        logs_total=total,
        actions=[action_record(action) for action in actions],
        children=_children(call, job),
        after=_seen(call, rules.unpack(job.rules).get("parents", [])[:RELATED]),
        why=None if job.state in ENDED else explained(call, job),
        timeline=_timeline(job, attempts, actions, lines),
        stages=_stages(job, attempts, lines),
        copy=commands(job, f"{call.request.base_url}api/jobs"),
        actions_possible=_possible(call, job),
    )


@operation("GET", "/api/jobs/{id}/why", tenants=True)
def explain_job(call: Call, id: str) -> Why:
    """Return why a job has not started, the true reason first; or what became of it."""
    return explained(call, call.job(id))


def _detail(call: Call, job: Job, attempts: Sequence[Attempt], actions: Sequence[Action]) -> JobDetail:
    known: dict[str, Any] = msgspec.structs.asdict(job_record(job, call.app.clock.now()))
    known |= {name: _seconds(shown(name, getattr(job, name))) for name in ("keep", "keep_cancelled", "keep_dead")}
    known |= {name: getattr(job, name) for name in ("waits", "version", "backoff", "keep_last", "trace")}
    known |= {"updated_at": instant(updated_at(job, attempts, actions)), "start_by": instant(job.start_by)}
    return JobDetail(**known)


def _seconds(ms: int | None) -> float | None:
    return None if ms is None else ms / 1000


def _last_lines(call: Call, job: Job, lines: Sequence[LogLine]) -> tuple[Sequence[LogLine], int]:
    """Return the last lines of a log, of which the first ones were read, and how many it has."""
    if len(lines) < READ:
        return lines[-SHOWN:], len(lines)
    total = length(call.app.store, job.id, len(lines))
    return call.app.store.logs(job.id, max(total - SHOWN, 0), SHOWN), total


def _children(call: Call, job: Job) -> list[JobRecord]:
    return _seen(call, call.app.search(f"parent:{job.id}", RELATED, exact=True).ids)


def _seen(call: Call, ids: Sequence[str]) -> list[JobRecord]:
    """Return those of the jobs that the caller may see."""
    found = call.app.store.get_many(ids) if ids else []
    return job_records([job for job in found if call.sees(job.tenant)], call.app.clock.now())


def _timeline(
    job: Job, attempts: Sequence[Attempt], actions: Sequence[Action], lines: Sequence[LogLine]
) -> list[TimelineEvent]:
    events = timeline(job, attempts, actions, lines)
    known: list[dict[str, Any]] = [event._asdict() | {"at": instant(event.at)} for event in events]
    spans = [*gaps(events), None]
    return [TimelineEvent(**each, took=_seconds(span)) for each, span in zip(known, spans, strict=True)]


def _stages(job: Job, attempts: Sequence[Attempt], lines: Sequence[LogLine]) -> list[StageRecord]:
    known: list[dict[str, Any]] = [
        stage._asdict() | {"started_at": instant(stage.started_at), "took": _seconds(stage.took)}
        for stage in stages(job, attempts, lines)
    ]
    return [StageRecord(**each) for each in known]


def _possible(call: Call, job: Job) -> list[str]:
    """Return what this caller can do to the job now."""
    if not call.who.permits(OPERATOR) or call.site.options["read_only"]:
        return []
    return [*possible(job, job.state != REVIEW or may_decide(call, job))]
