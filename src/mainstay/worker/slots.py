"""All slots of a worker, counted together: picks the executor for each job, and interrupts what must stop or runs too long."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, cast

from ..context import Context
from ..core import rules
from ..core.clock import human, iso, monotonic
from ..core.outcome import CANCELLED, COMPLETED, RELEASED, Outcome
from ..core.payload import clean
from ..core.retry import Undecided
from ..registry import ABANDON
from .batches import Batches
from .processes import ProcessSlots
from .reporter import WorkerReporter

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..app import Mainstay
    from ..core.job import Claimed
    from ..registry import JobType
    from .batches import BatchExecution
    from .executors import Loop, Threads
    from .in_flight import Execution, InFlight
    from .outcome_buffer import OutcomeBuffer
    from .registration import Registration

LATE = "timed out, but its handler still runs"
UNSTOPPED = "cancelled, but its handler still runs: it stops at its next safe point (ctx.check, ctx.save) or await"
LEFT = "the worker has stopped, but this handler still runs; the next attempt waits for its end or that of its process"
YIELD = 60_000  # ms after a job was left to a worker with other code
IDLE, BUSY, SOONEST = 200, 100, 10  # milliseconds between two looks at the time limits; IDLE while nothing is in flight
SHORTEST, LONGEST = 1_000, 10_000  # a handler is late when it runs for its timeout once more, within these bounds
PATIENCE = 1_000  # milliseconds that a claimed job may wait here while other workers could run it
ANSWER = 800  # ms after which a worker that runs jobs asks the store which were cancelled: a notification may be lost
UNRESPONSIVE = 10_000  # ms after which a handler that was asked to stop is reported


class Process:
    """The number of this process. To read it here takes a fifth of the time of `os.getpid`."""

    id = os.getpid()

    @classmethod
    def forked(cls) -> None:
        cls.id = os.getpid()


os.register_at_fork(after_in_child=Process.forked)


class Slots:
    """Runs claimed jobs and adds their outcomes to the buffer."""

    def __init__(
        self, app: Mainstay, size: int, processes: int, registration: Registration, in_flight: InFlight,
        outcomes: OutcomeBuffer, wake: Callable[..., None], threads: Callable[..., Threads], loop: Callable[..., Loop],
        process_slots: Callable[..., ProcessSlots] = ProcessSlots,
    ) -> None:  # fmt: skip
        self.process = Process.id  # in which the worker runs: it may be made before a fork, and started after it
        self.size, self._wake, self._monotonic, self._events = size, wake, monotonic(app.clock), app.events
        self._clock, self._asked_at = app.clock, 0  # when the store was last asked which jobs were cancelled
        self._registration, self._in_flight, self._outcomes = registration, in_flight, outcomes
        self.reporter = WorkerReporter(app.store, outcomes, app.clock, self._wake_claimer, app.events)
        self._on_started, self._on_ended = app.events.listeners("started"), app.events.listeners("ended")
        self._on_ended_otherwise = app.events.listeners("ended_otherwise")
        self.loop = loop(size, self.begin, self.end)
        self.threads = threads(size, self.begin, self.end)
        self.processes = process_slots(processes, self.begin, self.end, self.reporter)
        self.batches = Batches(self.threads, self.loop, self.begin, self.end, self._monotonic)
        self._executors = self.threads, self.loop, self.processes, self.batches
        # Those of batches wait for others, not for a slot.
        self._waiting = [executor.jobs for executor in self._executors[:3]]
        self._plain = self.threads.jobs

    def room(self) -> int:
        """Return how many more jobs could start at once. At most `size` slots of each kind that are stuck are replaced."""
        stuck = max(0, self.threads.stuck - self.size) + max(0, self.loop.stuck - self.size)
        return self.size - self._in_flight.active - stuck + self.batches.surplus()

    def start_due(self) -> int:
        """Start the batches that have waited long enough; return when to call this again. If the worker stops, release them."""
        if self._registration.stopping:  # a claim under way at that moment may have brought more
            self.withdraw()
        self.batches.start_due()
        return self.batches.wait()

    @property
    def backlog(self) -> int:
        """How many jobs wait here for a slot."""
        return sum(map(len, self._waiting))

    def start(self, executions: list[Execution]) -> None:
        """Pass each job to the executor of its kind."""
        types = {execution.type for execution in executions}
        for executor in self._executors:
            own = {type for type in types if self._executor(type) is executor}
            if own:
                executor.start(executions if own == types else [each for each in executions if each.type in own])

    def _executor(self, type: JobType[..., Any, Any]) -> Threads | Loop | ProcessSlots | Batches:
        if type.batch is not None:
            return self.batches
        if type.is_async:
            return self.loop
        return self.processes if type.process else self.threads

    def release(self, execution: Execution, delay: int = 0) -> None:
        """Give a job back that has not started; no worker claims it during the delay."""
        self.end(execution, RELEASED._replace(delay=delay) if delay else RELEASED)

    def begin(self, execution: Execution) -> Context | None:
        """Return the context for an attempt that starts now; None if the job is no longer to run here."""
        if execution.ended:  # as every batch is, because its jobs end: so jobs that run alone pay nothing for batches
            return self.batches.begin(cast("BatchExecution", execution)) if execution.members else None
        now, job, registration = self._monotonic(), execution.job, self._registration
        # After a pause of this process the lease may be lost, and the job another worker's.
        if registration.stopping or not registration.holds(execution, now):
            self.end(execution, RELEASED)
            return None
        if job.rules is not None and '"start_by"' in job.rules and (late := self._too_late(job)) is not None:
            self.end(execution, CANCELLED._replace(reason=late))
            return None
        if job.timeout is not None:
            execution.deadline = now + job.timeout
        context = Context(job, self.reporter)
        execution.context, execution.started = context, True
        if registration.releasing:  # `ask_to_stop` may have run before this context could be found
            context.stopping = True
        if execution.cancel is not None:
            self.end(execution, CANCELLED)
        if execution.ended:  # by another thread in this moment, which may not have seen that the handler starts
            return None
        execution.mark = registration.started_jobs.begin(job)
        if self._on_started:
            self._events.emit("started", job=execution.job)
        return context

    def _too_late(self, job: Claimed) -> str | None:
        """Return why a job that had to start by now does not start; None for one that was claimed before: it may have started."""
        start_by = rules.unpack(job.rules).get("start_by") if job.token == 1 else None
        return f"not started by {iso(start_by)}" if start_by is not None and start_by < self._clock.now() else None

    def end(self, execution: Execution, outcome: Outcome) -> bool:
        """Record how an attempt ended; False if another call has done so, or this worker no longer holds the job."""
        if Process.id != self.process:  # a handler forked, and this is the copy: only the original is a worker
            os._exit(0)
        if execution.ended:
            return False
        if execution.overrun is not None and outcome.kind != "completed in transaction":
            outcome = execution.overrun
        elif outcome is not COMPLETED:
            outcome = self.reporter.checked(execution, outcome)
            if outcome.delay and outcome.kind == "released":
                self._registration.yield_jobs(YIELD)
        if outcome is not COMPLETED and self._on_ended_otherwise and (outcome.kind != "completed" or outcome.reason):
            self._events.emit("ended_otherwise", job=execution.job, outcome=outcome)
        if self._on_ended:
            self._events.emit("ended", job=execution.job, outcome=outcome)
        if not self._outcomes.add(execution, outcome):
            return False
        if execution.mark:  # two threads may end it at once: for one of them `add` is true
            self._registration.started_jobs.end(execution.mark)
        if not self._plain and not any(self._waiting):  # as `_wake_claimer`: saves the hot path a call
            self._wake()
        return True

    def _wake_claimer(self) -> None:
        """Let the claimer write now. While jobs wait here, it comes by itself every few milliseconds."""
        if not any(self._waiting):
            self._wake()

    def cancel(self, execution: Execution, because: str) -> None:
        """Ask a handler to stop; interrupt it where that is possible."""
        execution.cancel, execution.asked_at = because, self._monotonic()
        execution.job = execution.job._replace(cancelling=True)
        if execution.context is not None:
            execution.context.cancelled_because = because
        self._executor(execution.type).cancel(execution, because)

    def time_out(self, execution: Execution, outcome: Outcome) -> None:
        """Stop a handler that ran out of time. Its attempt ends when it does, so that two attempts never overlap.

        With `on_timeout="abandon"` the attempt ends now, and the slot is free.
        """
        execution.overrun = outcome
        if execution.context is not None:
            execution.context.cancelled_because = outcome.error
        if execution.type.on_timeout == ABANDON:
            if self.end(execution, outcome):
                self._abandon(execution)
                self._events.emit("late", job=execution.job)
        else:
            self._executor(execution.type).interrupt(execution)

    def report_late(self, execution: Execution) -> None:
        """Tell that a handler still runs a while after its timeout. Its job stays `running` until it ends."""
        execution.late = True
        if execution.context is not None and not execution.type.process:
            execution.context.log(f"{LATE}; the next attempt waits for its end", level="warning")
        self._events.emit("late", job=execution.job)
        self._events.emit("stuck", job=execution.job)

    def _report_unresponsive(self, execution: Execution) -> None:
        """Tell that a handler still runs a while after it was asked to stop. A batch goes on for its other jobs: no report."""
        execution.asked_at = 0
        if execution.started and not execution.members and execution.type.batch is None:
            if execution.context is not None and not execution.type.process:
                execution.context.log(UNSTOPPED, level="warning")
            self._events.emit("unresponsive", job=execution.job)

    def drop(self, execution: Execution, because: str) -> None:
        """Stop a handler whose job this worker no longer holds."""
        if execution.context is not None:
            execution.context.cancelled_because = because
        self._abandon(execution)

    def _abandon(self, execution: Execution) -> None:
        """Free the slot of a job that has ended: kill its process, cancel its task, replace its thread."""
        if execution.started:
            self._executor(execution.type).interrupt(execution)
            self._executor(execution.type).give_up(execution)

    def withdraw(self) -> None:
        for executor in self._executors:
            for execution in executor.withdraw():
                for each in execution.members or (execution,):
                    self.release(each)

    def start_no_more(self) -> None:
        """Start nothing more, and release what has not started; running handlers go on."""
        self._registration.stopping = True
        self.withdraw()

    def ask_to_stop(self) -> None:
        """Start nothing more; running handlers stop at their next safe point."""
        self._registration.releasing = True
        self.start_no_more()
        for execution in self._in_flight:
            if execution.context is not None:
                execution.context.stopping = True
            self._executor(execution.type).ask_to_stop(execution)

    def interrupt(self) -> bool:
        """Cancel async handlers and kill processes: the grace is over. Return whether there were any.

        Each is released when it has ended.
        """
        running = [execution for execution in self.running() if execution.type.is_async or execution.type.process]
        for execution in running:
            if execution.type.process and execution.overrun is None:
                execution.overrun = RELEASED
            self._executor(execution.type).interrupt(execution)
        return bool(running)

    def release_unstarted(self) -> None:
        """Release every job whose handler has not started."""
        self.withdraw()
        for execution in self._in_flight:
            if not execution.started:
                self.release(execution)

    def running(self) -> list[Execution]:
        """Return the executions whose handlers have started and not ended."""
        return [execution for execution in self._in_flight.open() if execution.started]

    def report_left(self, execution: Execution) -> None:
        """Tell that a stopping worker cannot stop a handler. Its job stays `running` until it ends, or this process does."""
        if execution.context is not None:
            execution.context.log(LEFT, level="warning")
        self._events.emit("left", job=execution.job)

    def stop(self) -> None:
        for executor in self._executors:
            executor.stop()

    # time limits: handlers that run too long, and claimed jobs that wait too long for a slot ------------------------------
    def check_times(self, _: int) -> int:
        """Check every execution; return when to do so again. Measures by monotonic time: setting the clock ends no handler."""
        now = self._monotonic()
        wait = BUSY if len(self._in_flight) else IDLE
        waited = False
        for execution in self._in_flight:
            if execution.ended:
                continue
            if execution.deadline is not None:
                wait = min(wait, self._check_time(execution, execution.deadline - now))
            if execution.asked_at and now - execution.asked_at >= UNRESPONSIVE:
                self._report_unresponsive(execution)
            waited = waited or (not execution.started and now - execution.claimed_at > PATIENCE + execution.gathers)
        if len(self._in_flight) and now - max(self._asked_at, self._registration.renewed_at) >= ANSWER:
            self._asked_at = now
            self._wake("heartbeat")
        if waited and (self.room() <= 0 or self.loop.blocked or self.threads.lacking):
            self.withdraw()
        return max(SOONEST, wait)

    def _check_time(self, execution: Execution, left: int) -> int:
        if left > 0:
            return left
        if execution.overrun is None:
            self.time_out(execution, timed_out(execution))
        elif not execution.late and -left >= max(SHORTEST, min(execution.job.timeout or 0, LONGEST)):
            self.report_late(execution)
        return BUSY


def timed_out(execution: Execution) -> Outcome:
    """Return the outcome of an attempt that ran out of time."""
    error = f"TimeoutError: ran longer than timeout={human(execution.job.timeout or 0)}"
    try:
        retry = execution.type.retry.retryable(TimeoutError(error))
    except Undecided as undecided:  # a mistake in the policy must not end the job
        error, retry = clean(f"{error} ({undecided})", 2_000), True
    return Outcome("timed out", error=error, retry=retry)
