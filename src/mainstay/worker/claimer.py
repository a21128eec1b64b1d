"""The claimer's round: store what has ended, claim what fits, start it. There is no cooldown: a freed slot refills at once.

It claims some jobs beyond its free slots while jobs are quick, and one at a time those that are on their last chance.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ..core.clock import monotonic
from ..core.errors import LeaseLost, StoreError
from ..core.job import Claimed, field_getter
from ..core.retry import CRASHES
from ..stores.results import Claims
from .in_flight import Execution
from .listener import SlotOffers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..app import Mainstay
    from ..core.decide import Transition
    from ..core.updates import Update
    from ..registry import JobType, Registry
    from .in_flight import InFlight
    from .outcome_buffer import OutcomeBuffer
    from .registration import Registration
    from .slots import Slots

GATHER = 5  # while jobs wait for a slot, outcomes are gathered this long: whole batches, few transactions
FIRST = 2  # a job that came with a notification starts before more are claimed; a quick one's outcome goes along
POLL = 1_000
BACKOFF, LONGEST_BACKOFF = 100, 30_000
APART, LONGEST = 100, 30_000  # milliseconds between two of those that are released, and at most until they come back
LAST_CHANCE = CRASHES - 1  # crashes behind a job that is dead with the next one
MOST = 1_000  # at most this many jobs wait in the worker for a slot …
AHEAD = 20  # … and no more than run in this many milliseconds at the present pace
SAMPLE = 5  # milliseconds over which the pace is measured

_TYPE, _CRASHES = field_getter(Claimed, "type"), field_getter(Claimed, "crashes")


class Claimer:
    """Writes outcomes and claims jobs, in one transaction where it does both. `step` is one round."""

    def __init__(
        self, app: Mainstay, registration: Registration, wants: Mapping[str, Sequence[str]], slots: Slots,
        in_flight: InFlight, outcomes: OutcomeBuffer, poll: int = POLL,
    ) -> None:  # fmt: skip
        self._store, self._registry, self._events = app.store, app.registry, app.events
        self._wants = wanted(wants, app.registry, lambda job: not (job.process or job.batch))
        self._plain_wants = wanted(wants, app.registry, lambda job: not (job.process or job.is_async or job.batch))
        self._process_wants = wanted(wants, app.registry, lambda job: job.process)
        self._registration, self._slots, self._poll = registration, slots, poll
        self._in_flight, self._outcomes = in_flight, outcomes
        self._lost, self._lost_at = "", 0  # the identity whose lease was gone, and when that was seen
        self._failures = 0
        self._monotonic = monotonic(app.clock)  # waits and the age of claims, whoever sets the clock
        self.pace = 0.0  # jobs per millisecond
        self.most = sys.maxsize  # jobs that it claims in all; if there is a limit, it accepts none by an offer, which would not be counted yet
        self._ended, self._sampled_at = 0, 0  # how many had ended when the pace was measured last
        self._careful_until = 0
        self.offers = SlotOffers(self._wants, self._has_slot, self._monotonic)

    @property
    def failing(self) -> bool:
        """Whether the last call to the store failed."""
        return self._failures > 0

    @property
    def exhausted(self) -> bool:
        """Whether it has claimed as many jobs as it may."""
        return self._in_flight.added >= self.most

    @property
    def ready(self) -> bool:
        """Whether the next round claims, if a slot is free: no reply is missing, and no lease is known to be lost."""
        return not (self._failures or self.offers.uncertain or self._closed(self._monotonic()))

    def step(self, now: int) -> int:
        """Do one round; return after how many milliseconds to do the next if nothing wakes the claimer before."""
        if self._start_arrived():
            return FIRST
        if self._recovers():
            return self._recover(self._registration.registered)
        if self._outcomes.gathers():
            return GATHER
        return self._write_and_claim(now)

    def _write_and_claim(self, now: int) -> int:
        """Store what has ended and claim what fits, in one transaction; start it."""
        batch, updates = self._outcomes.take(self._failures)
        since, worker = self._monotonic(), self._registration.registered
        try:
            room = self._room(since)
        except BaseException:  # a bug, but not one that an outcome has met
            self._outcomes.put_back(batch, updates)
            raise
        try:
            claims = self._exchange(worker, room, now, [transition for _, transition in batch], updates)
        except LeaseLost:
            self._outcomes.put_back(batch, updates)
            self._lost, self._lost_at = worker, since
            self._events.emit("lease_lost", worker=worker)
            return 0
        except StoreError as error:
            self._outcomes.put_back(batch, updates)
            self._doubt(room)
            return self._failed(error)
        except Exception as error:
            self._doubt(room)
            if not self._outcomes.refused(batch, updates, error):
                raise
            return 0
        except BaseException:  # of the main thread, which does the last rounds of a worker
            self._outcomes.put_back(batch, updates)
            raise
        if claims is None:
            return GATHER if self._slots.backlog else self._poll
        self._failures = 0
        try:
            lost = self._outcomes.apply_verdicts(batch, claims.verdicts)
            if lost:
                self._retract_crashes(lost)
        finally:  # whatever is wrong with the outcomes: these jobs are this worker's
            wait = self._start_claimed(claims, room, since)
        if self._process_wants:
            wait = min(wait, self._claim_for_processes(now))
        return 0 if self._outcomes.more else wait

    def _exchange(
        self, worker: str, room: int, now: int, transitions: Sequence[Transition], updates: Sequence[Update]
    ) -> Claims | None:
        """Write outcomes and claim, as far as there is something to write and room; return None if there is neither."""
        if room > 0:
            wants = self._plain_wants if self._slots.loop.blocked else self._wants
            return self._store.claim(worker, wants, room, now, transitions, updates)
        if transitions or updates:
            return Claims(self._store.finish(transitions, updates), [], None)
        return None

    def _doubt(self, room: int) -> None:
        """Find out before the next claim what this one got, if it was one: the store may have committed it."""
        if room > 0:  # else left as it is: the listener may set it at this moment
            self.offers.uncertain = True

    def _recovers(self) -> bool:
        """Return whether to find out first what a claim got whose reply is missing."""
        # A worker that stops cannot find it out while an offer is open: that is answered no more.
        hopeless = self._registration.stopping and self.offers.outstanding
        return self.offers.uncertain and self._registration.open and not hopeless

    def _claim_for_processes(self, now: int) -> int:
        """Claim for process slots no more than can start there: another worker could run a job that waits here."""
        since = self._monotonic()
        return self._claim_apart(self._process_wants, min(self._room(since), self._slots.processes.room), now, since)

    def _claim_apart(self, wants: Mapping[str, Sequence[str]], room: int, now: int, since: int) -> int:
        """Claim beside the main claim of a round, and write nothing; return when to do the next round."""
        if room <= 0:
            return self._poll
        try:
            claims = self._store.claim(self._registration.registered, wants, room, now)
        except LeaseLost:  # the next round handles it
            return 0
        except StoreError as error:
            self._doubt(room)
            return self._failed(error)
        except Exception:
            self._doubt(room)
            raise
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
        """Start jobs that were claimed for this worker, or release them at once: all if `spare`.

        If that fails, such as when no thread can be started, those that have not started are released; the next round finds the others.
        """
        try:
            self._start_or_spare(jobs, since, spare)
        except BaseException:
            self._doubt(len(jobs))
            self._slots.release_unstarted()
            raise

    def _start_or_spare(self, jobs: list[Claimed], since: int, spare: bool) -> None:
        types = {name: self._registry.get(name) for name in set(map(_TYPE, jobs))}
        executions = [Execution(job, types[job.type], since) for job in jobs]
        spared = dict.fromkeys(executions, 0) if spare else self._excess(executions, jobs, since)
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
        if self._careful(now):
            return min(1, self._slots.room())
        return min(self._slots.room() + self._ahead(now), self.most - self._in_flight.added)

    def _has_slot(self) -> bool:
        if self.most != sys.maxsize:
            return False
        free, now = self._slots.room() > 0 and not self._slots.loop.blocked, self._monotonic()
        return free and not self._closed(now) and not self._careful(now)

    def _closed(self, now: int) -> bool:
        """Return whether to claim nothing, whatever slots are free."""
        # Of a lease that was lost a moment ago: the heartbeat replaces it, or finds that it runs after all.
        just_lost = self._lost == self._registration.registered and now - self._lost_at < self._poll
        return just_lost or self._outcomes.full or self.exhausted or not self._registration.claiming

    def _ahead(self, now: int) -> int:
        """Return how many jobs to hold beyond the slots. Slow jobs are not prefetched: another worker could run them sooner."""
        elapsed = now - self._sampled_at
        if elapsed >= SAMPLE:
            # Calls of handlers: each tells how quick a slot is free.
            ended = self._in_flight.ended - self._slots.batches.beside
            pace = (ended - self._ended) / elapsed
            self.pace = pace if pace > self.pace else (self.pace + pace) / 2
            self._ended, self._sampled_at = ended, now
        return min(MOST, int(self.pace * AHEAD))

    # jobs on their last chance: if one of them kills this worker, no other dies with it ---------------------------------
    def _careful(self, now: int) -> bool:
        """Return whether to claim a single job: several of them were claimed a moment ago, and the first is to run alone."""
        return now < self._careful_until and self._on_last_chance() is None

    def _excess(self, executions: list[Execution], jobs: list[Claimed], now: int) -> dict[Execution, int]:
        """Return which of the claimed jobs to release, and for how long: others must not wait behind them meanwhile.

        All on their last chance are released, unless there is only one: it starts. The first of several goes back to the
        head of its queue, where it is claimed alone; the others wait for a time that differs for each of them.
        """
        if not any(map(_CRASHES, jobs)):  # nearly always: costs less than looking at each
            return {}
        risky = [execution for execution in executions if execution.job.crashes >= LAST_CHANCE]
        running = self._on_last_chance()
        if not risky or (len(risky) == 1 and running is None):
            return {}
        if running is None:
            self._careful_until = now + self._poll
            return {execution: place * APART for place, execution in enumerate(risky)}
        lasted = min(now - running.claimed_at, LONGEST)  # the longer it runs, the less often the others are claimed
        return {execution: lasted + place * APART for place, execution in enumerate(risky, 1)}

    def _on_last_chance(self) -> Execution | None:
        """Return the job on its last chance that this worker holds."""
        risky = (each for each in self._in_flight if each.job.crashes >= LAST_CHANCE and not each.ended)
        return next(risky, None)

    def _failed(self, error: StoreError) -> int:
        wait = min(BACKOFF << self._failures, LONGEST_BACKOFF)
        self._failures = min(self._failures + 1, 10)
        self._events.emit("store_error", error=error, wait=wait)
        return wait


def wanted(
    wants: Mapping[str, Sequence[str]], registry: Registry, counts: Callable[[JobType[..., Any, Any]], bool]
) -> dict[str, list[str]]:
    """Return what is wanted of the types that count."""
    lists = {id(names): [n for n in names if counts(registry.expect(n))] for names in wants.values()}
    return {queue: lists[id(names)] for queue, names in wants.items() if lists[id(names)]}  # one list for many queues
