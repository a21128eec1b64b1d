"""All slots of a worker, counted together: picks the executor for each job and interrupts what must stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..context import Context
from ..core.outcome import CANCELLED, HANDED_BACK, Outcome
from .executors import Loop, Threads

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..core.clock import Clock
    from ..core.events import Events
    from .finisher import Finisher
    from .flight import Flight, Flights
    from .sink import WorkerSink


class Crew:
    """Runs flights and hands their outcomes to the finisher."""

    def __init__(
        self, slots: int, flights: Flights, finisher: Finisher, sink: WorkerSink, clock: Clock, events: Events,
        ended: Callable[[], None], processes: int = 1,
    ) -> None:  # fmt: skip
        self.slots = slots
        self._flights, self._finisher, self._sink = flights, finisher, sink
        self._clock, self._events, self._ended = clock, events, ended
        self._on_started, self._on_ended = events.listeners("started"), events.listeners("ended")
        self.stopping = False
        self._loop = Loop(slots, self._begin, self._end)
        self._threads = Threads(slots, self._begin, self._end, self._run_plain)
        self._queues = [self._threads.jobs, self._loop.jobs]
        self._process_slots = processes
        self._processes: Threads | None = None

    def room(self) -> int:
        """How many more jobs could start at once."""
        return self.slots - self._flights.active - self._threads.stuck

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

    def _process_executor(self) -> Threads:
        """Threads that each keep one child process busy."""
        if self._processes is None:
            from .processes import ProcessSlots

            self._processes = ProcessSlots(self._process_slots, self._begin, self._end)
        return self._processes

    def _begin(self, flight: Flight) -> Context | None:
        """The context for an attempt that starts now; None when the job is no longer to run here."""
        if flight.ended:
            return None
        if self.stopping:
            self._end(flight, HANDED_BACK)
            return None
        now = self._clock.now()
        if flight.job.timeout is not None:
            flight.deadline = now + flight.job.timeout
        context = Context(flight.job, self._sink)
        flight.context, flight.started = context, True
        if flight.cancel is not None:
            self._end(flight, CANCELLED)
            return None
        if self._on_started:
            self._events.emit("started", job=flight.job)
        return context

    def _run_plain(self, flight: Flight, context: Context) -> Outcome:
        from .runner import run

        return run(flight, context)

    def _end(self, flight: Flight, outcome: Outcome) -> None:
        if outcome.kind == "completed in transaction":
            outcome = self._sink.verify(flight.job, outcome)
        if self._on_ended:
            self._events.emit("ended", job=flight.job, outcome=outcome)
        if self._finisher.add(flight, outcome) and not any(self._queues):
            self._ended()  # while jobs wait here the claimer comes by itself, every few milliseconds

    def cancel(self, flight: Flight, because: str) -> None:
        """Tell a handler to stop; interrupt it where that can be done."""
        flight.cancel = because
        flight.job = flight.job._replace(cancelling=True)
        if flight.context is not None:
            flight.context.cancelled_because = because
        self._interrupt(flight, CANCELLED._replace(reason=because))

    def time_out(self, flight: Flight, outcome: Outcome) -> None:
        """Record the time-out now, free the slot, and stop the handler where that can be done."""
        if flight.context is not None:
            flight.context.cancelled_because = outcome.error
        self._end(flight, outcome)
        if not (flight.type.is_async or flight.type.process):
            self._threads.give_up(flight)
            self._events.emit("late", job=flight.job)
        self._interrupt(flight, outcome)

    def let_go(self, flight: Flight, because: str) -> None:
        """Stop a handler whose job is no longer ours."""
        if flight.context is not None:
            flight.context.cancelled_because = because
        self._interrupt(flight, None)

    def _interrupt(self, flight: Flight, outcome: Outcome | None) -> None:
        if not flight.started:
            return
        if flight.type.is_async:
            self._loop.interrupt(flight)
        elif flight.type.process and self._processes is not None:
            if outcome is not None:
                self._end(flight, outcome)
            self._processes.interrupt(flight)  # type: ignore[attr-defined]

    def withdraw(self) -> None:
        """Hand back what has not begun."""
        waiting = self._threads.withdraw() + self._loop.withdraw()
        waiting += self._processes.withdraw() if self._processes is not None else []
        for flight in waiting:
            self._end(flight, HANDED_BACK)

    def ask_to_stop(self) -> None:
        """Begin nothing more; running handlers stop at their next safe point."""
        self.stopping = True
        self.withdraw()
        for flight in self._flights:
            if flight.context is not None:
                flight.context.stopping = True
            if flight.type.process and self._processes is not None:
                self._processes.ask_to_stop(flight)  # type: ignore[attr-defined]

    def abandon(self) -> None:
        """Hand back what still runs: the grace is over."""
        for flight in self._flights:
            if not flight.ended:
                self._end(flight, HANDED_BACK)
                self._interrupt(flight, None)

    def stop(self) -> None:
        """Let go of every thread, loop and child."""
        self._threads.stop()
        self._loop.stop()
        if self._processes is not None:
            self._processes.stop()
