"""Schedules, without a store: what one may be, which ticks are due, and what a tick does. Pure.

A schedule is a rule of kind `schedule`: what code declares and what operators have set. Its `State` is a rule of kind `tick`, which
only `Store.fire` writes, and only over the state on which the decision was based (docs/decisions/0032).
"""

from __future__ import annotations

from hashlib import sha256
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from . import keys
from .clock import SECOND
from .cron import cron, zone
from .draft import Draft, restored
from .ids import encode
from .limits import set_rules
from .rules import unpack

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SKIP, LATEST, ALL = "skip", "latest", "all"  # of catch_up
ALLOW, QUEUE, CANCEL = "allow", "queue", "cancel"  # of overlap, with skip
CATCH_UP, OVERLAP = (SKIP, LATEST, ALL), (ALLOW, SKIP, QUEUE, CANCEL)
DEFAULTS: dict[str, Any] = {
    "cron": None, "every": None, "tz": "UTC", "start": None, "end": None, "limit": None, "jitter": None,
    "catch_up": LATEST, "overlap": ALLOW, "paused": None,
    "from": None, "until": None,  # when an operator last changed the times, and first since a plan was made
}  # fmt: skip
TIMING = ("cron", "every", "tz", "start", "end", "limit", "paused")  # what changes of which make a new plan
LATE = 60 * SECOND  # how late a tick may be that is not missed
MOST = 100  # ticks that one transaction fires
COUNTED = 1_000  # missed ticks that are counted at once
LAST = 253_370_764_800_000  # of a tick: with the year 9999, calendars end


class State(NamedTuple):
    """How far a schedule is."""

    plan: list[Any]  # the values of `TIMING` for which `next` holds
    since: int | None  # the `from` for which it holds
    anchor: int  # from which `every` counts, unless there is a start
    next: int | None = None  # the next tick; None: there is none
    last: int | None = None  # the newest tick that made a job
    job: str | None = None  # its job
    fired: int = 0  # ticks that made a job
    missed: int = 0  # ticks that came too late
    skipped: int = 0  # ticks whose job before was not done
    problem: str | None = None  # why the next tick could not be fired


class Firing(NamedTuple):
    """What `Store.fire` does with a schedule, if it is as it was read."""

    name: str
    value: Mapping[str, Any]  # of the schedule, as it was read
    was: Mapping[str, Any] | None  # its state, as it was read
    state: Mapping[str, Any] | None  # its state from now on; None: the state is neither looked at nor changed
    drafts: tuple[Draft, ...] = ()
    due: int = 0  # not before this instant by the engine's clock
    cancel: str | None = None  # a job to be cancelled
    actor: str = ""  # who asked for it: gets a line in the audit trail


class Fired(NamedTuple):
    """What came of it: `fired`, `changed` (by others) or `early`; and what the store has now. `value` None: no such schedule."""

    verdict: str
    value: Mapping[str, Any] | None
    state: Mapping[str, Any] | None
    jobs: tuple[tuple[str, bool], ...] = ()  # ids, and whether each is new


def effective(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a schedule that hold: what operators have set, else what code declares, else the default."""
    return {**DEFAULTS, **value.get("declared", {}), **value.get("set", {})}


def state_of(value: Mapping[str, Any] | None) -> State | None:
    """Return the state in a stored value; a newer version may have stored more in it."""
    if value is None:
        return None
    return State(**{name: value[name] for name in State._fields if name in value})


# ticks ----------------------------------------------------------------------------------------------------------------
def ticks(spec: Mapping[str, Any], anchor: int, instant: int) -> Iterator[int]:
    """Yield the ticks of a schedule after an instant, up to its end."""
    start, every, end = spec["start"], spec["every"], LAST if spec["end"] is None else min(spec["end"], LAST)
    since = instant if start is None else max(instant, start - 1)
    if since >= end:  # a start behind the last year that there is
        return
    if every is not None:
        found = _every(anchor if start is None else start, every, since)
    else:
        found = cron(spec["cron"]).after(since, zone(spec["tz"]))
    for tick in found:
        if tick > end:
            return
        yield tick


def _every(anchor: int, every: int, since: int) -> Iterator[int]:
    tick = anchor + ((since - anchor) // every + 1) * every
    while True:
        yield tick
        tick += every


def newest(spec: Mapping[str, Any], anchor: int, since: int, until: int) -> int | None:
    """Return the last tick after `since` and up to `until`. It looks at few ticks, however many there are."""
    window = 60 * SECOND
    while True:
        start, found = max(since, until - window), None
        for tick in ticks(spec, anchor, start):
            if tick > until:
                break
            found = tick
        if found is not None or start == since:
            return found
        window *= 8


# plans ----------------------------------------------------------------------------------------------------------------
def timing(spec: Mapping[str, Any]) -> list[Any]:
    """Return the values on which the next tick depends."""
    return [spec[name] for name in TIMING]


def planned(spec: Mapping[str, Any], state: State | None, now: int) -> State:
    """Return the state with the next tick of a schedule that is new or was changed.

    Ticks count from when an operator has changed it, else from now on: those of a pause are not missed. None comes twice.
    """
    asked = spec["from"]
    since = asked if asked is not None and (state is None or state.since != asked) else now
    state = state or State([], None, since)
    after = since if state.last is None else max(since, state.last)
    return _moved(spec, state._replace(plan=timing(spec), since=asked, problem=None), after)


def _old(spec: Mapping[str, Any], state: State, now: int) -> tuple[Mapping[str, Any], int]:
    """Return the values by which the plan of a changed schedule was made, and until when they held."""
    values = {**spec, **dict(zip(TIMING, state.plan, strict=False))}
    if spec["from"] is None or spec["from"] == state.since:  # a deploy has changed it
        return values, now
    first = spec["until"]
    return values, min(now, first if first is not None and first > (state.since or 0) else spec["from"])


def _moved(spec: Mapping[str, Any], state: State, after: int) -> State:
    """Return the state with the first tick after an instant."""
    over = spec["paused"] is not None or (spec["limit"] is not None and state.fired >= spec["limit"])
    return state._replace(next=None if over else next(ticks(spec, state.anchor, after), None))


def decide(
    name: str, value: Mapping[str, Any], was: Mapping[str, Any] | None, now: int, alive: bool = False
) -> Firing | None:
    """Return what to do with a schedule now; None: nothing is due. `alive`: the job of its last tick has not ended.

    A schedule that was changed fires the ticks that had come before, unless it is paused now; then it is planned anew.
    """
    spec, state = effective(value), state_of(was)
    if state is None or _outdated(spec, state):
        old, until = (spec, 0) if state is None else _old(spec, state, now)
        if state is None or state.next is None or state.next > until or state.problem or spec["paused"] is not None:
            return Firing(name, value, was, planned(spec, state, now)._asdict())
        return _firing(Firing(name, value, was, None), old, state, state.next, (until, now), alive)
    if state.next is None or state.next > now:
        return None
    return _firing(Firing(name, value, was, None), spec, state, state.next, (now, now), alive)


def _firing(
    firing: Firing, spec: Mapping[str, Any], state: State, first: int, until: tuple[int, int], alive: bool
) -> Firing:  # fmt: skip
    """Return the firing of the ticks from the first on, up to an instant; the second one is the present."""
    chosen, missed, after = _due(spec, state, first, *until)
    skipped = len(chosen) if alive and spec["overlap"] == SKIP else 0
    before = state.job if alive else None
    made = tuple(_draft(firing.name, tick, spec, before) for tick in chosen[skipped:])
    state = state._replace(missed=state.missed + missed, skipped=state.skipped + skipped, problem=None)
    if made:
        state = state._replace(fired=state.fired + len(made), last=chosen[-1], job=made[-1].id)
    cancel = before if made and spec["overlap"] == CANCEL else None
    moved = _moved(spec, state, after)._asdict()
    return firing._replace(state=moved, drafts=made, due=max(chosen, default=0), cancel=cancel)


def _due(
    spec: Mapping[str, Any], state: State, first: int, until: int, now: int
) -> tuple[list[int], int, int]:  # fmt: skip
    """Return the ticks up to an instant that get a job, how many are missed, and the last tick that is done with."""
    left = MOST if spec["limit"] is None else spec["limit"] - state.fired
    if spec["catch_up"] == ALL:
        most = min(left, MOST if spec["overlap"] == ALLOW else 1)
        found = [tick for tick in islice(ticks(spec, state.anchor, first - 1), most) if tick <= until]
        return found, 0, max(found, default=first)
    last = newest(spec, state.anchor, first - 1, until) or first
    before = takewhile(lambda tick: tick < last, ticks(spec, state.anchor, first - 1))
    missed = sum(1 for _ in islice(before, COUNTED))
    if spec["catch_up"] == SKIP and now - last > LATE:
        return [], missed + 1, last
    return [last], missed, last


def due_at(value: Mapping[str, Any], was: Mapping[str, Any] | None) -> int | None:
    """Return when something is to be done with a schedule: 0 for one that has no plan yet; None: never."""
    spec, state = effective(value), state_of(was)
    return 0 if state is None or _outdated(spec, state) else state.next


def _outdated(spec: Mapping[str, Any], state: State) -> bool:
    return state.plan != timing(spec) or state.since != spec["from"]


# jobs -----------------------------------------------------------------------------------------------------------------
def tick_id(name: str, tick: int) -> str:
    """Return the id of the job of a tick: always the same."""
    digest = sha256(f"{name}\n{tick}".encode()).digest()
    return encode(tick, 10) + encode(int.from_bytes(digest[:10], "big"), 16)


def jitter(name: str, tick: int, most: int | None) -> int:
    """Return by how much the job of a tick is delayed: less than `most`, and always the same."""
    return int.from_bytes(sha256(f"{name}\n{tick}\njitter".encode()).digest()[:8], "big") % most if most else 0


def _draft(name: str, tick: int, spec: Mapping[str, Any], before: str | None) -> Draft:
    """Return the job of a tick. `before`: the job of the last tick, which has not ended."""
    draft = drafted(name, tick, spec)
    draft.id = tick_id(name, tick)
    if spec["jitter"]:
        draft.run_at = tick + jitter(name, tick, spec["jitter"])
    if before is not None and spec["overlap"] == QUEUE:
        draft.after = (before,)
        set_rules(draft, {**unpack(draft.rules), "after": "run", "parents": [before]})
    return draft


def drafted(name: str, tick: int, spec: Mapping[str, Any]) -> Draft:
    """Return a job of a schedule, for an instant."""
    draft = restored(spec["job"] | {"schedule": name, "tick": tick})
    if draft.key is not None and (draft.lock_until or 0) > 0:  # unique in the period of its tick
        period = int((draft.lock or "").rpartition("/")[2])
        keys.take(draft, draft.key, "alive", period / 1000, tick)
    return draft


def packed(draft: Draft) -> dict[str, Any]:
    """Return a prepared job as a schedule keeps it: what differs from the defaults, and its type and payload."""
    usual, values = Draft("", "").values(), draft.values()
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
        if name in ("type", "payload") or value != usual[name]
    }
