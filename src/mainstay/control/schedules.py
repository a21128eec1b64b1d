"""Schedules as applications and operators see them: declared in code, made and changed at run time."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from ..core import schedule as core
from ..core.clock import SECOND, human, span
from ..core.cron import cron, zone
from ..core.draft import Draft
from ..core.errors import Conflict, NotFound, UsageError
from ..core.job import Rule, RuleChanged
from ..core.payload import clean, readable
from ..core.rules import SCHEDULE, TICK
from ..core.suggest import did_you_mean
from ..options import instant as milliseconds_of
from .declared import declared_schedules
from .records import Change, ScheduleRecord
from .rules import REASON, TRIES, check_type, checked_names, drift, edit, instant, overrides, rules_by_name, without

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..core.job import Job
    from ..flow import Flow

NAMES = ("cron", "every", "tz", "start", "end", "limit", "jitter", "catch_up", "overlap", "job")
INSTANTS, DURATIONS = ("start", "end"), ("every", "jitter")
ONE = "give cron= or every=, one of them: cron='0 4 * * *' or every='15m'"


# what a schedule may be -----------------------------------------------------------------------------------------------
def checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return values of a schedule as they are stored; raise for one that cannot be."""
    checked_names(given, NAMES, "a schedule")
    if given.get("cron") is not None and given.get("every") is not None:
        raise UsageError(f"cron={given['cron']!r} and every={given['every']!r}: {ONE}")
    found = {name: CHECKS[name](name, value) for name, value in given.items()}
    if found.get("cron") is not None or found.get("every") is not None:  # one replaces the other
        found = {"cron": None, "every": None} | found
    return found


def complete(spec: Mapping[str, Any]) -> None:
    """Raise for values that do not fit together."""
    if (spec["cron"] is None) == (spec["every"] is None):
        raise UsageError(f"a schedule needs its times: {ONE}")
    if spec["start"] is not None and spec["end"] is not None and spec["end"] < spec["start"]:
        raise UsageError("end= is before start=: give an end after the start, or leave one of them out")


def _cron(_name: str, value: Any) -> str | None:
    return None if value is None else cron(value).text


def _tz(_name: str, value: Any) -> str:
    zone(value)
    return str(value)


def _instant(name: str, value: Any) -> int | None:
    return None if value is None else milliseconds_of(name, value)


def _duration(name: str, value: Any) -> int | None:
    found = None if value is None else span(name, value)
    if name == "every" and found is not None and found < SECOND:
        raise UsageError(f"every={value!r}: give one second or more, such as every='15m'")
    return found or None


def _limit(name: str, value: Any) -> int | None:
    if value is not None and (type(value) is not int or value < 1):
        raise UsageError(f"{name}={value!r}: how many ticks fire in all, a whole number from 1 on, or None")
    return value


def _one_of(known: tuple[str, ...]) -> Callable[[str, Any], str]:
    def check(name: str, value: Any) -> str:
        if value not in known:
            raise UsageError(f"{name}={value!r:.60}{did_you_mean(str(value), known)}: one of {', '.join(known)}")
        return str(value)

    return check


def _job(_name: str, value: Any) -> dict[str, Any]:
    if type(value) is not Draft:
        raise UsageError(f"{value!r:.60} is not a prepared job: give f.prepare(…), or the name of a type")
    for name in ("run_at", "start_by"):
        if getattr(value, name) is not None:
            asked = {"run_at": "delay= or at=", "start_by": "start_by="}[name]
            raise UsageError(f"a schedule says when its jobs run: prepare the job without {asked}")
    if value.after:
        raise UsageError(
            "a schedule's job waits for no other: prepare it without after=; overlap='queue' keeps runs apart"
        )
    return core.packed(value.again())


CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "cron": _cron, "every": _duration, "tz": _tz, "start": _instant, "end": _instant, "limit": _limit,
    "jitter": _duration, "catch_up": _one_of(core.CATCH_UP), "overlap": _one_of(core.OVERLAP), "job": _job,
}  # fmt: skip


def checked_schedule(name: Any) -> str:
    """Return the name of a schedule if it needs no quotes in a URL, a shell or a search; else raise."""
    allowed = isinstance(name, str) and 0 < len(name) <= 200 and all(c.isalnum() or c in "._-" for c in name)
    if not allowed or name.startswith(("-", ".")):
        raise UsageError(f"schedule name {name!r:.60}: use letters, digits, '.', '_' and '-', up to 200")
    return str(name)


def declared(name: str, draft: Draft, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what code declares of a schedule: the values that it has given."""
    checked_schedule(name)
    usual = core.DEFAULTS
    spec = checked({each: value for each, value in given.items() if value != usual.get(each, ...)} | {"job": draft})
    complete({**usual, **spec})
    return {each: value for each, value in spec.items() if each not in usual or value != usual[each]}


# what is there --------------------------------------------------------------------------------------------------------
def schedules(app: Flow) -> list[ScheduleRecord]:
    """Return every schedule, by name."""
    rules = app.store.rules([SCHEDULE, TICK])
    states = {rule.name: rule.value for rule in rules if rule.kind == TICK}
    last = [state["job"] for state in states.values() if state.get("job")]
    jobs = {job.id: job for job in app.store.get_many(last)}
    return [_record(app, rule, states.get(rule.name), jobs) for rule in rules if rule.kind == SCHEDULE]


def _record(app: Flow, rule: Rule, was: Mapping[str, Any] | None, jobs: Mapping[str, Job]) -> ScheduleRecord:
    spec, state = core.effective(rule.value), core.state_of(was)
    code, found = shown(rule.value.get("declared", {})), overrides(rule, shown)
    job = jobs.get(state.job) if state and state.job else None
    upcoming = _next(rule.value, was, app.clock.now())
    return ScheduleRecord(
        rule.name, spec["job"]["type"], readable(spec["job"]["payload"]), spec["cron"], _span(spec["every"]), words(spec), spec["tz"],
        instant(spec["start"]), instant(spec["end"]), spec["limit"], _span(spec["jitter"]), spec["catch_up"], spec["overlap"],
        found.get("paused"), instant(upcoming), instant(state.last if state else None),
        state.job if state else None, job.label if job else None, *((state.fired, state.missed, state.skipped) if state else (0, 0, 0)),
        state.problem if state else None, code, found, tuple(each for each in drift(code, found) if code),
        rule.name in app.declared_schedules if code and app.registry else None,
    )  # fmt: skip


def _next(value: Mapping[str, Any], was: Mapping[str, Any] | None, now: int) -> int | None:
    """Return the next tick; of a schedule that no worker has planned yet, what it will be."""
    try:
        at = core.due_at(value, was)
        return core.planned(core.effective(value), core.state_of(was), now).next if at == 0 else at
    except UsageError:  # the zone or the expression is not known here
        return None


def _span(ms: int | None) -> timedelta | None:
    return None if ms is None else timedelta(milliseconds=ms)


def words(spec: Mapping[str, Any]) -> str:
    """Return the times of a schedule in English; of one that this version cannot read, as they are stored."""
    if spec["every"] is not None:
        return f"Every {human(spec['every'])}".replace(" 00m", "").replace(" 00s", "").replace(" 00h", "")
    try:
        return cron(spec["cron"]).words
    except UsageError:
        return str(spec["cron"])


def shown(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return stored values of a schedule in the form that people use."""
    made: dict[str, Any] = {}
    for name, value in values.items():
        if name == "job":
            made |= {"type": value["type"], "args": readable(value["payload"])}
            made |= {
                each: given
                for each, given in value.items()
                if each in ("queue", "priority", "tenant", "ref", "tags", "key")
            }
        elif name not in ("from", "until") and not (value is None and core.DEFAULTS.get(name) is None):
            made[name] = instant(value) if name in INSTANTS else _span(value) if name in DURATIONS else value
    return made


def found(app: Flow, name: str) -> Rule:
    """Return the rule of a schedule, or raise with the name that was meant."""
    rules = rules_by_name(app, SCHEDULE)
    if name not in rules:
        unwritten = (
            "; it is declared in code: app.sync_schedules() or a worker's start writes it"
            if name in app.declared_schedules
            else ""
        )
        raise NotFound(
            f"there is no schedule {name!r:.60}{did_you_mean(str(name), rules)}{unwritten}; app.schedules() lists them"
        )
    return rules[name]


def state(app: Flow, name: str) -> core.State | None:
    """Return how far a schedule is."""
    rule = rules_by_name(app, TICK).get(name)
    return core.state_of(rule.value if rule is not None else None)


# changes --------------------------------------------------------------------------------------------------------------
def _now(app: Flow) -> int:
    """Return the instant by the engine's clock, which decides about ticks."""
    return app.store.schedules_version(app.clock.now())[1]


def create(
    app: Flow, name: str, draft: Draft, given: Mapping[str, Any], reason: str, actor: str, dry_run: bool
) -> Change:
    """Make a schedule at run time."""
    spec = declared(name, draft, given)
    if draft.undeclared is not None:
        check_type(app, draft.type)
    _check_payload(app, draft)
    if name in rules_by_name(app, SCHEDULE) or name in app.declared_schedules:
        raise Conflict(
            f"there is a schedule {name!r} already: change that one (app.reschedule), or choose another name",
            f"mainstay schedules set {name} …",
        )

    def made(before: Mapping[str, Any]) -> dict[str, Any]:
        if before:
            raise Conflict(f"somebody else has just made a schedule {name!r}: choose another name")
        return spec | {"from": _now(app)}

    return edit(app, SCHEDULE, name, made, reason, actor, dry_run, shown)


def _check_payload(app: Flow, draft: Draft) -> None:
    """Raise for a payload that its type does not take: by the code if that is here, else by what a worker has registered."""
    from .edits import check_payload

    known = app.registry.get(draft.type)
    info = next((each for each in app.store.types() if each.name == draft.type), None)
    if known is not None:
        known.arguments(draft.payload, draft.version)
    elif info is not None:
        newest = info.policy.get("version", 1)
        check_payload(info, draft.payload, draft.version if draft.undeclared is None else newest)


def reschedule(app: Flow, name: str, given: Mapping[str, Any], reason: str, actor: str, dry_run: bool) -> Change:
    """Change values of a schedule, over what code declares."""
    if not given:
        raise UsageError(f"reschedule needs a value: {', '.join(NAMES)}")
    stored = checked(given)
    if "job" in given:
        _check_payload(app, given["job"])
    return _edited(app, name, lambda before: {**before, **stored}, reason, actor, dry_run)


def reset(app: Flow, name: str, names: Sequence[str], reason: str, actor: str, dry_run: bool) -> Change:
    """Remove what operators have set on a schedule that code declares."""
    checked_names(names, (*NAMES, "paused"), "a schedule")
    if not found(app, name).value.get("declared"):
        raise Conflict(f"the schedule {name!r} was made at run time: no code declares values to go back to")
    gone = {*(names or (*NAMES, "paused"))}
    gone |= {"cron", "every"} if gone & {"cron", "every"} else set()
    return _edited(app, name, without(gone), reason, actor, dry_run)


def pause(app: Flow, name: str, reason: str, actor: str, dry_run: bool) -> Change:
    """Let no tick of a schedule fire until it is resumed."""
    return _edited(app, name, lambda before: {**before, "paused": clean(reason, REASON)}, reason, actor, dry_run)


def resume(app: Flow, name: str, reason: str, actor: str, dry_run: bool) -> Change:
    """Let ticks of a schedule fire from now on."""
    return _edited(app, name, without({"paused"}), reason, actor, dry_run)


def _edited(
    app: Flow, name: str, changed: Callable[[Mapping[str, Any]], dict[str, Any]], reason: str, actor: str, dry_run: bool
) -> Change:  # fmt: skip
    """Change what is set on a schedule that exists. If its times change, its ticks count from now on."""

    def edited(before: Mapping[str, Any]) -> dict[str, Any]:
        code, after = found(app, name).value.get("declared", {}), changed(before)  # each time: others may remove it
        specs = [core.effective({"declared": code, "set": each}) for each in (before, after)]
        complete(specs[1])
        if core.timing(specs[0]) == core.timing(specs[1]):
            return after
        now, reached = _now(app), state(app, name)
        seen = reached is None or reached.since == before.get("from")  # by a worker, which has planned by it
        return after | {"from": now, "until": now if seen else before.get("until", before.get("from"))}

    return edit(app, SCHEDULE, name, edited, reason, actor, dry_run, shown)


def remove(app: Flow, name: str, reason: str, actor: str, dry_run: bool) -> Change:
    """Remove a schedule. Its jobs stay."""
    gone = Rule(SCHEDULE, name, {}, actor, app.clock.now(), clean(reason, REASON))
    for _ in range(TRIES):
        rule = found(app, name)
        if name in app.declared_schedules:
            raise Conflict(
                f"the schedule {name!r} is declared in code, which would bring it back: remove it there first, or pause it",
                f"mainstay schedules pause {name}",
            )
        with suppress(RuleChanged):
            if not dry_run:
                app.store.set_rule(gone, remove=True, was=(rule,))
            return Change(SCHEDULE, name, shown(core.effective(rule.value)), None)
    raise _restless(name)


def _restless(name: str) -> Conflict:
    return Conflict(f"others change the schedule {name} all the time: nothing was done; repeat it when they are done")


def run(app: Flow, name: str, actor: str) -> tuple[Draft, tuple[str, bool]]:
    """Enqueue an extra job of a schedule, for this instant."""
    for _ in range(TRIES):
        rule, now = found(app, name), app.clock.now()
        draft = core.drafted(name, _now(app), core.effective(rule.value))
        (fired,) = app.store.fire([core.Firing(name, rule.value, None, None, (draft,), actor=actor)], now)
        if fired.verdict == "fired":
            return draft, fired.jobs[0]
    raise _restless(name)


def sync(app: Flow) -> None:
    """Write what this program declares."""
    rules = declared_schedules(app, app.clock.now())
    if rules:
        app.store.declare_rules(rules)
