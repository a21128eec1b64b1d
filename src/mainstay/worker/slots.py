"""All slots of a worker, counted together: picks the executor for each job and interrupts what must stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..context import Context
from ..core.outcome import CANCELLED, COMPLETED, RELEASED, Outcome
from ..stores.contract import StartedJobs
from .executors import Loop, Threads

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..core.clock import Clock
    from ..core.events import Events
    from .in_flight import Flight, Flights
    from .outcome_buffer import Finisher
    from .processes import ProcessSlots
    from .reporter import WorkerSink


class Crew:
    """Runs flights and hands their outcomes to the finisher."""

    def __init__(
        self, slots: int, flights: Flights, finisher: Finisher, sink: WorkerSink, clock: Clock, events: Events,
        ended: Callable[[], None], processes: int = 1, holds: Callable[[Flight, int], bool] = lambda flight, now: True,
    ) -> None:  # fmt: skip
        self.slots = slots
        self._flights, self._finisher, self._sink = flights, finisher, sink
        self._clock, self._events, self._ended, self._holds = clock, events, ended, holds
        self._on_started, self._on_ended = events.listeners("started"), events.listeners("ended")
        self.stopping = False
        self.marks = StartedJobs()  # the worker sets its own once it has joined
        self._loop = Loop(slots, self._begin, self._end)
        self._threads = Threads(slots, self._begin, self._end)
        self._plain, self._awaited = self._threads.jobs, self._loop.jobs
        self._process_slots = processes
        self._processes: ProcessSlots | None = None

    def room(self) -> int:
        """How many more jobs could start at once. As many stuck threads as there are slots are made up for, no more."""
        return self.slots - self._flights.active - max(0, self._threads.stuck - self.slots)

    def process_room(self) -> int:
        """How many more jobs could start in processes of their own."""
        return self._processes.room if self._processes is not None else self._process_slots

    @property
    def backlog(self) -> int:
        """How many jobs wait here for a slot."""
        return self._threads.backlog + self._loop.backlog + (self._processes.backlog if self._processes else 0)

    def start(self, flights: list[Flight]) -> None:
        """Hand each job to the executor of its kind."""
        asynchronous = [flight for flight in flights if flight.type.is_async]
        separate = [flight for flight in flights if flight.type.process]
        if asynchronous:
            self._loop.start(asynchronous)
        if separate:
            self._process_executor().start(separate)
        if len(asynchronous) + len(separate) < len(flights):
            plain = [flight for flight in flights if not (flight.type.is_async or flight.type.process)]
            self._threads.start(plain)

    def release(self, flight: Flight) -> None:
        """Give a job back that has not begun."""
        self._end(flight, RELEASED)

    def _process_executor(self) -> ProcessSlots:
        """Threads that each keep one child process busy."""
        if self._processes is None:
            from .processes import ProcessSlots

            self._processes = ProcessSlots(self._process_slots, self._begin, self._end, self._sink)
        return self._processes

    def _begin(self, flight: Flight) -> Context | None:
        """The context for an attempt that starts now; None when the job is no longer to run here."""
        if flight.ended:
            return None
        now, job = self._clock.now(), flight.job
        if self.stopping or not self._holds(flight, now):  # after a pause the lease may be gone, and the job another's
            self._end(flight, RELEASED)
            return None
        if job.timeout is not None:
            flight.deadline = now + job.timeout
        context = Context(job, self._sink)
        flight.context, flight.started = context, True
        if self.stopping:  # again: it may have been said before the context could be found
            context.stopping = True
        if flight.cancel is not None:
            self._end(flight, CANCELLED)
        if flight.ended:  # taken away in this very moment: whoever did so may not have seen that it starts
            return None
        flight.mark = self.marks.begin(job)
        if self._on_started:
            self._events.emit("started", job=flight.job)
        return context

    def _end(self, flight: Flight, outcome: Outcome) -> bool:
        """Record how an attempt ended; False when somebody did so before, or the job is no longer ours."""
        if flight.ended:
            return False
        if flight.mark:
            self.marks.end(flight.mark)
            flight.mark = 0
        if outcome is not COMPLETED and outcome.kind == "completed in transaction":
            outcome = self._sink.verify(flight.job, outcome)
        if self._on_ended:
            self._events.emit("ended", job=flight.job, outcome=outcome)
        if not self._finisher.add(flight, outcome):
            return False
        if not (self._plain or self._awaited or self.backlog):
            self._ended()  # while jobs wait here the claimer comes by itself, every few milliseconds
        return True

    def cancel(self, flight: Flight, because: str) -> None:
        """Tell a handler to stop; interrupt it where that can be done."""
        flight.cancel = because
        flight.job = flight.job._replace(cancelling=True)
        if flight.context is not None:
            flight.context.cancelled_because = because
        if flight.type.process and self._processes is not None:
            self._processes.cancel(flight, because)
        elif flight.type.is_async:
            self._interrupt(flight)

    def time_out(self, flight: Flight, outcome: Outcome) -> None:
        """Record the time-out now, free the slot, and stop the handler where that can be done."""
        if flight.context is not None:
            flight.context.cancelled_because = outcome.error
        if self._end(flight, outcome):
            self._interrupt(flight)
            if not (flight.type.is_async or flight.type.process):
                self._events.emit("late", job=flight.job)

    def let_go(self, flight: Flight, because: str) -> None:
        """Stop a handler whose job is no longer ours."""
        if flight.context is not None:
            flight.context.cancelled_because = because
        self._interrupt(flight)

    def _interrupt(self, flight: Flight) -> None:
        """Free the slot of a job that has ended for us: kill its process, cancel its task, or leave its thread alone."""
        if not flight.started:
            return
        if flight.type.is_async:
            self._loop.interrupt(flight)
        elif not flight.type.process:
            self._threads.give_up(flight)
        elif self._processes is not None:
            self._processes.interrupt(flight)

    def withdraw(self) -> None:
        """Hand back what has not begun."""
        waiting = self._threads.withdraw() + self._loop.withdraw()
        waiting += self._processes.withdraw() if self._processes is not None else []
        for flight in waiting:
            self.release(flight)

    def ask_to_stop(self) -> None:
        """Begin nothing more; running handlers stop at their next safe point."""
        self.stopping = True
        self.withdraw()
        for flight in self._flights:
            if flight.context is not None:
                flight.context.stopping = True
            if flight.type.process and self._processes is not None:
                self._processes.ask_to_stop(flight)

    def abandon(self) -> None:
        """Hand back what still runs: the grace is over."""
        for flight in self._flights:
            if self._end(flight, RELEASED):
                self._interrupt(flight)

    def stop(self) -> None:
        """Let go of every thread, loop and child."""
        self._threads.stop()
        self._loop.stop()
        if self._processes is not None:
            self._processes.stop()
