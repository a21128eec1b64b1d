"""The claimer's round: store what has ended, claim what fits, start it. There is no cooldown: a freed slot refills at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from ..core.clock import monotonic
from ..core.errors import LeaseLost, StoreError
from ..core.job import Claimed, field_getter
from ..stores.contract import Claims
from .claim_limits import LastChance, Prefetch
from .in_flight import Execution
from .listener import SlotOffers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..app import Mainstay
    from ..registry import JobType, Registry
    from .in_flight import InFlight
    from .outcome_buffer import OutcomeBuffer
    from .registration import Registration

GATHER = 5  # while jobs wait for a slot, outcomes are gathered this long: whole batches, few transactions
FIRST = 2  # a job that came with a notification starts before more are claimed; a quick one's outcome goes along
POLL = 1_000
BACKOFF, LONGEST_BACKOFF = 100, 30_000

_TYPE = field_getter(Claimed, "type")


class Starter(Protocol):
    """What starts claimed jobs: `Slots`, which documents these methods, or the inline worker of tests."""

    @property
    def backlog(self) -> int: ...
    @property
    def blocked(self) -> bool: ...
    def room(self) -> int: ...
    def process_room(self) -> int: ...
    def start(self, executions: list[Execution]) -> None: ...
    def release(self, execution: Execution, delay: int = 0) -> None: ...


class Claimer:
    """Writes outcomes and claims jobs, in one transaction where it does both. `step` is one round."""

    def __init__(
        self, app: Mainstay, registration: Registration, wants: Mapping[str, Sequence[str]], slots: Starter,
        in_flight: InFlight, outcomes: OutcomeBuffer, poll: int = POLL,
    ) -> None:  # fmt: skip
        self._store, self._registry, self._events, self._registration = (
            app.store,
            app.registry,
            app.events,
            registration,
        )
        self._wants = _wanted(wants, app.registry, lambda job: not job.process)
        self._plain_wants = _wanted(wants, app.registry, lambda job: not (job.process or job.is_async))
        self._process_wants = _wanted(wants, app.registry, lambda job: job.process)
        self._slots, self._in_flight, self._outcomes, self._poll = slots, in_flight, outcomes, poll
        self._lost, self._lost_at = "", 0  # the identity whose lease was gone, and when that was seen
        self._failures = 0
        self._monotonic = monotonic(app.clock)  # waits and the age of claims, whoever sets the clock
        self.prefetch = Prefetch(in_flight)
        self.last_chance = LastChance(in_flight, poll)
        self.offers = SlotOffers(self._wants, self._has_slot, self._monotonic)

    @property
    def failing(self) -> bool:
        """Whether the last call to the store failed."""
        return self._failures > 0

    def step(self, now: int) -> int:
        """Do one round; return after how many milliseconds to do the next if nothing wakes the claimer before."""
        if self._start_arrived():
            return FIRST
        if self.offers.uncertain and (self._registration.claiming or self._can_release_missed()):
            return self._recover(self._registration.registered)
        batch, updates = self._outcomes.take(self._failures)
        since = self._monotonic()
        room = self._room(since)
        transitions = [transition for _, transition in batch]
        worker = self._registration.registered
        wants = self._plain_wants if self._slots.blocked else self._wants
        try:
            if room > 0:
                claims = self._store.claim(worker, wants, room, now, transitions, updates)
            elif transitions or updates:
                claims = Claims(self._store.finish(transitions, updates), [], None)
            else:
                return GATHER if self._slots.backlog else self._poll
        except LeaseLost:
            self._outcomes.put_back(batch, updates)
            self._lost, self._lost_at = worker, since
            self._events.emit("lease_lost", worker=worker)
            return 0
        except StoreError as error:
            self._outcomes.put_back(batch, updates)
            self.offers.uncertain = self.offers.uncertain or room > 0
            return self._failed(error)
        except Exception as error:
            if not self._outcomes.refused(batch, updates, error):
                raise
            return 0
        self._failures = 0
        lost = self._outcomes.apply_verdicts(batch, claims.verdicts)
        if lost:
            self._retract_crashes(lost)
        wait = self._start_claimed(claims, room, since)
        if self._process_wants:
            wait = min(wait, self._claim_for_processes(now))
        return 0 if self._outcomes.more else wait

    def _claim_for_processes(self, now: int) -> int:
        """Claim for process slots no more than can start there: another worker could run a job that waits here."""
        since = self._monotonic()
        room = min(self._room(since), self._slots.process_room())
        if room <= 0:
            return self._poll
        try:
            claims = self._store.claim(self._registration.registered, self._process_wants, room, now)
        except LeaseLost:  # the next round handles it
            return 0
        except StoreError as error:
            self.offers.uncertain = True
            return self._failed(error)
        return self._start_claimed(claims, room, since)

    def _recover(self, worker: str) -> int:
        """Start the jobs of a claim that got no reply, or release them if the worker stops: no other worker frees them."""
        if self.offers.outstanding:  # a job may be on its way: it must not start twice
            return GATHER
        self._start_arrived()
        since = self._monotonic()
        try:
            held = self._store.claimed_by(worker)
        except StoreError as error:
            return self._failed(error)
        self._failures, self.offers.uncertain = 0, False
        here = self._in_flight.find((job.id, job.token) for job in held)
        missed = [job for job in held if (job.id, job.token) not in here]
        same = worker == self._registration.registered  # it may have a new identity by now
        if missed and same and self._registration.open:
            self._take_over(missed, since, spare=not self._registration.claiming)
        return 0

    def _can_release_missed(self) -> bool:
        """Return whether a worker that stops can find out what it missed. An offer that is open then is answered no more."""
        return self._registration.open and not self.offers.outstanding

    def _retract_crashes(self, jobs: list[Claimed]) -> None:
        """Undo the crashes that a sweep of others has counted for these attempts: they ended, but were stored too late."""
        try:
            self._store.retract_crashes(jobs)
        except StoreError as error:  # then they count
            self._events.emit("store_error", error=error, wait=0)

    # starting what was claimed ------------------------------------------------------------------------------------
    def _start_arrived(self) -> bool:
        """Start the jobs that came by offers, or release them if the slot is gone; return whether there were any."""
        some = False
        for since, jobs in self.offers.arrived():
            some = True
            self._take_over(jobs, since, spare=not self._registration.claiming or self._slots.room() <= 0)
        return some

    def _start_claimed(self, claims: Claims, room: int, since: int) -> int:
        if claims.jobs:
            self._take_over(claims.jobs, since)
        if self._slots.backlog:
            return GATHER
        if room > 0 and len(claims.jobs) == room:
            return 0 if self._room(since) > 0 else self._poll
        if claims.wait is None:
            return self._poll
        return max(0, min(claims.wait + self._registration.head_start(), self._poll))

    def _take_over(self, jobs: list[Claimed], since: int, spare: bool = False) -> None:
        """Start jobs that were claimed for this worker, or release them at once: all if `spare`."""
        types = {name: self._registry.get(name) for name in set(map(_TYPE, jobs))}
        executions = [Execution(job, types[job.type], since) for job in jobs]
        spared = dict.fromkeys(executions, 0) if spare else self.last_chance.excess(executions, jobs, since)
        self._in_flight.add(executions)
        if self._events.listeners("claimed"):
            self._events.emit("claimed", jobs=jobs)
        self._slots.start([each for each in executions if each not in spared] if spared else executions)
        for execution, delay in spared.items():
            self._slots.release(execution, delay)

    # how many to claim --------------------------------------------------------------------------------------------
    def _room(self, now: int) -> int:
        if self._closed(now):
            return 0
        if self.last_chance.careful(now):
            return min(1, self._slots.room())
        return self._slots.room() + self.prefetch.size(now)

    def _has_slot(self) -> bool:
        free, now = self._slots.room() > 0 and not self._slots.blocked, self._monotonic()
        return free and not self._closed(now) and not self.last_chance.careful(now)

    def _closed(self, now: int) -> bool:
        """Return whether to claim nothing, whatever slots are free."""
        return not self._registration.claiming or self._outcomes.full or self._just_lost(now)

    def _just_lost(self, now: int) -> bool:
        """Return whether the lease was lost a moment ago: the heartbeat replaces it, or finds that it runs after all."""
        return self._lost == self._registration.registered and now - self._lost_at < self._poll

    def _failed(self, error: StoreError) -> int:
        wait = min(BACKOFF << self._failures, LONGEST_BACKOFF)
        self._failures = min(self._failures + 1, 10)
        self._events.emit("store_error", error=error, wait=wait)
        return wait


def _wanted(
    wants: Mapping[str, Sequence[str]], registry: Registry, counts: Callable[[JobType[..., Any, Any]], bool]
) -> dict[str, list[str]]:
    """Return what is wanted of the types that count."""
    lists = {id(names): [n for n in names if counts(registry.expect(n))] for names in wants.values()}
    return {queue: lists[id(names)] for queue, names in wants.items() if lists[id(names)]}  # one list for many queues
