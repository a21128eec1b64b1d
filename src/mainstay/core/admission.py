"""Decides which blocked jobs may be queued. Pure: the SQL engines read what it needs and write what it decides.

`statements/parts/examine.lua` decides the same on Redis (docs/decisions/0028).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from . import rules as text
from .rules import EXAMINE_NEW, PARENTS, PAUSED, limit_of, limit_slots, rate_slots
from .states import BLOCKED, CANCELLED, COMPLETED, DEAD, ENDED, QUEUED, SCHEDULED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

MICROS = 1_000  # microseconds in a millisecond: rates count in them
FARTHEST = 1 << 62  # a meter that a database can store
MANY = 1_000_000  # the room of a slot without a limit
WAITED = 60_000  # milliseconds: longer than a transaction waits for its lock, or an outcome for its store
STRIDE = 1_000  # between two places that a tenant of weight 1 gets in a fair queue


class Candidate(NamedTuple):
    """A blocked job that may be queued."""

    seq: int
    queue: str
    type: str
    priority: int
    ord: int
    rules: str
    waits: str


class Carried(NamedTuple):
    """The rules that a job carries, and the slots that follow. Shared by all jobs with the same text: never changed."""

    rules: dict[str, Any]
    limits: tuple[str, ...]
    rates: tuple[str, ...]
    slots: tuple[str, ...]  # both
    declared: dict[str, dict[str, Any]]  # the limits by name


@lru_cache(10_000)  # a decision takes twice as long if it reads the text again
def carried(stored: str | None) -> Carried:
    """Return the rules in a stored text."""
    rules = text.unpack(stored)
    limits, rates = tuple(limit_slots(rules)), tuple(rate_slots(rules))
    declared: dict[str, dict[str, Any]] = {}
    for name, _, running in rules.get("limits", ()):
        declared.setdefault(name, {})["running"] = running
    for name, _, every, burst in rules.get("rates", ()):
        declared.setdefault(name, {}).update(every=every, burst=burst)
    return Carried(rules, limits, rates, limits + rates, declared)


@lru_cache(10_000)
def measure(slot: str) -> tuple[str, bool]:
    """Return the name of a slot's limit, and whether it is a rate."""
    return limit_of(slot)[0], text.is_rate(slot)


class Decision(NamedTuple):
    """What becomes of a candidate, and the slots that it holds from now on."""

    seq: int
    state: str
    waits: str | None
    ord: int
    run_at: int | None
    reason: str | None
    holds: tuple[str, ...] = ()


class Known:
    """What a store knows at one instant, and how that changes with each decision."""

    def __init__(
        self, now: int, paused: Collection[str], limits: dict[str, dict[str, Any]], held: dict[str, int],
        meters: dict[str, int], parents: dict[int, list[tuple[str, str | None]]], lowest: dict[str, list[Candidate]],
    ) -> None:  # fmt: skip
        self.now, self.paused, self.limits, self.held = now, paused, limits, held
        # lowest: queued holders by slot, the first to give way first.
        self.meters, self.parents, self.lowest = meters, parents, lowest
        self.decided: dict[int, Decision] = {}
        self.displaced: dict[int, str] = {}  # queued holders that were blocked again, and their rules
        self.open: set[str] = set()  # slots that may have room for another job than the one that was examined
        self.unread: set[str] = set()  # lines of which only the first jobs were read
        self.marked = False  # whether more jobs may be marked to be examined
        self._most: dict[str, int] = {}  # how many jobs may hold a slot at this instant

    def examine(self, candidates: Iterable[Candidate]) -> None:
        """Decide on candidates, in their order."""
        for job in sorted(candidates, key=_place):
            self._one(job)

    def room(self, slot: str) -> int:
        """Return how many more jobs may hold a slot now."""
        most = self._most.get(slot)
        if most is None:
            most = self._most[slot] = self._capacity(slot)
        return most - self.held.get(slot, 0)

    def is_known(self, slot: str) -> bool:
        """Return whether the limit of a slot is known: some job was read that carries it, or an operator has set it."""
        name, rate = measure(slot)
        return ("every" if rate else "running") in self.limits.get(name, ())

    def learn(self, limits: Mapping[str, Mapping[str, Any]]) -> None:
        """Add limits that jobs carry; what is known stays."""
        for name, limit in limits.items():
            known = self.limits.get(name)
            if known is None or not limit.keys() <= known.keys():
                self.limits[name] = {**limit, **(known or {})}
                self._most.clear()

    def left(self) -> set[str]:
        """Return the slots that may have room for jobs that were not read."""
        return self.open | {slot for slot in self.unread if self.room(slot) > 0}

    def _capacity(self, slot: str) -> int:
        name, rate = measure(slot)
        limit = self.limits.get(name, {})
        if rate:
            every, burst = limit.get("every"), limit.get("burst")
            return max(1, allowance(self.meters.get(slot, 0), self.now, every, burst or 1)) if every else MANY
        running = limit.get("running")
        return MANY if running is None else int(running)

    # one candidate ------------------------------------------------------------------------------------------------
    def _one(self, job: Candidate) -> None:
        given = carried(job.rules)
        if job.waits == EXAMINE_NEW:
            job = job._replace(ord=self._place(job, given.rules))
        waits = self._parents(job, given.rules) if "after" in given.rules else None
        if job.seq in self.decided:
            return
        waits = waits or (self._pause(job) if self.paused else None) or self._full_limit(job, given.limits)
        if waits is not None:
            self._keep(job, waits, given)
        elif given.rates:
            self._rated(job, given)
        else:
            self._queue(job, given.limits)

    def _queue(self, job: Candidate, holds: tuple[str, ...]) -> None:
        for slot in holds:
            self.held[slot] = self.held.get(slot, 0) + 1
        self.decided[job.seq] = Decision(job.seq, QUEUED, None, job.ord, None, None, holds)

    def _keep(self, job: Candidate, waits: str, given: Carried) -> None:
        self.decided[job.seq] = Decision(job.seq, BLOCKED, waits, job.ord, None, None)
        if job.waits != waits and job.waits in given.slots:
            self.open.add(job.waits)

    def _parents(self, job: Candidate, rules: Mapping[str, Any]) -> str | None:
        """Return what a job with parents waits for, or end it: a parent ended otherwise than completed."""
        waits = None
        for parent, state in self.parents.get(job.seq, ()):
            if state is not None and state not in ENDED:
                waits = PARENTS
            elif state != COMPLETED and rules["after"] != "run":
                reason = f"its parent {parent} is {state or 'deleted'}"
                end = DEAD if rules["after"] == "dead" else CANCELLED
                self.decided[job.seq] = Decision(job.seq, end, None, job.ord, None, reason)
                return None
        return waits

    def _pause(self, job: Candidate) -> str | None:
        names = (text.ALL, f"queue:{job.queue}", f"type:{job.type}")
        return next((PAUSED + name for name in names if name in self.paused), None)

    def _full_limit(self, job: Candidate, slots: tuple[str, ...]) -> str | None:
        """Return the first slot of a limit without room; a queued holder of a lower priority makes room."""
        full = [slot for slot in slots if self.room(slot) <= 0]
        if not full:
            return None
        if any(not self._displaced(slot, job.priority) for slot in full):
            return full[0]
        for slot in full:
            if self.room(slot) <= 0:  # one holder may have given way at several slots
                self._displace(self._displaced(slot, job.priority)[0], slot)
        return None

    def _displaced(self, slot: str, priority: int) -> list[Candidate]:
        if self.room(slot) < 0:  # the limit was lowered: nobody enters
            return []
        return [holder for holder in self.lowest.get(slot, ()) if holder.priority < priority][:1]

    def _displace(self, holder: Candidate, slot: str) -> None:
        """Block a queued holder again, at the slot that it gives to another job."""
        self.displaced[holder.seq] = holder.rules
        self.decided[holder.seq] = Decision(holder.seq, BLOCKED, slot, holder.ord, None, None)
        for each in carried(holder.rules).slots:
            if each in self.held:  # else its holders were not counted, and may be later
                self.held[each] -= 1
            self.lowest[each] = [other for other in self.lowest.get(each, ()) if other.seq != holder.seq]
            if each != slot:
                self.open.add(each)

    def _rated(self, job: Candidate, given: Carried) -> None:
        """Queue a job that no limit holds back; schedule it if it is the head of a rate that permits no start now."""
        start = self.now
        for slot, (name, _, every, burst) in zip(given.rates, given.rules["rates"], strict=True):
            limit = {"every": every, "burst": burst} | dict(self.limits.get(name, {}))
            if not limit["every"]:  # an operator has removed the rate
                continue
            tat, held = self.meters.get(slot, 0), self.held.get(slot, 0)
            free = allowance(tat, self.now, limit["every"], limit["burst"])
            if held >= max(1, free):
                self._keep(job, slot, given)
                return
            if not free:
                start = max(start, permitted(tat, self.now, limit["every"], limit["burst"]))
        if start <= self.now:
            self._queue(job, given.slots)
            return
        for slot in given.rates:
            self.held[slot] = self.held.get(slot, 0) + 1
        # It leaves the line of a limit, and takes no place there.
        if job.waits in given.slots and job.waits not in given.rates:
            self.open.add(job.waits)
        self.decided[job.seq] = Decision(job.seq, SCHEDULED, None, job.ord, start, None, given.rates)

    # the place in the order ---------------------------------------------------------------------------------------
    def _place(self, job: Candidate, rules: Mapping[str, Any]) -> int:
        """Return a new job's place: by its tenant's share, and earlier by its priority where waiting makes up for priority."""
        place = job.ord
        if "fair" in rules:
            queue, tenant, weight = rules["fair"]
            mine, front = fair_meter(queue, tenant), self.meters.get(fair_meter(queue), place)
            last = self.meters.get(mine)
            place = front if last is None else max(front, last + max(1, round(STRIDE / weight)))
            self.meters[mine] = place
        if "aged" in rules:
            priority, worth = rules["aged"]
            place -= priority * worth
        return place


def fair_meter(queue: str, tenant: str | None = None) -> str:
    """Return the meter of a tenant's last place in a fair queue; without a tenant, of the place that was claimed last."""
    return f"fair\n{queue}" if tenant is None else f"fair\n{queue}\n{tenant}"


def allowance(tat: int, now: int, every: int, burst: int) -> int:
    """Return how many starts a rate permits now. `tat` is when the next would be due at an even pace, in microseconds (GCRA)."""
    late = max(tat, now * MICROS) - now * MICROS
    return max(0, (int(burst) - 1) - -(-late // int(every)) + 1)


def believed(tat: int, now: int, every: int, burst: int, push: tuple[int, int] = (0, 0)) -> int:
    """Return the meter of a rate, or the most that it can be now: it is more if the clock was set back, or the rate was another.

    `push` is the meter that the last push has set, and for how many milliseconds that was. A meter that is little ahead is believed:
    whoever asks may have waited for a lock since `now`, and others have started jobs meanwhile.
    """
    meter, delay = push
    ahead = delay * MICROS + (int(burst) - 1) * int(every) if tat == meter else int(burst) * int(every)
    most = now * MICROS + ahead
    return most if tat > most + WAITED * MICROS else tat


def permitted(tat: int, now: int, every: int, burst: int) -> int:
    """Return the instant in milliseconds at which a rate permits the next start."""
    return max(now, -(-(tat - (int(burst) - 1) * int(every)) // MICROS))


def charged(tat: int, now: int, every: int) -> int:
    """Return the meter of a rate after one more start."""
    return min(FARTHEST, max(tat, now * MICROS) + int(every))


def _place(job: Candidate) -> tuple[int, int, int]:
    return -job.priority, job.ord, job.seq
