"""The next ticks of schedules: of one, of one that is not made yet, and of all."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from ..core import schedule as core
from ..core.errors import UsageError
from ..core.rules import SCHEDULE, TICK
from ..options import instant as milliseconds_of
from .rules import EPOCH, instant
from .schedules import checked, complete, found, state

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from ..flow import Flow

PREVIEW = 1_000  # ticks that a preview shows at most


def next_fires(app: Flow, name: str | None, count: int, after: Any, given: Mapping[str, Any]) -> list[datetime]:
    """Return the next ticks of a schedule, or of one with these values."""
    if (name is None) == (not given):
        raise UsageError("next_fires: give the name of a schedule, or cron= or every= and more")
    if type(count) is not int or not 1 <= count <= PREVIEW:
        raise UsageError(f"count={count!r}: from 1 to {PREVIEW:,}")
    since = app.clock.now() if after is None else milliseconds_of("after", after)
    if name is not None:
        return _fires(core.effective(found(app, name).value), state(app, name), since, count)
    spec = {**core.DEFAULTS, **checked({each: value for each, value in given.items() if value is not None})}
    complete(spec)
    return _fires({**spec, "limit": None}, None, since, count)


def all_fires(app: Flow, count: int, most: int) -> dict[str, list[datetime]]:
    """Return the next ticks of the first schedules, `most` at most, by name. One that is paused or cannot fire has none."""
    rules = app.store.rules([SCHEDULE, TICK])
    states = {rule.name: core.state_of(rule.value) for rule in rules if rule.kind == TICK}
    specs = {rule.name: core.effective(rule.value) for rule in rules if rule.kind == SCHEDULE}
    now = app.clock.now()
    return {name: _possible(spec, states.get(name), now, count) for name, spec in islice(specs.items(), most)}


def _possible(spec: Mapping[str, Any], reached: core.State | None, now: int, count: int) -> list[datetime]:
    if spec["paused"] is not None or (reached is not None and reached.problem):
        return []
    try:
        return _fires(spec, reached, now, count)
    except UsageError:  # the zone or the expression is not known here
        return []


def _fires(spec: Mapping[str, Any], reached: core.State | None, since: int, count: int) -> list[datetime]:
    """Return the ticks after an instant, and after the last one that fired."""
    anchor = reached.anchor if reached else since
    left = count if spec["limit"] is None else spec["limit"] - (reached.fired if reached else 0)
    ticks = core.ticks(spec, anchor, max(since, reached.last or 0) if reached else since)
    return [instant(tick) or EPOCH for tick in islice(ticks, max(0, min(count, left)))]
