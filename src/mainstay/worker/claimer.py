"""Taking jobs: as many as there is room for, in one transaction with what has ended. No cooldown: a freed slot refills."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Protocol

from ..core.errors import LeaseLost, StoreError
from ..core.job import Claimed, field_getter
from ..core.retry import CRASHES
from ..stores.contract import Claims, SlotOffer
from .in_flight import Flight

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..core.clock import Clock
    from ..core.events import Events
    from ..registry import Registry
    from ..stores.contract import Store
    from .in_flight import Flights
    from .outcome_buffer import Finisher

PREFETCH = 1_000  # at most this many jobs wait in the worker for a slot …
AHEAD = 20  # … and no more than run in this many milliseconds at the present pace
LINGER = 5  # while jobs wait for a slot, outcomes are gathered this long: whole batches, few transactions
FIRST = 2  # a job that came with a ring starts before more are claimed; if it is quick, its outcome goes along
POLL = 1_000
BACKOFF, LONGEST_BACKOFF = 100, 30_000
LAST_CHANCE = CRASHES - 1  # a job that has seen so many workers die is dead with the next

_TYPE, _CRASHES = field_getter(Claimed, "type"), field_getter(Claimed, "crashes")


class Crew(Protocol):
    """Who runs jobs."""

    def room(self) -> int:
        """How many more jobs could start at once; below zero when some wait for a slot."""
        ...

    def process_room(self) -> int:
        """How many more jobs could start in processes of their own."""
        ...

    @property
    def backlog(self) -> int:
        """How many jobs wait for a slot."""
        ...

    def start(self, flights: list[Flight]) -> None:
        """Run these jobs, each as soon as there is a slot."""
        ...

    def release(self, flight: Flight) -> None:
        """Give a job back that has not begun."""
        ...


class Claimer:
    """One round: write what has ended, claim what fits, hand it to the crew. `step` says when to come back."""

    def __init__(
        self, store: Store, registry: Registry, wants: Mapping[str, Sequence[str]], crew: Crew, flights: Flights,
        finisher: Finisher, clock: Clock, events: Events, poll: int = POLL,
    ) -> None:  # fmt: skip
        self._store, self._registry, self._crew = store, registry, crew
        self._wants, self._apart = (_those(wants, registry, process) for process in (False, True))
        self._flights, self._finisher, self._clock, self._events = flights, finisher, clock, events
        self._poll = poll
        self.worker = ""  # the identity under which to claim; the heartbeat sets it
        self.open = False  # whether to claim at all
        self._lost, self._lost_at = "", 0  # the identity whose lease was gone, and when: nothing is claimed for a while
        self._failures = 0
        self._unsure = False  # a claim got no answer: it may have been committed all the same
        self._ended, self._at, self._pace = 0, 0, 0.0
        self._careful_until = 0  # jobs on their last chance are about: they are taken one by one
        self._offered = False  # a job may be on its way to us through the bell
        self._arrived: deque[tuple[int, list[Claimed]]] = deque()  # when it was offered room, and what came

    @property
    def failing(self) -> bool:
        """Whether the store did not answer the last time."""
        return self._failures > 0

    def step(self, now: int) -> int:
        """One round; answers after how many milliseconds to come back if nothing wakes us before."""
        if self._take_arrived():
            return FIRST
        if self._unsure and self.open:
            return self._find_out(self.worker, now)
        batch, updates = self._finisher.take()
        room = self._room(now)
        transitions = [transition for _, transition in batch]
        worker = self.worker
        try:
            if room > 0:
                claims = self._store.claim(worker, self._wants, room, now, transitions, updates)
            elif transitions or updates:
                claims = _nothing(self._store.finish(transitions, updates))
            else:
                return LINGER if self._crew.backlog else self._poll
        except LeaseLost:
            self._finisher.put_back(batch, updates)
            self._lost, self._lost_at = worker, now
            self._events.emit("lease_lost", worker=worker)
            return 0
        except StoreError as error:
            self._finisher.put_back(batch, updates)
            self._unsure = self._unsure or room > 0
            return self._failed(error)
        except Exception as error:
            if not self._finisher.refused(batch, updates, error):
                raise
            return 0
        self._failures = 0
        self._finisher.settle(batch, claims.verdicts)
        wait = self._hand_over(claims, room, now)
        return min(wait, self._claim_apart(now)) if self._apart else wait

    def _claim_apart(self, now: int) -> int:
        """Claim for process slots no more than can start there: a job that waits here could run at another worker."""
        room = min(self._room(now), self._crew.process_room())
        if room <= 0:
            return self._poll
        try:
            claims = self._store.claim(self.worker, self._apart, room, now)
        except LeaseLost:  # the next round acts on it
            return 0
        except StoreError as error:
            self._unsure = True
            return self._failed(error)
        return self._hand_over(claims, room, now)

    def _find_out(self, worker: str, now: int) -> int:
        """Take over what an unanswered claim has taken: nobody else would, as long as this worker lives."""
        if self._offered:  # what is on its way through the bell must not be taken twice
            return LINGER
        self._take_arrived()
        try:
            held = self._store.claimed_by(worker)
        except StoreError as error:
            return self._failed(error)
        self._unsure, self._failures = False, 0
        missed = [job for job in held if not self._flights.knows(job)]
        if missed and worker == self.worker and self.open:  # it may have rejoined meanwhile
            self._take_over(missed, now)
        return 0

    # the bell's thread ----------------------------------------------------------------------------------------------
    def offer(self, now: int) -> SlotOffer | None:
        """Room for one job that comes while the bell is waited for, if there is any. `answered` must follow."""
        self._offered = True  # first: whoever is unsure looks at this, and this looks at whether he is
        if self._unsure or not self._wants or self._crew.room() <= 0 or self._shut(now) or now < self._careful_until:
            self._offered = False
            return None
        return SlotOffer(self._wants, now, lambda jobs: self._arrived.append((now, jobs)) if jobs else None)

    def answered(self, sure: bool) -> bool:
        """The wait for the bell is over; `sure`: an answer came. Whether there is something to do now."""
        self._unsure = self._unsure or not sure
        self._offered = False
        return self._unsure or bool(self._arrived)

    # ------------------------------------------------------------------------------------------- the claimer's thread
    def _take_arrived(self) -> bool:
        """Start what came with a ring, if something did; if there is no room any more, another worker may have it."""
        some = bool(self._arrived)
        while self._arrived:
            since, jobs = self._arrived.popleft()  # by then they were not ours yet: a pause on the way counts
            self._take_over(jobs, since, spare=not self.open or self._crew.room() <= 0)
        return some

    def _hand_over(self, claims: Claims, room: int, now: int) -> int:
        if claims.jobs:
            self._take_over(claims.jobs, now)
        if self._crew.backlog:
            return LINGER
        if room > 0 and len(claims.jobs) == room:
            return 0 if self._room(now) > 0 else self._poll
        return self._poll if claims.wait is None else max(0, min(claims.wait, self._poll))

    def _take_over(self, jobs: list[Claimed], now: int, spare: bool = False) -> None:
        """Start jobs that were claimed for us, or give them back at once."""
        types = {name: self._registry.get(name) for name in set(map(_TYPE, jobs))}
        flights = [Flight(job, types[job.type], now) for job in jobs]
        risky = [flight for flight in flights if flight.job.crashes >= LAST_CHANCE] if any(map(_CRASHES, jobs)) else []
        spared = flights if spare else self._spared(risky, now) if risky else ()
        self._flights.add(flights)
        if self._events.listeners("claimed"):
            self._events.emit("claimed", jobs=jobs)
        self._crew.start([flight for flight in flights if flight not in spared] if spared else flights)
        for flight in spared:
            self._crew.release(flight)

    def _spared(self, risky: list[Flight], now: int) -> list[Flight]:
        """Which jobs on their last chance to hand back: all but one alone in our hands.

        If that one takes this worker down it was its own doing, and no other dies for it.
        """
        self._careful_until = now + self._poll
        return [] if len(risky) == 1 and not self._risking() else risky

    def _risking(self) -> bool:
        return any(flight.job.crashes >= LAST_CHANCE and not flight.ended for flight in self._flights)

    def _room(self, now: int) -> int:
        if self._shut(now):
            return 0
        if now < self._careful_until:
            return min(1, self._crew.room()) if not self._risking() else 0
        return self._crew.room() + self._ahead(now)

    def _shut(self, now: int) -> bool:
        """Whether nothing is to be claimed, whatever slots are free."""
        return not self.open or self._finisher.full or (self._lost == self.worker and self._too_soon(now))

    def _too_soon(self, now: int) -> bool:
        """Whether to leave it to the heartbeat to come back as someone new, or to find that the lease runs after all."""
        return 0 <= now - self._lost_at < self._poll

    def _ahead(self, now: int) -> int:
        """How many jobs to hold beyond the slots: none for slow ones, some for those that take next to no time."""
        elapsed = now - self._at
        if elapsed >= 5:
            pace = (self._flights.ended - self._ended) / elapsed
            self._pace = pace if pace > self._pace else (self._pace + pace) / 2
            self._ended, self._at = self._flights.ended, now
        return min(PREFETCH, int(self._pace * AHEAD))

    def _failed(self, error: StoreError) -> int:
        wait = min(BACKOFF << self._failures, LONGEST_BACKOFF)
        self._failures = min(self._failures + 1, 10)
        self._events.emit("store_error", error=error, wait=wait)
        return wait


def _those(wants: Mapping[str, Sequence[str]], registry: Registry, process: bool) -> dict[str, list[str]]:
    """What is wanted of the types that run in processes of their own, or of the others."""
    chosen = {queue: [n for n in names if registry.expect(n).process is process] for queue, names in wants.items()}
    return {queue: names for queue, names in chosen.items() if names}


def _nothing(verdicts: list[str]) -> Claims:
    return Claims(verdicts, [], None)
