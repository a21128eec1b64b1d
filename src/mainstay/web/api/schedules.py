"""Schedules: when each fires, what became of its jobs, and what operators change of it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec

from ...control import schedules as control
from ...control.fires import all_fires, next_fires
from ...control.json_records import durations
from ...control.records import Change, ScheduleRecord
from ...control.rules import checked_names, instant
from ...core import schedule as core
from ...core.draft import restored
from ...core.payload import encode
from ...core.search_terms import Term
from ..call import Call
from ..changes import Names, Reasoned, Removal, Values, told
from ..extend import extended, extends
from ..operations import Query, operation
from ..roles import ADMIN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ...core.job import Job

FIRES, MORE = 3, 10  # next ticks of each schedule in a list, and of one
PREVIEWED = 15  # schedules of a list whose next ticks are computed; others have the first one
LAST = 30  # jobs of a schedule
HISTORIES = 20  # schedules of a list whose jobs are read


class Run(msgspec.Struct, kw_only=True):
    """A job that a schedule has made: for which tick, what became of it, and how many seconds it took."""

    id: str
    tick: datetime | None
    state: str
    took: float | None


@extends(ScheduleRecord)
class SchedulePage(NamedTuple):
    """A schedule with its next ticks and its last jobs. A list has the jobs of 20 schedules; null: read that schedule alone."""

    next_fires: list[datetime]
    history: list[Run] | None


class Preview(msgspec.Struct, kw_only=True):
    """When a schedule would fire, in words and as instants."""

    words: str
    fires: list[datetime]


class Times(Query, frozen=True, kw_only=True):
    """The times of a schedule: cron or every."""

    cron: str | None = None
    every: str | None = None
    tz: str = "UTC"
    start: str | None = None
    end: str | None = None
    count: Annotated[int, msgspec.Meta(ge=1, le=50)] = 10


class NewSchedule(Reasoned, frozen=True, kw_only=True):
    """A schedule to make: its name, the type and the arguments of its jobs, and its times."""

    name: str
    type: str
    args: dict[str, Any] = msgspec.field(default_factory=dict)
    cron: str | None = None
    every: str | float | None = None
    tz: str = "UTC"
    start: str | None = None
    end: str | None = None
    limit: int | None = None
    jitter: str | float | None = None
    catch_up: str = core.LATEST
    overlap: str = core.ALLOW


class Made(msgspec.Struct, kw_only=True):
    """The job that was made."""

    id: str


@operation("GET", "/api/schedules")
def list_schedules(call: Call) -> list[SchedulePage]:
    """Return every schedule, by name."""
    found, fires = call.app.schedules(), all_fires(call.app, FIRES, PREVIEWED)
    histories = _histories(call, [each.name for each in found[:HISTORIES]])
    return [
        extended(
            SchedulePage,
            each,
            next_fires=fires.get(each.name, [each.next] if each.next else []),
            history=histories.get(each.name),
        )
        for each in found
    ]


@operation("GET", "/api/schedules/next")
def preview_schedule(call: Call, query: Times) -> Preview:
    """Return when a schedule with these times would fire, in words and as instants."""
    given = {name: getattr(query, name) for name in ("cron", "every", "tz", "start", "end")}
    values = {name: value for name, value in given.items() if value is not None}
    spec = {**core.DEFAULTS, **control.checked(values)}
    control.complete(spec)
    return Preview(words=control.words(spec), fires=next_fires(call.app, None, query.count, None, values))


@operation("GET", "/api/schedules/{name}")
def read_schedule(call: Call, name: str) -> SchedulePage:
    """Return one schedule, with its next ticks and its last jobs."""
    control.found(call.app, name)
    record = next(each for each in call.app.schedules() if each.name == name)
    fires = next_fires(call.app, name, MORE, None, {}) if record.paused is None and not record.problem else []
    return extended(SchedulePage, record, next_fires=fires, history=_histories(call, [name])[name])


def _histories(call: Call, names: Iterable[str]) -> dict[str, list[Run]]:
    """Return the last jobs of schedules, newest first."""
    store, now = call.app.store, call.app.clock.now()
    ids = {name: store.search([Term("schedule", "=", (name,))], LAST, None, now).ids for name in names}
    jobs = {job.id: job for job in store.get_many([id for some in ids.values() for id in some])}
    return {name: [_run(jobs[id], now) for id in some if id in jobs] for name, some in ids.items()}


def _run(job: Job, now: int) -> Run:
    took = durations(job, now)["took"]
    return Run(id=job.id, tick=instant(job.tick), state=job.label, took=None if took is None else took / 1000)


# change ---------------------------------------------------------------------------------------------------------------
@operation("POST", "/api/schedules", role=ADMIN, status=201)
def create_schedule(call: Call, body: NewSchedule) -> Change:
    """Make a schedule."""
    names = ("cron", "every", "tz", "start", "end", "limit", "jitter", "catch_up", "overlap")
    times = {name: getattr(body, name) for name in names if getattr(body, name) is not None}
    draft = call.app.prepare(body.type, body.args)
    return control.create(call.app, body.name, draft, times, *told(call, body))


@operation("PATCH", "/api/schedules/{name}", role=ADMIN)
def change_schedule(call: Call, name: str, body: Values) -> Change:
    """Change a schedule from now on: cron, every, tz, start, end, limit, jitter, catch_up, overlap, and args (all of them)."""
    rule = control.found(call.app, name)
    return control.reschedule(call.app, name, _values(call, rule.value, body.set), *told(call, body))


def _values(call: Call, stored: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return values of a schedule as Python takes them."""
    values = {name: value for name, value in given.items() if name != "args"}
    checked_names(values, (*(name for name in control.NAMES if name != "job"), "args"), "a schedule")
    if "args" in given:
        job = core.effective(stored)["job"]
        values["job"] = restored(job | {"payload": encode(given["args"], call.app.max_payload)})
    return values


@operation("POST", "/api/schedules/{name}/pause")
def pause_schedule(call: Call, name: str, body: Reasoned) -> Change:
    """Let no tick of a schedule fire until it is resumed."""
    return control.pause(call.app, name, *told(call, body))


@operation("POST", "/api/schedules/{name}/resume")
def resume_schedule(call: Call, name: str, body: Reasoned) -> Change:
    """Let ticks of a schedule fire from now on."""
    return control.resume(call.app, name, *told(call, body))


@operation("POST", "/api/schedules/{name}/run")
def run_schedule(call: Call, name: str) -> Made:
    """Enqueue an extra job of a schedule now."""
    return Made(id=call.app.run_schedule(name, actor=call.who.actor).id)


@operation("POST", "/api/schedules/{name}/reset", role=ADMIN)
def reset_schedule(call: Call, name: str, body: Names) -> Change:
    """Remove what operators have set on a schedule: the values of these names, or all."""
    return control.reset(call.app, name, body.names, *told(call, body))


@operation("DELETE", "/api/schedules/{name}", role=ADMIN)
def remove_schedule(call: Call, name: str, query: Removal) -> Change:
    """Remove a schedule. Its jobs stay."""
    return control.remove(call.app, name, *told(call, query))
