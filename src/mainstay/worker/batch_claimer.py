"""The claimer of a worker with batch types: claims for each of them apart, as many jobs as its batches take."""

from __future__ import annotations

from functools import partial
from operator import is_
from typing import TYPE_CHECKING, Any

from .claimer import GATHER, POLL, Claimer, wanted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..app import Mainstay
    from ..registry import JobType
    from .in_flight import InFlight
    from .outcome_buffer import OutcomeBuffer
    from .registration import Registration
    from .slots import Slots


def claimer(
    app: Mainstay, registration: Registration, wants: Mapping[str, Sequence[str]], slots: Slots,
    in_flight: InFlight, outcomes: OutcomeBuffer, poll: int = POLL,
) -> Claimer:  # fmt: skip
    """Return the claimer for what a worker wants."""
    made: type[Claimer] = Claimer
    if any(app.registry.expect(name).batch for names in wants.values() for name in names):
        made = BatchClaimer
    return made(app, registration, wants, slots, in_flight, outcomes, poll)


class BatchClaimer(Claimer):
    """Claims for batch types before or after all others, in turn: neither keeps the other from the slots."""

    def __init__(
        self, app: Mainstay, registration: Registration, wants: Mapping[str, Sequence[str]], slots: Slots,
        in_flight: InFlight, outcomes: OutcomeBuffer, poll: int = POLL,
    ) -> None:  # fmt: skip
        super().__init__(app, registration, wants, slots, in_flight, outcomes, poll)
        types = {type.name: type for type in app.registry.values() if type.batch is not None}.values()
        found = [(type, wanted(wants, app.registry, partial(is_, type))) for type in types]
        self._batch_wants = [(type, of_queues) for type, of_queues in found if of_queues]
        self._before = False

    def step(self, now: int) -> int:
        self._slots.start_due()
        self._before = not self._before
        wait = self._poll
        if self._before and not self.failing:
            wait = self._claim_for_batches(now)
            if self.failing:
                return wait
        wait = min(wait, super().step(now))
        if not self._before and not self.failing:
            wait = min(wait, self._claim_for_batches(now))
        wait = min(wait, self._slots.start_due())
        return min(wait, GATHER) if self._slots.backlog else wait  # a batch that waits for a slot: nothing else wakes the claimer

    def _claim_for_batches(self, now: int) -> int:
        self._batch_wants.append(self._batch_wants.pop(0))  # each is first in turn
        wait = self._poll
        for type, wants in self._batch_wants:
            since = self._monotonic()
            wait = min(wait, self._claim_apart(wants, self._batch_room(type, since), now, since))
            if self.failing:
                break
        return wait

    def _batch_room(self, type: JobType[..., Any, Any], now: int) -> int:
        if self._closed(now) or (type.is_async and self._slots.loop.blocked):
            return 0
        if self._careful(now):
            return min(1, self._slots.room())
        return min(self._slots.batches.room(type, self._slots.room()), self.most - self._in_flight.added)
