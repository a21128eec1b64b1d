"""Dead jobs in groups by what they died of, and what is done about a group."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from ...control.records import Change, DeadRecord
from ...core.errors import UsageError
from ..bulk_runs import BulkOperation
from ..call import Call
from ..job_records import AttemptRecord, JobRecord, attempt_record, job_records
from ..operations import Query, operation
from .bulk import begin_group
from .job_actions import Note

if TYPE_CHECKING:
    from ...control.dead import DeadGroup

SHOWN = 20  # jobs of a group


class DeadQuery(Query, frozen=True):
    """With `everything`, also groups that are ignored or resolved."""

    everything: bool = False


class GroupDetail(msgspec.Struct, kw_only=True):
    """A group, its newest jobs, and the attempt in which the newest of them died."""

    group: DeadRecord
    jobs: list[JobRecord]
    attempt: AttemptRecord | None


class GroupRetry(Note, frozen=True):
    """Run `one` job, the newest, to see whether it completes now; or all, spread over a time (`stagger`)."""

    one: bool = False
    stagger: str | float | None = None


class GroupChange(Note, frozen=True):
    """Fields of the arguments to set by their paths, and others to remove."""

    set: dict[str, Any] = msgspec.field(default_factory=dict)
    remove: list[str] = msgspec.field(default_factory=list)


@operation("GET", "/api/dead")
def list_dead(call: Call, query: DeadQuery) -> list[DeadRecord]:
    """Return the groups of dead jobs, the largest first."""
    return [*call.app.dead(everything=query.everything)]


@operation("GET", "/api/dead/{fingerprint}")
def read_dead(call: Call, fingerprint: str) -> GroupDetail:
    """Return a group with its newest jobs, and how the newest of them died."""
    store, group = call.app.store, call.app.dead_group(fingerprint).record
    ids = call.app.search(f"fingerprint:{group.fingerprint} state:dead", SHOWN).ids
    jobs = job_records(store.get_many(ids), call.app.clock.now())
    attempts = store.attempts(group.sample) if group.sample else []
    failed = next((each for each in reversed(attempts) if each.error), None)
    return GroupDetail(group=group, jobs=jobs, attempt=attempt_record(failed) if failed else None)


@operation("POST", "/api/dead/{fingerprint}/retry", status=202)
def retry_dead(call: Call, fingerprint: str, body: GroupRetry) -> BulkOperation:
    """Run the jobs of a group again, in the background: one, or all."""
    group = call.app.dead_group(fingerprint)
    given = partial(group.retry, one=body.one, stagger=body.stagger, note=body.note, actor=call.who.actor)
    return begin_group(call, "retry", _search(group), given)


@operation("POST", "/api/dead/{fingerprint}/purge", status=202)
def purge_dead(call: Call, fingerprint: str) -> BulkOperation:
    """Remove the jobs of a group with their history, in the background."""
    group = call.app.dead_group(fingerprint)
    return begin_group(call, "delete", _search(group), partial(group.purge, actor=call.who.actor))


@operation("POST", "/api/dead/{fingerprint}/amend", status=202)
def amend_dead(call: Call, fingerprint: str, body: GroupChange) -> BulkOperation:
    """Change the arguments of the jobs of a group, in the background; they stay dead."""
    if not body.set and not body.remove:
        raise UsageError("what is to change? give set or remove")
    group = call.app.dead_group(fingerprint)
    given = partial(group.amend, body.set, remove=body.remove, note=body.note, actor=call.who.actor)
    return begin_group(call, "amend", _search(group), given)


@operation("POST", "/api/dead/{fingerprint}/ignore")
def ignore_dead(call: Call, fingerprint: str, body: Note) -> Change:
    """List a group no more, however many jobs die in it."""
    return call.app.dead_group(fingerprint).ignore(body.note, actor=call.who.actor)


@operation("POST", "/api/dead/{fingerprint}/resolve")
def resolve_dead(call: Call, fingerprint: str, body: Note) -> Change:
    """List a group no more, until another job dies in it."""
    return call.app.dead_group(fingerprint).resolve(body.note, actor=call.who.actor)


@operation("POST", "/api/dead/{fingerprint}/reopen")
def reopen_dead(call: Call, fingerprint: str, body: Note) -> Change:
    """List a group again."""
    return call.app.dead_group(fingerprint).reopen(body.note, actor=call.who.actor)


def _search(group: DeadGroup) -> str:
    return f"fingerprint:{group.record.fingerprint}"
