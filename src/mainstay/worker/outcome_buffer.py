"""Outcomes on their way to the store: a bounded buffer that never drops, decided once, retried until written."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from ..core.decide import Transition, completed, decide
from ..core.outcome import CANCELLED, COMPLETED, Outcome
from ..core.payload import clean
from ..core.updates import Checkpoint, Progress, Update
from ..core.verdict import ALREADY, BUSY, CANCELLING, LOST, STORED

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..core.clock import Clock
    from ..core.events import Events
    from .in_flight import Flight, Flights

FULL = 2_000  # outcomes waiting: above this nothing more is claimed
BATCH = 1_000


class Finisher:
    """Collects outcomes and notes; the claimer writes them with its next claim, or alone when nothing is claimed."""

    def __init__(self, flights: Flights, clock: Clock, random: Callable[[], float], events: Events) -> None:
        self._flights, self._clock, self._random, self._events = flights, clock, random, events
        self._waiting: deque[tuple[Flight, Transition]] = deque()
        self._updates: deque[Update] = deque()
        self._stored = events.listeners("stored")
        self._suspects = 0  # one of the next so many cannot be stored

    def add(self, flight: Flight, outcome: Outcome) -> bool:
        """Take the outcome of an attempt; False when the job is no longer ours."""
        if not self._flights.end(flight):
            return False
        job, now = flight.job, self._clock.now()
        if outcome is COMPLETED and not job.cancelling:  # spares the hot path a call
            self._waiting.append((flight, completed(job, now)))
        else:
            self._waiting.append((flight, decide(job, outcome, now, self._random)))
        return True

    def note(self, note: Update) -> None:
        """Take a note; of progress and checkpoints only the newest counts, so a slow store cannot pile them up."""
        if isinstance(note, (Progress, Checkpoint)) and len(self._updates) > BATCH:
            self._updates = deque(n for n in self._updates if type(n) is not type(note) or n.seq != note.seq)
        self._updates.append(note)

    @property
    def pending(self) -> int:
        """How many outcomes and notes wait to be written."""
        return len(self._waiting) + len(self._updates)

    @property
    def full(self) -> bool:
        """Whether to claim nothing more until the store has caught up."""
        return len(self._waiting) >= FULL

    def take(self) -> tuple[list[tuple[Flight, Transition]], list[Update]]:
        """What is to be written now. Outcomes first: the notes of an outcome taken are then surely among the notes."""
        waiting, updates = self._waiting, self._updates
        if self._suspects:
            return self._take_one()
        batch = [waiting.popleft() for _ in range(min(len(waiting), BATCH))]
        return batch, [updates.popleft() for _ in range(len(updates))]

    def _take_one(self) -> tuple[list[tuple[Flight, Transition]], list[Update]]:
        self._suspects -= 1
        if self._updates:
            return [], [self._updates.popleft()]
        return ([self._waiting.popleft()] if self._waiting else []), []

    def refused(self, batch: list[tuple[Flight, Transition]], updates: list[Update], error: Exception) -> bool:
        """Something here is what no store can hold, or a bug meets it: find it, spare the others; False if there is nothing.

        An outcome that cannot be stored becomes a failure that can, so that its job ends; a note is left out.
        """
        if len(batch) + len(updates) > 1:
            self.put_back(batch, updates)
            self._suspects = len(batch) + len(updates)
        elif batch:
            flight = batch[0][0]
            outcome = Outcome(
                "failed", error=clean(repr(error), 2_000), retry=False, reason="its outcome cannot be stored"
            )
            self._waiting.appendleft((flight, decide(flight.job, outcome, self._clock.now(), self._random)))
        return bool(batch or updates)

    def put_back(self, batch: list[tuple[Flight, Transition]], updates: list[Update]) -> None:
        """Keep for the next try what the store did not take."""
        self._waiting.extendleft(reversed(batch))
        self._updates.extendleft(reversed(updates))

    def settle(self, batch: list[tuple[Flight, Transition]], verdicts: list[str]) -> None:
        """Act on the store's verdicts: let go of what is written or lost, decide anew what was cancelled meanwhile."""
        if self._stored or verdicts.count(STORED) != len(batch):
            self._sort_out(batch, verdicts)
        else:
            self._flights.settle([flight for flight, _ in batch])

    def _sort_out(self, batch: list[tuple[Flight, Transition]], verdicts: list[str]) -> None:
        done = []
        for (flight, transition), verdict in zip(batch, verdicts, strict=True):
            if verdict == CANCELLING:
                self._decide_again(flight)
                continue
            if verdict == BUSY:
                self._waiting.append((flight, transition))
                continue
            done.append(flight)
            if verdict == LOST:
                self._events.emit("lost", transition=transition)
        self._flights.settle(done)
        if self._stored:
            kept = [t for (_, t), verdict in zip(batch, verdicts, strict=True) if verdict in (STORED, ALREADY)]
            self._events.emit("stored", transitions=kept)

    def _decide_again(self, flight: Flight) -> None:
        flight.job = flight.job._replace(cancelling=True)
        transition = decide(
            flight.job, CANCELLED._replace(reason="cancelled on request"), self._clock.now(), self._random
        )
        self._waiting.append((flight, transition))
