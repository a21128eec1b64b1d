"""All slots of a worker, counted together: picks the executor for each job and interrupts what must stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..context import Context
from ..core.outcome import CANCELLED, COMPLETED, RELEASED, Outcome
from .outcome_buffer import WorkerReporter
from .processes import ProcessSlots

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..app import Mainstay
    from .executors import Loop, Threads
    from .in_flight import Execution, InFlight
    from .outcome_buffer import OutcomeBuffer
    from .registration import Registration

YIELD = 60_000  # ms after a job was left to a worker with other code


class Slots:
    """Runs claimed jobs and adds their outcomes to the buffer."""

    def __init__(
        self, app: Mainstay, size: int, processes: int, registration: Registration, in_flight: InFlight,
        outcomes: OutcomeBuffer, wake: Callable[[], None], threads: Callable[..., Threads], loop: Callable[..., Loop],
    ) -> None:  # fmt: skip
        self.size, self._wake, self._clock, self._events = size, wake, app.clock, app.events
        self._registration, self._in_flight, self._outcomes = registration, in_flight, outcomes
        self._reporter = WorkerReporter(app.store, outcomes, app.clock, wake)
        self._on_started, self._on_ended = app.events.listeners("started"), app.events.listeners("ended")
        self.loop = loop(size, self.begin, self.end)
        self.threads = threads(size, self.begin, self.end)
        self.processes = ProcessSlots(processes, self.begin, self.end, self._reporter)
        self._executors = self.threads, self.loop, self.processes
        self._waiting = [executor.jobs for executor in self._executors]

    def room(self) -> int:
        """Return how many more jobs could start at once. At most `size` stuck threads are replaced."""
        return self.size - self._in_flight.active - max(0, self.threads.stuck - self.size)

    def process_room(self) -> int:
        """Return how many more jobs could start in processes of their own."""
        return self.processes.room

    @property
    def backlog(self) -> int:
        """How many jobs wait here for a slot."""
        return sum(map(len, self._waiting))

    def start(self, executions: list[Execution]) -> None:
        """Pass each job to the executor of its kind."""
        asynchronous = [execution for execution in executions if execution.type.is_async]
        separate = [execution for execution in executions if execution.type.process]
        if asynchronous:
            self.loop.start(asynchronous)
        if separate:
            self.processes.start(separate)
        if len(asynchronous) + len(separate) < len(executions):
            self.threads.start([each for each in executions if not (each.type.is_async or each.type.process)])

    def _executor(self, execution: Execution) -> Threads | Loop | ProcessSlots:
        if execution.type.is_async:
            return self.loop
        return self.processes if execution.type.process else self.threads

    def release(self, execution: Execution) -> None:
        """Give a job back that has not started."""
        self.end(execution, RELEASED)

    def begin(self, execution: Execution) -> Context | None:
        """Return the context for an attempt that starts now; None if the job is no longer to run here."""
        if execution.ended:
            return None
        now, job, registration = self._clock.now(), execution.job, self._registration
        # After a pause of this process the lease may be lost, and the job another worker's.
        if registration.stopping or not registration.holds(execution, now):
            self.end(execution, RELEASED)
            return None
        if job.timeout is not None:
            execution.deadline = now + job.timeout
        context = Context(job, self._reporter)
        execution.context, execution.started = context, True
        if registration.stopping:  # again: `ask_to_stop` may have run before this context could be found
            context.stopping = True
        if execution.cancel is not None:
            self.end(execution, CANCELLED)
        if execution.ended:  # by another thread in this moment, which may not have seen that the handler starts
            return None
        execution.mark = registration.started_jobs.begin(job)
        if self._on_started:
            self._events.emit("started", job=execution.job)
        return context

    def end(self, execution: Execution, outcome: Outcome) -> bool:
        """Record how an attempt ended; False if another call has done so, or this worker no longer holds the job."""
        if execution.ended:
            return False
        if execution.mark:
            self._registration.started_jobs.end(execution.mark)
            execution.mark = 0
        if outcome is not COMPLETED:
            outcome = self._reporter.checked(execution, outcome)
            if outcome.delay and outcome.kind == "released":
                self._registration.yields_until = self._clock.now() + YIELD
        if self._on_ended:
            self._events.emit("ended", job=execution.job, outcome=outcome)
        if not self._outcomes.add(execution, outcome):
            return False
        if not any(self._waiting):
            self._wake()  # while jobs wait here, the claimer comes by itself every few milliseconds
        return True

    def cancel(self, execution: Execution, because: str) -> None:
        """Ask a handler to stop; interrupt it where that is possible."""
        execution.cancel = because
        execution.job = execution.job._replace(cancelling=True)
        if execution.context is not None:
            execution.context.cancelled_because = because
        self._executor(execution).cancel(execution, because)

    def time_out(self, execution: Execution, outcome: Outcome) -> None:
        """Record the time-out now, free the slot, and stop the handler where that is possible."""
        if execution.context is not None:
            execution.context.cancelled_because = outcome.error
        if self.end(execution, outcome):
            self._interrupt(execution)
            if self._executor(execution) is self.threads:
                self._events.emit("late", job=execution.job)

    def drop(self, execution: Execution, because: str) -> None:
        """Stop a handler whose job this worker no longer holds."""
        if execution.context is not None:
            execution.context.cancelled_because = because
        self._interrupt(execution)

    def _interrupt(self, execution: Execution) -> None:
        """Free the slot of a job that has ended: kill its process, cancel its task, or replace its thread."""
        if execution.started:
            self._executor(execution).interrupt(execution)

    def withdraw(self) -> None:
        for executor in self._executors:
            for execution in executor.withdraw():
                self.release(execution)

    def ask_to_stop(self) -> None:
        """Start nothing more; running handlers stop at their next safe point."""
        self._registration.stopping = True
        self.withdraw()
        for execution in self._in_flight:
            if execution.context is not None:
                execution.context.stopping = True
            self._executor(execution).ask_to_stop(execution)

    def abandon(self) -> None:
        """Release what still runs: the grace is over."""
        for execution in self._in_flight:
            if self.end(execution, RELEASED):
                self._interrupt(execution)

    def stop(self) -> None:
        for executor in self._executors:
            executor.stop()
