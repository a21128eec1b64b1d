"""Admission of jobs that rules hold back: which of them become queued (docs/decisions/0028). `core/admission.py` decides.

On PostgreSQL all of it happens under one lock of the installation, so that no two transactions count the same slot at once.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from ...core import rules
from ...core.admission import Candidate, Carried, Decision, Known, allowance, carried, charged, fair_meter, permitted
from ...core.limits import effective
from ...core.rules import EXAMINE, EXAMINE_NEW, PARENTS
from ...core.states import BLOCKED, ENDED, QUEUED, SCHEDULED
from ..operations import together
from .rates import METER, believe

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...core.decide import Transition
    from ...core.draft import Draft
    from ..operations import Operations, Statement
    from .dialect import Dialect

LINES = 1_000  # kept slots whose lines are examined in one transaction
MOST = 500  # jobs examined in one transaction; the rest follow in the next
AHEAD = 100  # jobs read of one line at once
HOLD = {"slot": "text", "job": "bigint"}
DECIDED = {"state": "text", "waits": "text", "ord": "bigint", "run_at": "bigint"}
LOWEST = -1_001  # below every priority


def examine(
    dialect: Dialect, now: int | None, freed: Iterable[str] = (), priority: int = LOWEST, limit: int = MOST,
    like: Iterable[str | None] = (), joined: int = 0, kept: bool = True,
) -> Operations[int]:  # fmt: skip
    """Examine the jobs that are to be examined, and those in line at slots that may have room; return how many moved on.

    `priority` is the highest of the jobs that have joined these lines now, `joined` of them: holders below it may have to give way.
    `like` are rules of jobs that have held these slots or have joined these lines: they tell how many jobs to read. `kept`: also
    examine the slots that claims have kept.
    """
    (instant,) = (yield dialect.statement("admit_lock", now=now)).rows[0]
    more = (yield dialect.statement("freed_take", limit=LINES)).rows if kept else []
    slots, examined, moved = {*freed, *(slot for (slot,) in more)} - {EXAMINE}, 0, 0
    limits = limits_of([carried(text) for text in set(like) if text])
    before: Known | None = None
    while examined < limit:
        known, candidates = yield from _candidates(
            dialect, instant, slots, priority, limit - examined, limits, max(0, joined - examined), before
        )
        if not candidates:
            return moved
        known.examine(candidates)
        moved += yield from write(dialect, instant, known, candidates)
        examined, limits, before = examined + len(candidates), known.limits, known
        slots = known.left()
        if not slots and not known.marked:
            return moved
    yield from wake(dialect, slots)
    return moved


def wake(dialect: Dialect, slots: Iterable[str]) -> Operations[None]:
    """Mark the first job in line at each of some slots: the next claim examines it."""
    found = sorted(set(slots) - {EXAMINE})
    if found:
        rows = (yield dialect.statement("admit_heads", slots=found, ahead=1)).rows
        if rows:
            yield dialect.statement("admit_wake", seqs=[row[0] for row in rows])


def defer(drafts: Iterable[Draft]) -> None:
    """Let drafts wait for the next claim, which examines them: whoever inserts them must not lock a limit."""
    for draft in drafts:
        if draft.waits is not None and draft.waits != EXAMINE_NEW:
            draft.waits = EXAMINE


def drafted(drafts: Iterable[Draft]) -> set[str]:
    """Return the slots at which drafts stand in line."""
    return {draft.waits for draft in drafts if draft.waits not in (None, EXAMINE, EXAMINE_NEW)}


# what to examine ------------------------------------------------------------------------------------------------------
def _candidates(
    dialect: Dialect, now: int, slots: set[str], priority: int, limit: int, limits: dict[str, dict[str, Any]],
    joined: int, before: Known | None,
) -> Operations[tuple[Known, list[Candidate]]]:  # fmt: skip
    """Return what is known, and the jobs to examine: as many of each line as there may be room for.

    Holders that were counted `before` are not counted again: that is kept up to date by what is decided. Neither are those read again that
    may give way, while there is one line only: nobody in it gives way to one behind it.
    """
    rows = (yield dialect.statement("admit_candidates", limit=limit)).rows
    jobs = [Candidate(*row) for row in rows]
    waited = [(slot, job.seq) for job in jobs for slot in carried(job.rules).rates]
    yield from together(*dialect.delete("hold", HOLD, waited))  # of jobs that have waited for their rate
    counted = before.held.items() if before is not None else ()
    held = {slot: number for slot, number in counted if not rules.is_rate(slot)}
    lowest = before.lowest if before is not None and len(slots) == 1 and not jobs else {}
    known = yield from _known(dialect, now, jobs, slots, held)
    known.learn(limits)
    known.lowest.update(lowest)
    newcomers = joined + len(jobs)
    yield from _read_lowest(dialect, known, max([priority, *(job.priority for job in jobs)]), newcomers)
    rooms = {slot: room for slot in slots if (room := _places(known, slot)) > 0}
    if rooms and len(jobs) < limit:
        heads, unread = yield from _heads(dialect, known, rooms)
        if heads:
            limits = known.limits  # of all slots that were counted, by this step or an earlier one
            known = yield from _known(dialect, now, [*jobs, *heads], slots, held, known)
            known.learn(limits)
            yield from _read_lowest(dialect, known, priority, newcomers)
        known.unread = unread
        jobs += heads
    yield from believe(dialect, now, known.limits, known.meters)
    known.marked = len(rows) >= limit or any("after" in carried(job.rules).rules for job in jobs)
    return known, jobs


def _heads(dialect: Dialect, known: Known, rooms: dict[str, int]) -> Operations[tuple[list[Candidate], set[str]]]:
    """Return the first jobs of lines, as many as there is room for, and the lines that may have more.

    Of a line whose limit is not known, it is one.
    """
    lines: dict[int, list[str]] = {}
    for slot in sorted(rooms):
        lines.setdefault(min(AHEAD, rooms[slot]) if known.is_known(slot) else 1, []).append(slot)
    found = yield from together(*(dialect.statement("admit_heads", slots=some, ahead=n) for n, some in lines.items()))
    heads = [Candidate(*row) for each in found for row in each.rows]
    read = Counter(head.waits for head in heads)
    return heads, {slot for ahead, some in lines.items() for slot in some if read[slot] == ahead}


def _places(known: Known, slot: str) -> int:
    room = known.room(slot)
    return room if room < 0 else room + len(known.lowest.get(slot, ()))


def _read_lowest(dialect: Dialect, known: Known, priority: int, newcomers: int) -> Operations[None]:
    """Read which holders may have to give way to newcomers of a priority: those of slots that have no room for all of them."""
    if priority <= LOWEST:
        return
    unread = sorted(known.held.keys() - known.lowest.keys())
    full = [slot for slot in unread if not rules.is_rate(slot) and 0 <= known.room(slot) < newcomers]
    bound = {"priority": priority, "limit": newcomers}
    results = yield from together(*(dialect.statement("admit_lowest", slots=[slot], **bound) for slot in full))
    for slot, result in zip(full, results, strict=True):
        found = [Candidate(*columns) for _, *columns in result.rows]
        known.lowest[slot] = sorted(found, key=lambda job: (job.priority, -job.ord, -job.seq))


def _known(
    dialect: Dialect, now: int, jobs: Sequence[Candidate], slots: Iterable[str], held: dict[str, int],
    before: Known | None = None,
) -> Operations[Known]:  # fmt: skip
    """Read what the decision about these jobs needs. `held` has slots whose holders are counted already."""
    given = [carried(job.rules) for job in jobs]
    wanted = {*slots, *(slot for each in given for slot in each.slots)}
    children = [job.seq for job, each in zip(jobs, given, strict=True) if "after" in each.rules]
    if before is not None and wanted <= before.held.keys() and not children:
        before.learn(limits_of(given))
        return before  # nearly always: those in line have the slots of those who made room
    names, meters = sorted({rules.limit_of(slot)[0] for slot in wanted}), sorted(_meters(wanted, given))
    asked = {"rules": dialect.statement("admit_rules", names=names)}
    if not wanted <= held.keys():
        asked["held"] = dialect.statement("admit_holders", slots=sorted(wanted - held.keys()))
    if meters:
        asked["meters"] = dialect.statement("meters", names=meters)
    if children:
        asked["parents"] = dialect.statement("admit_parents", seqs=children)
    results = yield from together(*asked.values())
    found = {name: result.rows for name, result in zip(asked, results, strict=True)}
    found["held"] = [*held.items(), *found.get("held", ())]
    return knowledge(now, given, wanted, found)


def knowledge(now: int, given: Sequence[Carried], wanted: Iterable[str], found: dict[str, list[Any]]) -> Known:
    """Return what was read as the decision needs it."""
    paused = {row[1] for row in found["rules"] if row[0] == "pause"}
    limits = limits_of(given, [row[1:3] for row in found["rules"] if row[0] == "limit"])
    held = dict.fromkeys(wanted, 0) | dict(found.get("held", ()))
    known = Known(now, paused, limits, held, dict(found.get("meters", ())), {}, {})
    for child, parent, state in found.get("parents", ()):
        known.parents.setdefault(child, []).append((parent, state))
    return known


def _meters(slots: Iterable[str], given: Iterable[Carried]) -> set[str]:
    fair = [each.rules["fair"] for each in given if "fair" in each.rules]
    tenants = {fair_meter(queue, tenant) for queue, tenant, _ in fair}
    return {*filter(rules.is_rate, slots), *tenants, *(fair_meter(queue) for queue, *_ in fair)}


def limits_of(given: Iterable[Carried], stored: Iterable[tuple[str, str]] = ()) -> dict[str, dict[str, Any]]:
    """Return the limits by name: as operators have set them, as code declares them, or as the jobs carry them."""
    found: dict[str, dict[str, Any]] = {}
    for each in given:
        for name, limit in each.declared.items():
            if name not in found:
                found[name] = dict(limit)
            elif found[name] != limit:
                found[name].update(limit)
    for name, value in stored:
        found[name] = {**found.get(name, {}), **effective(json.loads(value))}
    return found


# writing what was decided ---------------------------------------------------------------------------------------------
def write(dialect: Dialect, now: int, known: Known, jobs: Sequence[Candidate]) -> Operations[int]:
    """Write decisions; return how many jobs are no longer blocked."""
    yield from together(*writes(dialect, known, jobs))
    ended = [each for each in known.decided.values() if each.state in ENDED]
    if ended:
        yield from _end(dialect, now, ended)
    return sum(each.state != BLOCKED for each in known.decided.values())


def writes(dialect: Dialect, known: Known, jobs: Sequence[Candidate]) -> list[Statement]:
    """Return the statements that write decisions, but for those that end a job."""
    before, queued, others = {job.seq: job for job in jobs}, [], []
    decided = [each for each in known.decided.values() if not _same(each, before.get(each.seq))]
    for each in decided:
        job = before.get(each.seq)
        if each.state == QUEUED and job is not None and job.ord == each.ord:
            queued.append(each.seq)
        elif each.state not in ENDED:
            others.append((each.seq, each.state, each.waits, each.ord, each.run_at))
    free = [job.seq for job in jobs if '"after"' in job.rules and known.decided[job.seq].waits != PARENTS]
    given_back = [(slot, seq) for seq, text in known.displaced.items() for slot in carried(text).slots]
    return [
        *dialect.delete("hold", HOLD, given_back),
        *([dialect.statement("admit_queue", seqs=queued)] if queued else ()),
        *dialect.update("job", "seq", DECIDED, others),
        *dialect.insert("hold", HOLD, [(slot, each.seq) for each in decided for slot in each.holds]),
        *dialect.upsert("meter", METER, [item for item in known.meters.items() if item[0].startswith("fair\n")]),
        *([dialect.statement("after_remove", seqs=free)] if free else ()),
    ]


def _same(each: Decision, job: Candidate | None) -> bool:
    """Return whether a job stays blocked as it was."""
    return each.state == BLOCKED and job is not None and each.waits == job.waits and each.ord == job.ord


def _end(dialect: Dialect, now: int, ended: Sequence[Decision]) -> Operations[None]:
    """End jobs whose parents did not complete."""
    from .actions import end_jobs

    for each in ended:
        yield from end_jobs(dialect, [each.seq], each.state, each.reason or "", now)


# giving slots back ----------------------------------------------------------------------------------------------------
def give_back(dialect: Dialect, jobs: Iterable[tuple[int | str, str | None]]) -> Operations[set[str]]:
    """Remove the holds of jobs, given as number and rules; return the slots that may have room now."""
    held = [(slot, seq) for seq, text in jobs for slot in carried(text).slots]
    yield from together(*dialect.delete("hold", HOLD, held))
    return {slot for slot, _ in held}


# rates: charged when jobs are claimed ---------------------------------------------------------------------------------
def charge(dialect: Dialect, now: int, chosen: Sequence[tuple[int, int, str]]) -> Operations[tuple[set[int], set[str]]]:
    """Charge the rates of jobs (number, order, rules) that are about to start.

    Returns those that may not start: they are scheduled; and the slots that may have room now.
    """
    given = {seq: carried(text) for seq, _, text in chosen}
    slots = sorted({slot for each in given.values() for slot in each.rates})
    fair = {each.rules["fair"][0] for each in given.values() if "fair" in each.rules}
    if not slots and not fair:
        return set(), set()
    names = sorted({rules.limit_of(slot)[0] for slot in slots})
    found = yield from together(
        dialect.statement("admit_limits", names=names),
        dialect.statement("meters", names=[*slots, *map(fair_meter, sorted(fair))]),
    )
    limits, meters = limits_of(given.values(), found[0].rows), dict(found[1].rows)
    yield from believe(dialect, now, limits, meters)
    denied = {seq: at for seq, each in given.items() if (at := _charged(each.rules, limits, meters, now)) > now}
    for seq, place, _ in chosen:
        if seq not in denied and "fair" in given[seq].rules:
            meter = fair_meter(given[seq].rules["fair"][0])
            meters[meter] = max(place, meters.get(meter, place))
    started = [(slot, seq) for seq, each in given.items() if seq not in denied for slot in each.rates]
    stopped = [(slot, seq) for seq in denied for slot in given[seq].limits]
    places = {seq: place for seq, place, _ in chosen}
    yield from together(
        *dialect.upsert("meter", METER, list(meters.items())),
        *dialect.delete("hold", HOLD, started + stopped),
        *dialect.update("job", "seq", DECIDED, [(seq, SCHEDULED, None, places[seq], at) for seq, at in denied.items()]),
    )
    return set(denied), {slot for slot, _ in started + stopped}


def _charged(each: dict[str, Any], limits: dict[str, Any], meters: dict[str, int], now: int) -> int:
    """Charge all rates of a job and return `now`; or charge none and return when it may start."""
    rates = [(rules.rate_slot(name, key), limits[name]) for name, key, *_ in each.get("rates", ())]
    rates = [(slot, limit) for slot, limit in rates if limit.get("every")]
    starts = [
        permitted(meters.get(slot, 0), now, limit["every"], limit["burst"])
        for slot, limit in rates
        if not allowance(meters.get(slot, 0), now, limit["every"], limit["burst"])
    ]
    if starts:
        return max(now + 1, *starts)
    for slot, limit in rates:
        meters[slot] = charged(meters.get(slot, 0), now, limit["every"])
    return now


# finishing ------------------------------------------------------------------------------------------------------------
def finished(
    dialect: Dialect, transitions: Sequence[Transition], now: int, joined: bool = False
) -> Operations[set[str]]:
    """Do what follows from transitions with rules that were applied; return the slots that may have room now."""
    from .breaker import count_outcomes

    ruled = [t for t in transitions if t.rules]
    yield from count_outcomes(dialect, ruled, now, joined)
    freed = yield from give_back(dialect, [(t.seq, t.rules) for t in ruled])
    return freed if all(t.finished_at for t in ruled) else freed | {EXAMINE}  # one that was released is examined itself
