"""Enqueues jobs over HTTP."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from ...control.edits import check_payload
from ...core.errors import DuplicateKey, NotAllowed, UnknownType, UsageError
from ...core.payload import encode
from ...core.suggest import did_you_mean
from ..call import Call
from ..operations import Body, operation
from ..roles import CREATOR, OPERATOR

if TYPE_CHECKING:
    from ...core.job import TypeInfo
    from ...handle import Handle

Given = msgspec.UnsetType


class NewJob(Body, frozen=True):
    """A job to enqueue. Durations are seconds or texts such as "5m", instants are ISO 8601 with a zone; the type decides what is left out."""

    type: str
    args: dict[str, Any] = msgspec.field(default_factory=dict)
    queue: str | None = None
    priority: int | None = None
    delay: str | float | None = None
    at: str | None = None
    key: str | None = None
    unique: Literal["alive", "start", "forever"] | None = None
    period: str | float | None = None
    tenant: str | None = None
    ref: str | None = None
    tags: list[str] | None = None
    start_by: str | float | None = None
    timeout: str | float | Given | None = msgspec.UNSET
    attempts: int | None = None
    after: list[str] | None = None
    if_parent_fails: Literal["cancel", "run", "dead"] | None = None
    force: bool = False


class Enqueued(msgspec.Struct, kw_only=True):
    """The id of the job; not `created` if there was one with its key already."""

    id: str
    created: bool

    @property
    def http_status(self) -> int:
        """201 for a new job, 200 for one that was there."""
        return 201 if self.created else 200


@operation("POST", "/api/jobs", role=CREATOR, tenants=True, status=201, bucket="creation")
def enqueue_job(call: Call, body: NewJob) -> Enqueued:
    """Enqueue a job. Its arguments are checked by what the type takes.

    `force` enqueues a type that no worker has registered yet; operators may. A caller who sees one tenant enqueues for it only.
    If another job has its key, that one is returned with the status 200.
    """
    _check_type(call, body)
    options = _options(body) | _tenant(call, body)
    for parent in body.after or ():
        call.job(parent)  # one that the caller does not see is not there
    handle = call.app.enqueue(body.type, body.args, **options)
    return Enqueued(id=_visible(call, handle), created=handle.created)


def _check_type(call: Call, body: NewJob) -> None:
    """Raise for an unknown type, and for arguments that do not fit a type whose code is elsewhere."""
    if body.type in call.app.registry:
        return
    known = {info.name: info for info in call.app.store.types()}
    if body.type in known:
        _check_arguments(call, body, known[body.type])
        return
    if body.force and call.who.permits(OPERATOR):
        return
    near = did_you_mean(body.type, [*known, *call.app.registry])
    raise UnknownType(
        f'no worker has registered a job type {body.type!r:.60}{near}; start one that does, or send "force": true as an operator'
    )


def _check_arguments(call: Call, body: NewJob, info: TypeInfo) -> None:
    check_payload(info, encode(body.args, call.app.max_payload), info.policy.get("version", 1))


_PLAIN = ("queue", "priority", "delay", "at", "key", "unique", "period", "ref", "tags", "after", "if_parent_fails")


def _options(body: NewJob) -> dict[str, Any]:
    """Return the options of a job as `app.enqueue` takes them."""
    given = {name: value for name in _PLAIN if (value := getattr(body, name)) is not None}
    if body.attempts is not None:
        given["retry"] = body.attempts
    if body.start_by is not None:
        given["start_by"] = _start_by(body.start_by)
    return given if body.timeout is msgspec.UNSET else given | {"timeout": body.timeout}


def _start_by(value: str | float) -> Any:
    """Return an instant, which has a year, or a duration."""
    if not isinstance(value, str) or value[4:5] != "-":
        return value
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        raise UsageError(
            f"start_by={value!r:.60} is not an instant: write it as 2030-01-31T09:30:00+00:00, or a duration such as 1h"
        ) from None


def _tenant(call: Call, body: NewJob) -> dict[str, str]:
    mine = call.who.tenant
    if mine is not None and body.tenant is not None and not call.sees(body.tenant):
        raise NotAllowed(f"you enqueue jobs of the tenant {mine} only: leave tenant out, or give {mine}")
    chosen = body.tenant or mine
    return {} if chosen is None else {"tenant": chosen}


def _visible(call: Call, handle: Handle[Any]) -> str:
    """Return the id of the job, if the caller may see it: one that has the key already may be of another tenant."""
    if not handle.created and call.who.tenant is not None:
        found = call.app.store.get(handle.id)
        if found is not None and not call.sees(found.tenant):
            raise DuplicateKey("another job has this key: give another one")
    return handle.id
