"""What handlers leave to be stored: a bounded buffer that drops nothing. Each outcome is decided once and retried until stored."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

from ..core.decide import Completed, Transition, completed, decide
from ..core.outcome import CANCELLED, COMPLETED, Outcome
from ..core.payload import clean
from ..core.verdict import ALREADY, BUSY, CANCELLING, LOST, STORED
from .update_buffer import ROUND, ROUND_CHARACTERS, UpdateBuffer

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..core.clock import Clock
    from ..core.events import Events
    from ..core.job import Claimed
    from ..core.updates import Update
    from .in_flight import Execution, InFlight

    Batch = list[tuple[Execution, Transition]]

FULL, FULL_CHARACTERS = 2_000, 64 << 20  # outcomes waiting: above this nothing more is claimed
# Of one round. No fewer than a worker claims at once: what is left over takes a round of its own. A server closes the connection of a
# statement of 1 GB.
BATCH, BATCH_CHARACTERS = 2_000, 8 << 20
_REQUESTED = CANCELLED._replace(reason="cancelled on request")


class OutcomeBuffer:
    """Collects outcomes and updates; the claimer writes them with its next claim, or alone when nothing is claimed."""

    def __init__(
        self, in_flight: InFlight, clock: Clock, random: Callable[[], float], events: Events,
        updates: UpdateBuffer | None = None,
    ) -> None:  # fmt: skip
        self._in_flight, self._clock, self._random, self._events = in_flight, clock, random, events
        self._outcomes: deque[tuple[Execution, Transition]] = deque()
        self.updates = UpdateBuffer() if updates is None else updates
        self.add_update = self.updates.add
        self._count_lock, self._characters = threading.Lock(), 0  # of all outcomes that wait
        self.more = False  # the last `take` has left something for the next round
        self._on_stored = events.listeners("stored")
        self.fresh = False  # the first update came since the last round
        self._suspects = 0  # one of the next so many cannot be stored: they are taken one by one

    def add(self, execution: Execution, outcome: Outcome) -> bool:
        """Add the outcome of an attempt; False if this worker no longer holds the job. If this raises, the attempt has not ended."""
        job, now = execution.job, self._clock.now()
        if outcome is COMPLETED and not job.cancelling:  # saves the hot path a call
            ended = completed(job, now)
            if not self._in_flight.end(execution):
                return False
            self._outcomes.append((execution, ended))
            return True
        transition = decide(job, outcome, now, self._random)
        if not self._in_flight.end(execution):
            return False
        self._append(execution, transition)
        return True

    def _append(self, execution: Execution, transition: Transition) -> None:
        self._count(_size(transition))
        self._outcomes.append((execution, transition))

    def _count(self, characters: int) -> None:
        if characters:
            with self._count_lock:
                self._characters += characters

    @property
    def pending(self) -> int:
        """How many outcomes and updates wait to be written."""
        return len(self._outcomes) + len(self.updates)

    @property
    def full(self) -> bool:
        """Whether to claim nothing more until the store has caught up."""
        return len(self._outcomes) >= FULL or self._characters >= FULL_CHARACTERS

    def gathers(self) -> bool:
        """Return whether the round is to come a moment later, once: for an update alone. Others, and the outcome, may go along."""
        fresh, self.fresh = self.fresh, False
        return fresh and not self._outcomes

    def take(self, failures: int = 0) -> tuple[Batch, list[Update]]:
        """Return what to write now: no more than the store writes at once, half of it after each failure.

        Outcomes are taken first: the updates of an attempt that has ended are then surely among the updates. The outcome
        of an attempt stays here as long as updates of it do, because the store refuses those of an attempt that has ended.
        """
        if self._suspects:
            return self._take_one()
        batch = self._take_outcomes(BATCH >> failures, BATCH_CHARACTERS >> failures)
        try:
            updates, left = self.updates.take(max(1, ROUND >> failures), ROUND_CHARACTERS >> failures)
        except BaseException:
            self.put_back(batch, [])  # else their jobs would be `running` until this worker ends
            raise
        if left:
            held = [each for each in batch if (each[1].seq, each[1].token) in left]
            batch = [each for each in batch if (each[1].seq, each[1].token) not in left]
            self.put_back(held, [])
        self.more = self.more or bool(left)
        return batch, updates

    def _take_outcomes(self, most: int, characters: int) -> Batch:
        outcomes, taken = self._outcomes, 0
        batch: Batch = []
        self.more = False  # outcomes that come from now on do not count: a round gathers many of them
        waiting = len(outcomes)
        if not self._characters and waiting <= most:  # nearly always: none of them has a size
            return [outcomes.popleft() for _ in range(waiting)]
        while outcomes:
            transition = outcomes[0][1]
            size = 0 if type(transition) is Completed else _size(transition)  # saves the hot path a call
            if batch and (len(batch) >= most or taken + size > characters):
                self.more = True
                break
            taken += size
            batch.append(outcomes.popleft())
        self._count(-taken)
        return batch

    def _take_one(self) -> tuple[Batch, list[Update]]:
        self._suspects -= 1
        self.more = True
        if self.updates:
            return [], self.updates.take(1)[0]
        return self._take_outcomes(1, 0), []

    def refused(self, batch: Batch, updates: list[Update], error: Exception) -> bool:
        """Isolate what no store can hold, or what meets a bug; return False if nothing was being written.

        An outcome that cannot be stored becomes a failure that can, so that its job ends. An update is left out.
        """
        if len(batch) + len(updates) > 1:
            self.put_back(batch, updates)
            self._suspects = len(batch) + len(updates)
        elif batch:
            execution = batch[0][0]
            unstorable = "its outcome cannot be stored"
            outcome = Outcome("failed", error=clean(repr(error), 2_000), retry=False, reason=unstorable)
            self.put_back([(execution, decide(execution.job, outcome, self._clock.now(), self._random))], [])
        return bool(batch or updates)

    def put_back(self, batch: Batch, updates: list[Update]) -> None:
        """Keep for the next round what the store did not take."""
        self._count(sum(_size(transition) for _, transition in batch))
        self._outcomes.extendleft(reversed(batch))
        self.updates.put_back(updates)

    def apply_verdicts(self, batch: Batch, verdicts: list[str]) -> list[Claimed]:
        """Act on the store's verdicts: forget what is stored or lost, decide again what was cancelled; return the lost jobs."""
        if verdicts.count(STORED) != len(batch):
            return self._apply_each(batch, verdicts)
        self._in_flight.remove([execution for execution, _ in batch])
        if self._on_stored:
            self._events.emit("stored", transitions=[transition for _, transition in batch])
        return []

    def _apply_each(self, batch: Batch, verdicts: list[str]) -> list[Claimed]:
        done, lost = [], []
        for (execution, transition), verdict in zip(batch, verdicts, strict=True):
            if verdict == CANCELLING:
                execution.job = execution.job._replace(cancelling=True)
                self._append(execution, decide(execution.job, _REQUESTED, self._clock.now(), self._random))
            elif verdict == BUSY:
                self._append(execution, transition)
            else:
                done.append(execution)
            if verdict == LOST:
                lost.append(execution.job)
                self._events.emit("lost", transition=transition)
        self._in_flight.remove(done)
        if self._on_stored:
            kept = [t for (_, t), verdict in zip(batch, verdicts, strict=True) if verdict in (STORED, ALREADY)]
            self._events.emit("stored", transitions=kept)
        return lost


def _size(transition: Transition) -> int:
    """Return about how many characters an outcome has."""
    if type(transition) is Completed:
        return 0
    own = (transition.result, transition.error, transition.traceback)
    return sum(len(text or "") for text in (*own, *(child.payload for child in transition.children)))
