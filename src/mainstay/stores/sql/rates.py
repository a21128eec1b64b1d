"""Meters of rates: pushes, and meters that are further ahead than their rates can be.

A clock that was set back, by a day say, must not stop a rate for a day. What a meter says is believed as far as the rate and the last push
can have brought it; beyond that it is set right where it is read, and so are the jobs that wait for the time that it told.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ...core import rules
from ...core.admission import FARTHEST, MICROS, believed, carried, permitted
from ...core.limits import effective
from ..operations import together

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..operations import Operations
    from .dialect import Dialect

METER = {"name": "text", "value": "bigint"}
# Before a slot: the meter that a push has set, and for how many milliseconds.
PUSHED, DELAY = "pushed\n", "pushed for\n"
HEADS = 500  # jobs that one chore looks at
RATES = "%\n%\nrate"  # the slots of rates, for LIKE


def believe(
    dialect: Dialect, now: int, limits: Mapping[str, Mapping[str, Any]], meters: dict[str, int]
) -> Operations[None]:  # fmt: skip
    """Set meters right, here and in the store, that are further ahead than their rates can be: nearly always none."""
    far = {
        slot: rate for slot, tat in meters.items() if (rate := _rate(slot, limits)) and tat > believed(tat, now, *rate)
    }
    if not far:
        return
    names = [kind + slot for slot in far for kind in (PUSHED, DELAY)]
    pushes = dict((yield dialect.statement("meters", names=names)).rows)
    changed: dict[str, int] = {}
    for slot, rate in far.items():
        tat, push = meters[slot], (pushes.get(PUSHED + slot, 0), pushes.get(DELAY + slot, 0))
        meter = believed(tat, now, *rate, push)
        if meter < tat:
            changed |= {slot: meter} | ({PUSHED + slot: meter} if tat == push[0] else {})
    meters.update({slot: changed[slot] for slot in far if slot in changed})
    yield from together(*dialect.upsert("meter", METER, list(changed.items())))


def _rate(slot: str, limits: Mapping[str, Mapping[str, Any]]) -> tuple[int, int] | None:
    """Return how many microseconds are between two starts of a slot's rate, and its burst; None if it has no rate."""
    limit = limits.get(rules.limit_of(slot)[0], {}) if rules.is_rate(slot) else {}
    return (limit["every"], limit.get("burst") or 1) if limit.get("every") else None


# pushes ---------------------------------------------------------------------------------------------------------------
def push(dialect: Dialect, slots: list[str], now: int | None, delay: int) -> Operations[None]:
    """Set the meters of rates forward, by the burst and so many milliseconds."""
    (instant,) = (yield dialect.statement("admit_lock", now=now)).rows[0]
    names = sorted({rules.limit_of(slot)[0] for slot in slots})
    found = yield from together(
        dialect.statement("admit_limits", names=names), dialect.statement("meters", names=slots)
    )
    limits, meters = {name: effective(json.loads(value)) for name, value in found[0].rows}, dict(found[1].rows)
    yield from believe(dialect, instant, limits, meters)
    changed: dict[str, int] = {}
    for slot in slots:
        every, burst = _rate(slot, limits) or (0, 1)
        until = min((instant + delay) * MICROS + (burst - 1) * every, FARTHEST)
        if until > meters.get(slot, 0):
            changed |= {slot: until, PUSHED + slot: until, DELAY + slot: delay}
    yield from together(*dialect.upsert("meter", METER, list(changed.items())))


# the chore ------------------------------------------------------------------------------------------------------------
def mend_heads(dialect: Dialect, now: int, after: tuple[str, int]) -> Operations[tuple[str, int]]:
    """Mark jobs that wait for a time which is later than their rates want it; return where to go on."""
    found = (yield dialect.statement("rate_holders", slot=after[0], job=after[1], rates=RATES, limit=HEADS)).rows
    heads = {seq: (run_at, carried(text)) for _, seq, run_at, text in found if run_at is not None}
    if heads:
        late = yield from _late(dialect, now, heads)
        if late:
            yield dialect.statement("rate_again", seqs=late)
    return found[-1][:2] if len(found) == HEADS else ("", 0)


def _late(dialect: Dialect, now: int, heads: Mapping[int, tuple[int, Any]]) -> Operations[list[int]]:
    """Return the jobs whose time is later than the one that all their rates permit now."""
    from .admission import limits_of

    given = [each for _, each in heads.values()]
    slots = sorted({slot for each in given for slot in each.rates})
    found = yield from together(
        dialect.statement("admit_limits", names=sorted({rules.limit_of(slot)[0] for slot in slots})),
        dialect.statement("meters", names=slots),
    )
    limits, meters = limits_of(given, found[0].rows), dict(found[1].rows)
    yield from believe(dialect, now, limits, meters)
    starts = {slot: permitted(meters.get(slot, 0), now, *rate) for slot in slots if (rate := _rate(slot, limits))}
    return [
        seq
        for seq, (run_at, each) in heads.items()
        if run_at > max([now + 1, *(starts.get(slot, 0) for slot in each.rates)])
    ]
