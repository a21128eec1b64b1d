"""What operators do to one job."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from ...control.bulk import Bulk
from ...control.edits import replacing, setter
from ...core.errors import Conflict, UsageError
from ...core.payload import decode_result, loads
from ...core.redaction import restored
from ...core.states import BLOCKED
from ...redacting import redactor
from ...refusals import checked
from ..call import Call
from ..operations import Body, operation

if TYPE_CHECKING:
    from ...control.bulk_run import Report
    from ...core.job import Job

Text = Annotated[str, msgspec.Meta(max_length=10_000)]


class Done(msgspec.Struct, kw_only=True):
    """What has become of the job; of a copy, the id of the new job."""

    id: str
    result: str


class Note(Body, frozen=True):
    """A note that the job's history keeps."""

    note: Text = ""


class Approval(Note, frozen=True):
    """A note, and another output than the one that the job proposed. Marks of redacted secrets stand for what they hide."""

    output: Any = msgspec.UNSET


class Amendment(Note, frozen=True):
    """Other arguments: fields by their paths, or all of them as `args`. Marks of redacted secrets stand for what they hide."""

    set: dict[str, Any] = msgspec.field(default_factory=dict)
    remove: list[str] = msgspec.field(default_factory=list)
    args: dict[str, Any] | None = None
    retry: bool = False


class Priority(Body, frozen=True):
    """From -1000 to 1000; higher runs first."""

    priority: int


class Queue(Body, frozen=True):
    """Another queue; `force`: also one that nobody uses yet."""

    queue: str
    force: bool = False


class Time(Body, frozen=True):
    """After a delay, or at an instant; a delay of 0 is now."""

    delay: str | float | None = None
    at: str | None = None


@operation("POST", "/api/jobs/{id}/retry", tenants=True)
def retry_job(call: Call, id: str, body: Note) -> Done:
    """Run a dead, cancelled, reviewed or waiting job now, with fresh attempts."""
    job = call.job(id)
    return Done(id=job.id, result=_retry(call, job, body.note))


@operation("POST", "/api/jobs/{id}/cancel", tenants=True)
def cancel_job(call: Call, id: str) -> Done:
    """Cancel a waiting job, or ask a running one to stop."""
    job = call.job(id)
    return Done(id=job.id, result=call.app.cancel(job.id, actor=call.who.actor))


@operation("POST", "/api/jobs/{id}/approve", tenants=True)
def approve_job(call: Call, id: str, body: Approval) -> Done:
    """Complete a job in review, with the output that it proposed or with another."""
    job = call.job(id)
    given: dict[str, Any] = {"actor": call.who.actor, "roles": call.who.roles}
    if body.output is not msgspec.UNSET:
        given["output"] = restored(body.output, decode_result(call.app.store.result(job.id)), redactor())
    return Done(id=job.id, result=call.app.approve(job.id, body.note, **given))


@operation("POST", "/api/jobs/{id}/reject", tenants=True)
def reject_job(call: Call, id: str, body: Note) -> Done:
    """End a job in review as dead."""
    job = call.job(id)
    return Done(id=job.id, result=call.app.reject(job.id, body.note, actor=call.who.actor, roles=call.who.roles))


@operation("POST", "/api/jobs/{id}/copy", tenants=True)
def copy_job(call: Call, id: str) -> Done:
    """Enqueue a copy of a job that has ended: the same arguments and policy, no key."""
    return Done(id=call.app.copy(call.job(id).id).id, result="copied")


@operation("POST", "/api/jobs/{id}/amend", tenants=True)
def amend_job(call: Call, id: str, body: Amendment) -> Done:
    """Change the arguments of a waiting, dead or cancelled job; with `retry`, run it with them at once.

    The arguments are checked as the type takes them. The audit trail keeps what they were.
    """
    job = call.job(id)
    if body.retry and job.state == BLOCKED:
        raise Conflict(
            "the job is blocked, so it cannot run now: leave retry out, then it runs with these arguments in its turn"
        )
    before = loads(job.payload)
    made = restored(_amended(before, body), before, redactor())
    found = Bulk(call.app, "", [job.id]).amend(replacing(before, made), note=body.note, actor=call.who.actor)
    result = found.jobs[job.id]
    if result != "same" or not body.retry:  # what is so already can be run all the same
        checked("change", job.id, result)
    return Done(id=job.id, result=_run_amended(call, job, body.note) if body.retry else result)


def _amended(before: Any, body: Amendment) -> Any:
    if body.args is None and not body.set and not body.remove:
        raise UsageError("what is to change? give set, remove or args")
    if body.args is None:
        return setter(body.set, body.remove)(copy.deepcopy(before))
    if body.set or body.remove:
        raise UsageError("give args for all arguments, or set and remove for some, not both")
    return body.args


def _retry(call: Call, job: Job, note: str) -> str:
    return call.app.retry(job.id, note, actor=call.who.actor, roles=call.who.roles)


def _run_amended(call: Call, job: Job, note: str) -> str:
    """Run a job whose arguments have been changed. If that fails, the error says that they have."""
    try:
        return _retry(call, job, note)
    except Conflict as error:
        raise Conflict(f"the arguments are changed, but the job was not run again: {error}") from None


@operation("POST", "/api/jobs/{id}/reprioritise", tenants=True)
def reprioritise_job(call: Call, id: str, body: Priority) -> Done:
    """Give a job that does not run another priority."""
    job = call.job(id)
    return _changed(job, Bulk(call.app, "", [job.id]).reprioritise(body.priority, actor=call.who.actor))


@operation("POST", "/api/jobs/{id}/requeue", tenants=True)
def requeue_job(call: Call, id: str, body: Queue) -> Done:
    """Move a job that does not run to another queue."""
    job = call.job(id)
    return _changed(job, Bulk(call.app, "", [job.id]).requeue(body.queue, force=body.force, actor=call.who.actor))


@operation("POST", "/api/jobs/{id}/reschedule", tenants=True)
def reschedule_job(call: Call, id: str, body: Time) -> Done:
    """Let a waiting job run after a delay or at an instant, with the attempts it has left."""
    job = call.job(id)
    return _changed(job, Bulk(call.app, "", [job.id]).reschedule(delay=body.delay, at=body.at, actor=call.who.actor))


@operation("DELETE", "/api/jobs/{id}", tenants=True)
def delete_job(call: Call, id: str) -> Done:
    """Remove a job that does not run, with its history."""
    job = call.job(id)
    return Done(id=job.id, result=call.app.delete(job.id, actor=call.who.actor))


def _changed(job: Job, report: Report) -> Done:
    return Done(id=job.id, result=checked("change", job.id, report.jobs[job.id]))
