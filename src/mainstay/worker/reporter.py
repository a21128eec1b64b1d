"""What handlers in the worker's own process report: updates, checkpoints and completions in a transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..context import completion
from ..core.errors import StoreError
from ..core.outcome import INVALID, Outcome
from ..core.states import COMPLETED
from .rolling_deploy import left_to_others

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..context import Completion
    from ..core.clock import Clock
    from ..core.draft import Draft
    from ..core.job import Claimed
    from ..core.updates import Update
    from ..stores.contract import Store
    from .in_flight import Execution
    from .outcome_buffer import OutcomeBuffer


class WorkerReporter:
    """The `Reporter` of handlers that run in the worker's own process."""

    def __init__(self, store: Store, outcomes: OutcomeBuffer, clock: Clock, wake: Callable[[], None]) -> None:
        self._store, self._outcomes, self._clock, self._wake = store, outcomes, clock, wake

    def now(self) -> int:
        return self._clock.now()

    def report(self, update: Update) -> None:
        self._outcomes.add_update(update)
        self._wake()

    def checkpoint(self, job: Claimed) -> str | None:
        return self._store.checkpoint(job.id)

    def completing(self, job: Claimed, children: tuple[Draft, ...], result: str | None) -> Completion:
        return self._store, completion(job, self._clock.now(), result, children)

    def checked(self, execution: Execution, outcome: Outcome) -> Outcome:
        """Return the outcome to store: the store knows about a completion in a transaction, and about other workers."""
        if outcome.kind == "completed in transaction":
            return self._committed(execution.job)
        if outcome.reason == INVALID and not outcome.retry:
            return left_to_others(self._store, execution, outcome, self._clock.now())
        return outcome

    def _committed(self, job: Claimed) -> Outcome:
        """Return `completed` if the completion in the handler's transaction was committed, else a failure."""
        try:
            found = self._store.get(job.id)
        except StoreError:
            found = None
        if found is not None and found.state == COMPLETED and found.token == job.token:
            return Outcome("completed")
        return Outcome(
            "failed", error="NotCommitted: ctx.complete_in was called, but its transaction was not committed"
        )
