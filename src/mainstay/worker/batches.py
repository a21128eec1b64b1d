"""Batches: gathers the jobs of a batch type, and passes those of one call to the threads or the event loop, as one execution."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from ..batch_context import BatchContext
from .claimer import LAST_CHANCE, MOST
from .executors import Executor
from .in_flight import Execution

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ..context import Context
    from ..core.outcome import Outcome
    from ..registry import JobType
    from .executors import Begin, End, Loop, Threads

NEVER = 3_600_000  # milliseconds: longer than a claimer waits


class BatchExecution(Execution):
    """The jobs of one call of a handler. It takes one slot; each of its jobs is in flight and ends by itself."""

    ended = True  # from the beginning: its jobs have outcomes, itself has none
    context: BatchContext | None = None
    told: tuple[str | None, bool] | None = None  # for which reason to stop the handler was interrupted
    given_up = False
    counted = False  # one of its jobs has ended

    def __init__(self, type: JobType[..., Any, Any], due: int, end: End) -> None:
        self.type, self.due, self.end = type, due, end
        self.members: list[Execution] = []


class Batches(Executor):
    """Gathers until a batch is full or its first job has waited long enough. The claimer calls; any thread interrupts."""

    def __init__(self, threads: Threads, loop: Loop, begin: Begin, end: End, monotonic: Callable[[], int]) -> None:
        super().__init__(0, begin, end)
        self._threads, self._loop, self._monotonic = threads, loop, monotonic
        self._lock = threading.Lock()
        self._gathering: dict[JobType[..., Any, Any], BatchExecution] = {}
        self._live: list[BatchExecution] = []  # with jobs that have not ended
        self.beside = 0  # jobs that have ended, without the first of each batch

    # gathering ----------------------------------------------------------------------------------------------------
    def start(self, executions: list[Execution]) -> None:
        with self._lock:
            full = [batch for execution in executions if (batch := self._add(execution)) is not None]
        self._pass_on(full)
        self.start_due()

    def _add(self, execution: Execution) -> BatchExecution | None:
        """Add a job to the batch of its type; return the batch if that makes it full. One on its last chance runs alone."""
        type = execution.type
        alone = execution.job.crashes >= LAST_CHANCE
        batch = None if alone else self._gathering.get(type)
        if batch is None:
            batch = BatchExecution(type, self._monotonic() + type.batch.wait, self._end_one)
            self._live.append(batch)
        execution.stop, execution.gathers = batch, type.batch.wait
        batch.members.append(execution)
        if alone:
            return batch
        self._gathering[type] = batch
        return self._gathering.pop(type) if len(batch.members) == type.batch.size else None

    def start_due(self, early: int = 0) -> None:
        """Start the batches that have waited long enough, or will have in so many milliseconds."""
        limit = self._monotonic() + early
        with self._lock:
            due = [batch for batch in self._gathering.values() if batch.due <= limit]
            for batch in due:
                del self._gathering[batch.type]
        self._pass_on(due)

    def wait(self) -> int:
        """Return how many milliseconds until `start_due` has something to do."""
        with self._lock:
            first = min((batch.due for batch in self._gathering.values()), default=None)
        return NEVER if first is None else max(0, first - self._monotonic())

    def _pass_on(self, batches: Iterable[BatchExecution]) -> None:
        for batch in batches:
            self._runs_on(batch).start([batch])

    def _runs_on(self, batch: BatchExecution) -> Threads | Loop:
        return self._loop if batch.type.is_async else self._threads

    def withdraw(self) -> list[Execution]:
        with self._lock:
            found = [member for batch in self._gathering.values() for member in batch.members]
            self._gathering.clear()
        return found

    # slots --------------------------------------------------------------------------------------------------------
    def surplus(self) -> int:
        """Return how many jobs in flight take no slot, because they share that of their batch."""
        if not self._live:
            return 0
        with self._lock:
            unended = {batch: sum(not each.ended for each in batch.members) for batch in self._live}
            self._live = [batch for batch, count in unended.items() if count]
        return sum(count - 1 for count in unended.values() if count)

    def room(self, type: JobType[..., Any, Any], free: int) -> int:
        """Return how many jobs of a type to claim: those that its batch lacks, and a batch for each free slot."""
        size = type.batch.size if type.batch is not None else 1
        with self._lock:
            batch = self._gathering.get(type)
            lacking = 0 if batch is None else size - len(batch.members)
        return min(MOST, lacking + size * max(0, free))

    # running ------------------------------------------------------------------------------------------------------
    def begin(self, batch: BatchExecution) -> BatchContext | None:
        """Return the context for a call of the handler; None if none of the jobs is to run here any more."""
        _share_timeout(batch.members)
        begun: list[tuple[Execution, Context]] = []
        for member in batch.members:
            context = self._begin(member)
            if context is not None:
                begun.append((member, context))
        if not begun:
            return None
        batch.members = [member for member, _ in begun]
        batch.context = BatchContext([context for _, context in begun])
        if batch.context.cancelled_because is not None:  # by another thread in this moment
            self.interrupt(batch.members[0])
        return batch.context

    def _end_one(self, execution: Execution, outcome: Outcome) -> bool:
        """End one of the jobs of a batch."""
        stored = self._end(execution, outcome)
        self.beside += execution.stop.counted
        execution.stop.counted = True
        return stored

    def interrupt(self, execution: Execution) -> None:
        """Stop the handler if each of its jobs is to stop: the last of them interrupts it, once for each reason."""
        batch = execution.stop
        if batch is None or batch.context is None or not batch.context.cancelled:
            return
        reason = batch.context.cancelled_because, batch.context.stopping
        with self._lock:
            if batch.told == reason:
                return
            batch.told = reason
        self._runs_on(batch).interrupt(batch)

    def give_up(self, execution: Execution) -> None:
        """Use the slot for other jobs, if this worker holds none of the batch any more."""
        batch = execution.stop
        with self._lock:
            if batch.given_up or not all(each.ended for each in batch.members):
                return
            batch.given_up = True
        self._runs_on(batch).give_up(batch)

    def stop(self) -> None:
        """Nothing of this runs on threads of its own."""


def _share_timeout(members: Sequence[Execution]) -> None:
    """Give the jobs of a batch the smallest of their timeouts: one call of the handler runs them all."""
    limits = [each.job.timeout for each in members if each.job.timeout is not None and not each.ended]
    for each in members:
        if limits and each.job.timeout != min(limits):
            each.job = each.job._replace(timeout=min(limits))
