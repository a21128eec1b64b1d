"""Rules as data: pauses, what operators set on types, queues and limits, breakers; and the chores that keep admission right."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

from ...core.admission import carried
from ...core.clock import iso
from ...core.depth import depth_meter
from ...core.errors import StoreBusy, refuse_nul
from ...core.job import Rule, SlotInfo, change_of, check_unchanged
from ...core.rules import PAUSED, QUIET, SCHEDULE, TICK, UNHEARD
from ...core.states import CANCELLED
from ..operations import together
from .actions import AUDIT, end_jobs, examine_marked
from .admission import HOLD, examine, give_back, limits_of
from .breaker import free_breakers, put_rule, rule_of
from .rates import mend_heads, push
from .store import rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..operations import Operations
    from .dialect import Dialect
    from .store import SqlStore

CHUNK = 500  # jobs that one step changes
LINES = 1_000  # lines that one step looks at
SLOTS = 100  # slots of a lowered limit that one step looks at
HIGHEST = 1_001  # above every priority
FIRST = "0"  # sorts before every name, and behind the marks of jobs to be examined
LAST = "\U0010ffff"  # sorts behind every name
NEXT = "\x01"  # behind a name: sorts before every name that comes after it
_PARTS = {"after": "0", "before": "|"}, {"after": "}", "before": LAST}  # between them are lines that are no slots


def set_rule(
    store: SqlStore, rule: Rule, remove: bool = False, was: tuple[Rule | None] | None = None
) -> Rule | None:  # fmt: skip
    """Set or remove a rule and return the one before; what it lets pass is examined, what it holds back is blocked."""
    refuse_nul(name=rule.name, actor=rule.actor, reason=rule.reason)
    before = store.write(lambda: _set(store.dialect, rule, remove, was))
    react(store, rule, remove)
    if rule.kind not in UNHEARD:
        store.notify()
    return before


def react(store: SqlStore, rule: Rule, removed: bool = False) -> None:
    """Block what a changed rule holds back, and examine what it lets pass, in short transactions."""
    if rule.kind in QUIET:
        return None
    if rule.kind in ("limit", "queue"):
        return _react_to_limit(store, rule, removed)
    changed, freed = CHUNK, set()
    while changed >= CHUNK:
        changed, slots = store.write(lambda: _react(store.dialect, rule, removed))
        freed |= slots
    examine_marked(store, rule.at, freed)
    return None


def _react_to_limit(store: SqlStore, rule: Rule, removed: bool) -> None:
    """Block holders that a lowered limit leaves no place for, then examine its lines: some slots and lines in each step."""
    name = rule.name if rule.kind == "limit" else f"queue:{rule.name}"
    place: str | None = f"{name}\n"
    while place is not None:
        place, freed = store.write(partial(_lowered, store.dialect, rule, name, place, removed))
        examine_marked(store, rule.at, freed)
    place = f"{name}\n"
    while place is not None:
        lines = [line for (line,) in store.read(rows(store, "lines", after=place, before=f"{name}\v", limit=LINES))]
        examine_marked(store, rule.at, lines)
        place = lines[-1] + NEXT if len(lines) == LINES else None


def _set(
    dialect: Dialect, rule: Rule, remove: bool, was: tuple[Rule | None] | None
) -> Operations[Rule | None]:  # fmt: skip
    yield dialect.statement("admit_lock", now=rule.at)
    found = (yield dialect.statement("rules_named", kind=rule.kind, names=[rule.name])).rows
    before = rule_of(found[0]) if found else None
    check_unchanged(before, was)
    if rule.kind == "breaker" and before and not (yield from free_breakers(dialect, [rule.name])):
        raise StoreBusy(  # all that examine jobs would wait with this one
            f"an open transaction of yours has completed a job of {rule.name} (ctx.complete_in) and holds its breaker: nothing was changed; "
            "repeat it when that transaction has ended"
        )
    if remove:
        yield dialect.statement("rule_remove", kind=rule.kind, name=rule.name)
    else:
        yield put_rule(dialect, rule)
    if rule.kind == SCHEDULE:
        yield from _changed_schedule(dialect, [rule.name] if remove else [])
    if rule.kind == "queue":  # what was counted under another bound is out of date
        yield dialect.statement("meters_remove", names=[depth_meter(rule.name), depth_meter(rule.name, "counted")])
    yield from audited(dialect, rule, before, remove)
    return before


def audited(dialect: Dialect, rule: Rule, before: Rule | None, remove: bool = False) -> Operations[None]:
    """Add the line of a changed rule to the audit trail, unless the code itself has changed it."""
    if rule.actor:
        line = (rule.at, rule.actor, "rule", None, json.dumps(change_of(rule, before, remove)), None)
        yield from together(*dialect.insert("action", AUDIT, [line]))


def _changed_schedule(dialect: Dialect, removed: Sequence[str] = ()) -> Operations[None]:
    """Let workers know that schedules have changed; the state of one that is removed goes with it."""
    yield from together(
        dialect.statement("schedules_changed"),
        *(dialect.statement("rule_remove", kind=TICK, name=name) for name in removed),
    )


def _react(dialect: Dialect, rule: Rule, removed: bool) -> Operations[tuple[int, set[str]]]:
    """Mark or block up to `CHUNK` jobs to which a changed rule matters; return how many, and the slots that may have room.

    Under the lock of admission, so that no claim takes these jobs meanwhile.
    """
    yield dialect.statement("admit_lock", now=rule.at)
    if rule.kind == "pause" and removed:
        return (yield dialect.statement("admit_resume", waits=PAUSED + rule.name, limit=CHUNK)).count, set()
    if rule.kind == "pause":
        return (yield from _block_paused(dialect, rule.name))
    return 0, set()


def _block_paused(dialect: Dialect, name: str) -> Operations[tuple[int, set[str]]]:
    """Block queued jobs with rules of a paused lane: they give the slots back that they share with others."""
    kind, _, which = name.partition(":")
    bound = {"queue": which if kind == "queue" else None, "type": which if kind == "type" else None}
    found = (yield dialect.statement("pause_holders", **bound, limit=CHUNK)).rows
    freed = yield from give_back(dialect, found)
    if found:
        yield dialect.statement("pause_block", waits=PAUSED + name, seqs=[seq for seq, _ in found])
    return len(found), freed


def _lowered(
    dialect: Dialect, rule: Rule, name: str, after: str, removed: bool
) -> Operations[tuple[str | None, set[str]]]:
    """Block queued holders again that are more than a lowered limit permits, the lowest priority first.

    Of some slots from `after` on; return where to go on, if anywhere, and the slots that may have room now.
    """
    yield dialect.statement("admit_lock", now=rule.at)
    freed: set[str] = set()
    stored = [] if removed else [(name, json.dumps(rule.value))]
    over = (
        yield dialect.statement("holders_of", after=after, before=f"{name}\v", rates="%\n%\nrate", limit=SLOTS)
    ).rows
    for slot, holders in over:
        limits = limits_of([], stored)
        if "running" not in limits.get(name, {}):  # only the jobs tell
            first = (yield dialect.statement("admit_lowest", slots=[slot], priority=HIGHEST, limit=1)).rows
            limits = limits_of([carried(row[6]) for row in first], stored)
        running = limits.get(name, {}).get("running")
        if running is None or holders <= running:
            continue
        bound = {"slots": [slot], "priority": HIGHEST, "limit": holders - running}
        chosen = [(row[1], row[6]) for row in (yield dialect.statement("admit_lowest", **bound)).rows]
        freed |= (yield from give_back(dialect, chosen)) - {slot}
        yield dialect.statement("pause_block", waits=slot, seqs=[seq for seq, _ in chosen])
    return (over[-1][0] + NEXT if len(over) == SLOTS else None), freed


def declare_rules(store: SqlStore, rules: Sequence[Rule]) -> None:
    """Record what code declares; what operators have set stays."""
    if rules:
        for rule in store.write(lambda: _declare(store.dialect, rules)):
            react(store, rule)


def _declare(dialect: Dialect, rules: Sequence[Rule]) -> Operations[list[Rule]]:
    yield dialect.statement("admit_lock", now=rules[0].at)
    kinds = sorted({rule.kind for rule in rules})
    read = [[rule.name for rule in rules if rule.kind == kind] for kind in kinds]
    found = yield from together(
        *(dialect.statement("rules_named", kind=kind, names=names) for kind, names in zip(kinds, read, strict=True))
    )
    known = {(rule.kind, rule.name): rule for result in found for rule in map(rule_of, result.rows)}
    changed = []
    for rule in sorted(rules, key=lambda rule: (rule.kind, rule.name)):
        before = known.get((rule.kind, rule.name)) or Rule(rule.kind, rule.name, {}, "", rule.at)
        value = {**before.value, "declared": rule.value}
        if value != before.value:
            changed.append(before._replace(value=value))
    yield from together(*(put_rule(dialect, rule) for rule in changed))
    if any(rule.kind == SCHEDULE for rule in changed):
        yield from _changed_schedule(dialect)
    return changed


def push_rate(store: SqlStore, slots: Sequence[str], now: int, delay: int) -> None:
    """Let rates permit no start for some time."""
    store.write(lambda: push(store.dialect, list(slots), store.engine_now(now), delay), by_worker=True)


def slots(store: SqlStore, limit: int, cap: int) -> list[SlotInfo]:
    """Return the slots that are held or waited for."""
    held = dict(store.read(rows(store, "slots_held", limit=limit)))
    lines = [line for part in _PARTS for (line,) in store.read(rows(store, "lines", **part, limit=limit))]
    found = []
    for slot in sorted({*held, *lines})[:limit]:
        ((waiting,),) = store.read(rows(store, "line_length", slot=slot, cap=cap)) if slot in lines else ((0,),)
        found.append(SlotInfo(slot, held.get(slot, 0), waiting, waiting >= cap))
    return found


def slot(store: SqlStore, name: str, limit: int, cap: int) -> tuple[SlotInfo, list[str]]:
    """Return one slot, and the ids of the first jobs that hold it."""
    held = dict(store.read(rows(store, "admit_holders", slots=[name])))
    ((waiting,),) = store.read(rows(store, "line_length", slot=name, cap=cap))
    ids = [id for (id,) in store.read(rows(store, "slot_holders", slot=name, limit=limit)) if id is not None]
    return SlotInfo(name, held.get(name, 0), waiting, waiting >= cap), ids


def meters(store: SqlStore, names: Sequence[str]) -> dict[str, int]:
    """Return the meters of these names that exist."""
    return dict(store.read(rows(store, "meters", names=list(names))))


# chores ---------------------------------------------------------------------------------------------------------------
def admit(store: SqlStore, now: int, limit: int) -> int:
    """Examine what was missed: lines that may have room, jobs of pauses that are over, parents that have ended; mend holds."""
    if not store.read(rows(store, "admit_missed"), by_worker=True):
        return 0  # nearly always: nothing is blocked
    lines = _next_lines(store)
    moved, store.rated, store.lowered = store.write(
        lambda: _admit(store, store.engine_now(now), lines, limit, store.takes_lines(now)), by_worker=True
    )
    if moved:
        store.notify()
    return moved


def _next_lines(store: SqlStore) -> list[str]:
    """Return some lines, and the next ones when it is asked again."""
    found = [
        line
        for (line,) in store.read(rows(store, "lines", after=store.walked, before=LAST, limit=LINES), by_worker=True)
    ]
    store.walked = found[-1] + NEXT if len(found) == LINES else FIRST
    return found


def _admit(
    store: SqlStore, now: int | None, lines: list[str], limit: int, taken: bool
) -> Operations[tuple[int, tuple[str, int], tuple[str, str]]]:  # fmt: skip
    """Mend and examine. The lines of kept slots are left to claims if these have `taken` jobs from lines a moment ago."""
    dialect = store.dialect
    (instant,) = (yield dialect.statement("admit_lock", now=now)).rows[0]
    stale = (yield dialect.statement("holds_stale", limit=limit)).rows
    yield from together(*dialect.delete("hold", HOLD, stale))
    yield dialect.statement("admit_orphans", limit=limit)
    paused = {name for (name,) in (yield dialect.statement("admit_pauses")).rows}
    for line in lines:
        if line.startswith(PAUSED) and line.removeprefix(PAUSED) not in paused:
            yield dialect.statement("admit_resume", waits=line, limit=limit)
    freed: set[str] = set()
    for name in sorted(paused):  # the process that has set it may have ended before it blocked these
        freed |= (yield from _block_paused(dialect, name))[1]
    rated = yield from mend_heads(dialect, instant, store.rated)
    more, lowered = yield from _mend_lowered(dialect, instant, store.lowered)
    freed |= more | {line for line in lines if "\n" in line}
    if taken:
        freed -= {slot for (slot,) in (yield dialect.statement("freed_kept", limit=LINES)).rows}
    return (yield from examine(dialect, now, freed, limit=limit, kept=not taken)), rated, lowered


def _mend_lowered(dialect: Dialect, now: int, at: tuple[str, str]) -> Operations[tuple[set[str], tuple[str, str]]]:
    """Block what the process did not that has lowered a limit: some slots of one limit, from a place on.

    Returns the slots that may have room now, and the place with which to go on.
    """
    found = [rule_of(row) for row in (yield dialect.statement("rules", kinds=["limit"])).rows]
    rule = next((each for each in found if each.name >= at[0]), None)
    if rule is None:
        return set(), ("", "")
    after = at[1] if at[0] == rule.name and at[1] else f"{rule.name}\n"
    place, freed = yield from _lowered(dialect, rule._replace(at=now), rule.name, after, removed=False)
    return freed, (rule.name, place) if place else (rule.name + NEXT, "")


def expire(store: SqlStore, now: int, limit: int) -> int:
    """Cancel waiting jobs that had to start by an instant that has passed."""
    bound = {"now": store.engine_now(now), "limit": limit}
    late = store.read(rows(store, "expire", **bound), by_worker=True)
    if late:
        store.write(lambda: _expire(store.dialect, late, now), by_worker=True)
        examine_marked(store, now)
    return len(late)


def _expire(dialect: Dialect, late: list[tuple[int, int]], now: int) -> Operations[None]:
    for seq, start_by in sorted(late):
        yield from end_jobs(dialect, [seq], CANCELLED, f"not started by {iso(start_by)}", now)
