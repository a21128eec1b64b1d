"""What a context asks of its worker: keep reports until they are stored, and read what the store knows about the job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.errors import LeaseLost, StoreError
from ..core.job import Labels
from ..core.outcome import INVALID, Outcome
from ..core.review import last
from ..core.states import COMPLETED
from ..core.updates import LogLimits, Progress, Update
from .rolling_deploy import left_to_others

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..core.clock import Clock
    from ..core.events import Events
    from ..core.job import Claimed
    from ..job_log import JobLog
    from ..stores.contract import Store
    from .in_flight import Execution
    from .outcome_buffer import OutcomeBuffer

ACTIONS = 100  # of operators on one job, among which the one is looked for that let it run again


class WorkerReporter:
    """The `Reporter` of handlers that run in the worker's own process."""

    limits = LogLimits()

    def __init__(
        self, store: Store, outcomes: OutcomeBuffer, clock: Clock, wake: Callable[[], None], events: Events
    ) -> None:
        self.store, self._outcomes, self.now, self._wake = store, outcomes, clock.now, wake
        self.announced = outcomes.updates.announced  # the logs whose lines the next round takes
        self.close, self.hold = outcomes.updates.pack, outcomes.updates.hold
        self._events, self._on_progress = events, events.listeners("progress")

    def report(self, update: Update) -> None:
        first = self._outcomes.add_update(update)
        if self._on_progress and type(update) is Progress:
            self._events.emit("progress", update=update)
        if first:
            self._wake_soon()

    def announce(self, log: JobLog) -> None:
        """Take the lines of a log with the next round."""
        if self._outcomes.updates.open(log):
            self._wake_soon()

    def _wake_soon(self) -> None:
        self._outcomes.fresh = True
        self._wake()

    def checkpoint(self, job: Claimed) -> str | None:
        """Return what an earlier attempt saved. A worker that has lost the job must not read what a later one saves."""
        if job.token == 1:
            return None
        saved = self.store.checkpoint(job.id)
        found = self.store.get(job.id)
        return saved if found is not None and found.token == job.token else None

    def labels(self, job: Claimed) -> Labels:
        """Return what the producer said about the job, read now. A newer draft may have replaced one that was lost."""
        found = self.store.get(job.id)
        if found is None or found.token != job.token:
            raise LeaseLost
        labels = Labels._make(getattr(found, name) for name in Labels._fields)
        return labels._replace(review=last(found.review, self.store.actions(job.id, ACTIONS) if found.review else ()))

    def checked(self, execution: Execution, outcome: Outcome) -> Outcome:
        """Return the outcome to store: the store knows about a completion in a transaction, and about other workers."""
        if outcome.kind == "completed in transaction":
            return self._committed(execution.job)
        if outcome.reason == INVALID and not outcome.retry:
            return left_to_others(self.store, execution, outcome, self.now())
        return outcome

    def _committed(self, job: Claimed) -> Outcome:
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
