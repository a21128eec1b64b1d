"""What becomes of a job whose queue, priority, time or payload an operator changes. Pure: the engines read and write."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from . import rules
from .clock import iso
from .draft import Draft
from .limits import follow_queue
from .payload import clean
from .redaction import in_force
from .rules import EXAMINE, EXAMINE_NEW
from .states import COMPLETED, ENDED, REVIEW, RUNNING, SCHEDULED

if TYPE_CHECKING:
    from collections.abc import Mapping

NOW = 0  # as run_at: at once
MOST_TOLD, MOST_VALUE = 1_000, 100  # characters of a changed payload in the audit trail, and of each value
CHANGED, SAME, INVALID, STALE, LATE = "changed", "same", "invalid", "stale", "late"


class Edit(NamedTuple):
    """Another payload for one job: what it was, what it becomes, and what follows from it."""

    was: str
    payload: str
    key: str | None  # None: the key does not follow from the payload
    slots: Mapping[str, str] = {}  # the keys of limits, by the names of those that take them from the payload
    told: str | None = None  # what the audit trail says; None: what `told` returns


class Wish(NamedTuple):
    """What an operator wants of jobs; None leaves a value as it is. With `edits`, jobs without one are refused: `invalid`."""

    queue: str | None = None
    priority: int | None = None
    run_at: int | None = None  # NOW: at once
    edits: Mapping[str, Edit] | None = None

    @property
    def action(self) -> str:
        """The name of the action in the audit trail."""
        names = {"queue": "requeue", "priority": "reprioritise", "run_at": "reschedule", "edits": "amend"}
        return next(name for field, name in names.items() if getattr(self, field) is not None)


class Standing(NamedTuple):
    """What a change needs to know of a job, and what it may change."""

    queue: str
    priority: int
    ord: int
    run_at: int | None
    rules: str | None
    start_by: int | None
    tenant: str | None


class Altered(NamedTuple):
    """A changed job: what it is now, for what it waits if rules may hold it back, and what the audit trail says."""

    now: Standing
    waits: str
    detail: dict[str, str]


def refusal(wish: Wish, job_id: str, state: str) -> str | None:
    """Return why a job in a state is not changed; None: it may be."""
    if state in (RUNNING, REVIEW):
        return state
    if state == COMPLETED or (state in ENDED and wish.run_at is not None):
        return "ended"
    return INVALID if wish.edits is not None and job_id not in wish.edits else None


def altered(
    wish: Wish, job: Standing, type: str, state: str, edit: Edit | None, of_queue: Mapping[str, Any], now: int
) -> Altered | str:  # fmt: skip
    """Return what becomes of a job, or why nothing does. `of_queue` are the rules of the queue in which it is from then on."""
    if wish.run_at is not None and job.start_by is not None and wish.run_at > job.start_by:
        return LATE
    found = rules.unpack(job.rules)
    own = found["aged"][0] if "aged" in found else job.priority  # a queue with aging keeps it in the rule
    queue = job.queue if wish.queue is None else wish.queue
    priority = own if wish.priority is None else wish.priority
    run_at, place = _time(wish, job, state, now)
    if edit is not None:
        found = _with_slots(found, edit.slots)
    moved = (queue, priority) != (job.queue, own)
    if moved:
        place += found["aged"][0] * found["aged"][1] if "aged" in found else 0
        found = _without_queue(found, job.queue)
    draft = Draft(type, "", queue=queue, priority=priority if moved else job.priority, tenant=job.tenant)
    draft.rules = rules.pack(found)
    if moved:
        follow_queue(draft, of_queue)
    detail = (
        _detail({"queue": (job.queue, queue), "priority": (own, priority)}) | _when(wish, job, state) | _edited(edit)
    )
    if not detail:
        return SAME
    given = rules.unpack(draft.rules)
    anew = moved and ("aged" in given or ("fair" in given and queue != job.queue))
    after = job._replace(queue=queue, priority=draft.priority, ord=place, run_at=run_at, rules=draft.rules)
    return Altered(after, EXAMINE_NEW if anew else EXAMINE, detail)


def _rated(job: Standing, state: str) -> bool:
    """Return whether a job is scheduled because of a rate: it keeps its place. Others have their time as their place."""
    return state == SCHEDULED and job.ord != job.run_at


def _time(wish: Wish, job: Standing, state: str, now: int) -> tuple[int | None, int]:
    """Return when a job may run, and its place if that is at once."""
    place = min(job.ord, now) if state == SCHEDULED and not _rated(job, state) else job.ord
    if wish.run_at is None:
        return None if _rated(job, state) else job.run_at, place
    return wish.run_at or None, place


def _with_slots(found: dict[str, Any], slots: Mapping[str, str]) -> dict[str, Any]:
    """Return rules with other keys of limits and rates."""
    kinds: dict[str, Any] = {
        kind: sorted(
            ([name, slots.get(name, key), *rest] for name, key, *rest in found[kind]), key=lambda each: each[:2]
        )
        for kind in ("limits", "rates")
        if kind in found
    }
    return {**found, **kinds}


def _without_queue(found: dict[str, Any], queue: str) -> dict[str, Any]:
    """Return rules without those that a queue has given."""
    kept = {kind: rule for kind, rule in found.items() if kind not in ("fair", "aged")}
    for kind in ("limits", "rates"):
        if kind in kept:
            kept[kind] = [each for each in kept[kind] if each[0] != f"queue:{queue}"]
    return {kind: rule for kind, rule in kept.items() if rule != []}


# what the audit trail says --------------------------------------------------------------------------------------------
def _detail(values: Mapping[str, tuple[object, object]]) -> dict[str, str]:
    return {name: f"{before} → {after}" for name, (before, after) in values.items() if before != after}


def _when(wish: Wish, job: Standing, state: str) -> dict[str, str]:
    if wish.run_at is None or (wish.run_at == NOW and state != SCHEDULED):
        return {}
    before, after = job.run_at if state == SCHEDULED else NOW, wish.run_at
    return _detail({"run_at": tuple(iso(at) if at else "now" for at in (before, after))})  # type: ignore[dict-item]


def _edited(edit: Edit | None) -> dict[str, str]:
    said = "" if edit is None else told(edit) if edit.told is None else edit.told
    return {"payload": said} if said else {}


def told(edit: Edit) -> str:
    """Return what the audit trail says of an edited payload, without secrets; nothing if it is the same."""
    if edit.was == edit.payload:
        return ""
    before, after = _leaves(edit.was), _leaves(edit.payload)
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    said = [f"{name}: {_shown(name, before)} → {_shown(name, after)}" for name in names]
    return clean(", ".join(said) or "written otherwise", MOST_TOLD)


def _shown(path: str, leaves: Mapping[str, str]) -> str:
    """Return a value in a payload as the audit trail may keep it: any name on its path may say that it is a secret."""
    if path not in leaves:
        return "none"
    value, names = json.loads(leaves[path]), path.split(".")
    for name in reversed(names):
        value = {name: value}
    found: Any = in_force().value(value)
    while isinstance(found, dict) and names:
        found = found[names.pop(0)]
    return clean(json.dumps(found, ensure_ascii=False), MOST_VALUE)


def _leaves(payload: str) -> dict[str, str]:
    """Return the values in a payload by their paths, each as JSON."""
    found: dict[str, str] = {}

    def walk(value: Any, path: str) -> None:
        if isinstance(value, dict) and value:
            for name, each in value.items():
                walk(each, f"{path}.{name}" if path else name)
        else:
            found[path] = json.dumps(value, ensure_ascii=False)

    walk(json.loads(payload), "")
    return found
