"""What handlers in the worker's own process report: updates, checkpoints and completions in a transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.errors import StoreError
from ..core.outcome import Outcome
from ..core.states import COMPLETED

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..core.clock import Clock
    from ..core.job import Claimed
    from ..core.updates import Update
    from ..stores.contract import Store
    from .outcome_buffer import OutcomeBuffer


class WorkerReporter:
    """The `Reporter` of handlers that run in the worker's own process."""

    def __init__(self, store: Store, outcomes: OutcomeBuffer, clock: Clock, wake: Callable[[], None]) -> None:
        self.store, self._outcomes, self._clock, self._wake = store, outcomes, clock, wake

    def now(self) -> int:
        return self._clock.now()

    def report(self, update: Update) -> None:
        self._outcomes.add_update(update)
        self._wake()

    def checkpoint(self, job: Claimed) -> str | None:
        return self.store.checkpoint(job.id)

    def verify(self, job: Claimed, outcome: Outcome) -> Outcome:
        """Return `completed` if the completion in the handler's transaction was committed, else a failure."""
        try:
            found = self.store.get(job.id)
        except StoreError:
            found = None
        if found is not None and found.state == COMPLETED and found.token == job.token:
            return Outcome("completed")
        return Outcome(
            "failed", error="NotCommitted: ctx.complete_in was called, but its transaction was not committed"
        )
