"""Many jobs at once: found by a search or given by id, previewed, changed in the background, stopped and resumed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from ...control.bulk import Bulk
from ...control.reviews import PROPOSED
from ...control.rules import instant
from ...core.bulk import new_bulk
from ...core.errors import Conflict, NotFound, UsageError
from ...core.ids import LENGTH, normal
from ..bulk_runs import PREVIEWED, RUNNING, BulkOperation, BulkRun, recorded
from ..call import Call
from ..operations import Body, operation

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...control.bulk_run import Report

Action = Literal["retry", "cancel", "delete", "approve", "reject", "copy", "reprioritise", "requeue", "reschedule", "amend"]  # fmt: skip
SLACK, SPARE = 0.1, 10  # by how much a count may differ from the one that was seen: a part of it, and some jobs
LISTED = 100


class Arguments(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, frozen=True):
    """What an action takes: `stagger` spreads retries over a time; `set` and `remove` are fields by their paths."""

    stagger: str | float | None = None
    priority: int | None = None
    queue: str | None = None
    force: bool = False
    delay: str | float | None = None
    at: str | None = None
    set: dict[str, Any] = msgspec.field(default_factory=dict)
    remove: list[str] = msgspec.field(default_factory=list)
    note: str = ""
    output: Any = msgspec.UNSET


class NewBulk(Body, frozen=True):
    """Jobs that a search `q` finds, or those of these `ids`. `expected` is how many the operator has seen.

    A call that is repeated under the same `key` returns the operation that the first has begun, while the server remembers it.
    """

    action: Action
    q: str = ""
    ids: Annotated[list[str], msgspec.Meta(max_length=1_000)] | None = None
    arguments: Arguments = Arguments()
    dry_run: bool = False
    expected: int | None = None
    key: Annotated[str, msgspec.Meta(min_length=1, max_length=200)] | None = None


# The arguments of each action.
TAKES: dict[str, tuple[str, ...]] = {
    "retry": ("stagger", "note"), "approve": ("note", "output"), "reject": ("note",), "reprioritise": ("priority",), "requeue": ("queue", "force"),
    "reschedule": ("delay", "at"), "amend": ("set", "remove", "note"), "cancel": (), "delete": (), "copy": (),
}  # fmt: skip
NEEDED = {"reprioritise": "priority", "requeue": "queue"}
DECIDES = ("retry", "approve", "reject")  # that know the roles of the caller


@operation("POST", "/api/bulk", tenants=True, status=202)
def start_bulk(call: Call, body: NewBulk) -> BulkOperation:
    """Do an action to many jobs, in the background; or, with `dry_run`, count them by type.

    It is refused with 409 if far more or fewer jobs match than the operator has seen (`expected`).
    """
    known = None if body.dry_run else call.site.bulk.keyed(call.who, body.key)
    if known is not None:
        return known.operation
    bulk = _chosen(call, body)
    act = partial(_act, bulk, body.action, _arguments(call, body))
    found = act(dry_run=True)  # raises for a mistake before anything is changed
    told = _operation(call, body.action, _shown(body), found)
    if body.dry_run:
        return told
    _check_expected(body, found.matched)
    return begin(call, told, act, body.ids is None and body.action != "copy", body.key)


def _chosen(call: Call, body: NewBulk) -> Bulk:
    """Return the jobs that are meant, of those that the caller sees."""
    if bool(body.q.strip()) == (body.ids is not None):
        raise UsageError('which jobs? give a search, "q": "type:mail state:dead", or "ids": […]')
    if body.ids is None:
        return Bulk(call.app, call.search(body.q))
    ids = list(dict.fromkeys(map(normal, body.ids)))
    seen = {job.id for job in call.app.store.get_many(ids) if call.sees(job.tenant)}
    missing = [each for each in ids if each not in seen]
    if missing and (call.who.tenant is not None or any(len(each) != LENGTH for each in missing)):
        raise NotFound(f"there is no job {missing[0]!r:.60}: give whole ids")
    return Bulk(call.app, "", ids)


def _arguments(call: Call, body: NewBulk) -> dict[str, Any]:
    """Return the arguments of the action; raise for one that it does not take, and for one that is missing."""
    defaults = Arguments()
    given = {
        name: value for name in Arguments.__struct_fields__ if (value := getattr(body.arguments, name)) != getattr(defaults, name)
    }  # fmt: skip
    wrong, needed = [name for name in given if name not in TAKES[body.action]], NEEDED.get(body.action)
    if wrong:
        takes = ", ".join(TAKES[body.action]) or "no arguments"
        raise UsageError(f"{body.action} takes {takes}, not {', '.join(wrong)}")
    if needed and needed not in given:
        raise UsageError(f'{body.action} needs "arguments": {{"{needed}": …}}')
    if body.action == "amend" and not given.keys() & {"set", "remove"}:
        raise UsageError('amend needs "arguments": {"set": {"field": value}} or {"remove": ["field"]}')
    return given | ({"roles": call.who.roles} if body.action in DECIDES else {}) | {"actor": call.who.actor}


def _act(bulk: Bulk, action: str, given: dict[str, Any], **how: Any) -> Report:
    if action == "amend":
        rest = {name: value for name, value in given.items() if name != "set"}
        return bulk.amend(given.get("set", {}), **rest, **how)
    if action == "approve":
        given = {"output": PROPOSED} | given
    found: Report = getattr(bulk, action)(**given, **how)
    return found


def _shown(body: NewBulk) -> str:
    return body.q.strip() if body.ids is None else f"{len(body.ids):,} by id"


def _operation(call: Call, action: str, search: str, found: Report) -> BulkOperation:
    return BulkOperation(
        id=new_bulk().id, action=action, actor=call.who.actor, at=instant(call.app.clock.now()), search=search,
        matched=found.matched, types=dict(found.types), state=PREVIEWED,
    )  # fmt: skip


def _check_expected(body: NewBulk, matched: int) -> None:
    seen = body.expected
    if seen is not None and abs(matched - seen) > seen * SLACK + SPARE:
        raise Conflict(f"{matched:,} jobs match now, {seen:,} did when you looked: look again, then confirm")


def begin(
    call: Call, told: BulkOperation, act: Callable[..., Report], in_audit: bool = True, key: str | None = None
) -> BulkOperation:
    """Run an operation in the background. `act` takes what every action of `Bulk` takes."""
    told.state = RUNNING
    run = BulkRun(told, call.who, in_audit, key)
    return call.site.bulk.start(run, lambda progress: act(progress=progress, id=told.id))


def begin_group(call: Call, action: str, search: str, act: Callable[..., Report]) -> BulkOperation:
    """Begin an action on jobs that were chosen by other means than a request to this resource."""
    return begin(call, _operation(call, action, search, act(dry_run=True)), act)


# operations -----------------------------------------------------------------------------------------------------------
@operation("GET", "/api/bulk", tenants=True)
def list_bulk(call: Call) -> list[BulkOperation]:
    """Return the operations on many jobs, newest first: those of this server, and those that the audit trail has."""
    mine = {run.operation.id: run.operation for run in call.site.bulk.listed() if _is_mine(call, run)}
    found = {each.id: each for each in _recorded(call)} | mine
    return sorted(found.values(), key=lambda each: str(each.at), reverse=True)[:LISTED]


@operation("GET", "/api/bulk/{id}", tenants=True)
def read_bulk(call: Call, id: str) -> BulkOperation:
    """Return one operation on many jobs."""
    return _found(call, id)


@operation("POST", "/api/bulk/{id}/stop", tenants=True, status=202)
def stop_bulk(call: Call, id: str) -> BulkOperation:
    """Stop an operation of this server behind the chunk that it works on. What it has changed stays."""
    run = call.site.bulk.get(id)
    if run is None or not _is_mine(call, run) or run.ended.is_set():
        found = _found(call, id)
        raise Conflict(f"the operation {id} is {found.state}; this server does not work on it")
    run.stop()
    return run.operation


@operation("POST", "/api/bulk/{id}/resume", tenants=True, status=202)
def resume_bulk(call: Call, id: str) -> BulkOperation:
    """Go on with an operation that was stopped, from the place that it has reached; each job is changed once."""
    found = _found(call, id)
    if not found.resumable:
        raise Conflict(f"the operation {id} is {found.state}: there is nothing to resume")
    told = msgspec.structs.replace(found, state=RUNNING, error=None, resumable=False, rate=None, left=None)
    given: dict[str, Any] = {"actor": call.who.actor, "roles": call.who.roles}
    run = BulkRun(told, call.who, in_audit=True)
    return call.site.bulk.start(run, lambda progress: call.app.bulk_resume(id, progress=progress, **given))


def _found(call: Call, id: str) -> BulkOperation:
    run = call.site.bulk.get(id)
    if run is not None and _is_mine(call, run):
        return run.operation
    found = next((each for each in _recorded(call) if each.id == id), None)
    if found is None:
        raise NotFound(f"there is no operation {id!r:.60}: api/bulk lists them")
    return found


def _is_mine(call: Call, run: BulkRun) -> bool:
    return call.who.tenant is None or run.who.tenant == call.who.tenant


def _recorded(call: Call) -> list[BulkOperation]:
    """Return the operations of the audit trail that the caller sees: of a tenant, those whose search finds its jobs only."""
    every = [recorded(each) for each in call.app.bulk_operations(finished=True)]
    if call.who.tenant is None:
        return every
    own = call.search("")
    return [msgspec.structs.replace(each, search=each.search[len(own) :].strip()) for each in every if f"{each.search} ".startswith(f"{own} ")]  # fmt: skip
