"""Where the words of running handlers go: notes to the finisher, checkpoints from the store, completions to a transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..context import completion
from ..core.errors import StoreError
from ..core.outcome import Outcome
from ..core.states import COMPLETED

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..context import Completion
    from ..core.clock import Clock
    from ..core.draft import Draft
    from ..core.job import Claimed
    from ..core.updates import Update
    from ..stores.contract import Store
    from .outcome_buffer import Finisher


class WorkerSink:
    """The sink of handlers that run in the worker's own process."""

    def __init__(self, store: Store, finisher: Finisher, clock: Clock, wake: Callable[[], None]) -> None:
        self._store, self._finisher, self._clock, self._wake = store, finisher, clock, wake

    def now(self) -> int:
        return self._clock.now()

    def note(self, note: Update) -> None:
        self._finisher.note(note)
        self._wake()

    def checkpoint(self, job: Claimed) -> str | None:
        return self._store.checkpoint(job.id)

    def completing(self, job: Claimed, children: tuple[Draft, ...], result: str | None) -> Completion:
        return self._store, completion(job, self._clock.now(), result, children)

    def verify(self, job: Claimed, outcome: Outcome) -> Outcome:
        """Whether a completion in the handler's transaction was committed; if not, the attempt failed."""
        try:
            found = self._store.get(job.id)
        except StoreError:
            found = None
        if found is not None and found.state == COMPLETED and found.token == job.token:
            return Outcome("completed")
        return Outcome(
            "failed", error="NotCommitted: ctx.complete_in was called, but its transaction was not committed"
        )
