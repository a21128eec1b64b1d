"""Running jobs in the calling thread, at once: the worker's own claimer, runner and finisher, without its threads."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NamedTuple

from ..context import Context
from ..core.clock import SECOND
from ..core.job import WorkerInfo
from ..core.outcome import RELEASED
from ..worker import new_identity
from ..worker.claimer import Claimer
from ..worker.in_flight import Flights
from ..worker.outcome_buffer import Finisher
from ..worker.reporter import WorkerSink
from ..worker.runner import arun, run

if TYPE_CHECKING:
    from ..app import Mainstay
    from ..core.outcome import Outcome
    from ..worker.in_flight import Flight

LEASE = 3_600 * SECOND  # of a clock that only the test moves


class Drained(NamedTuple):
    """What a drain came to: how many attempts ended in each way."""

    completed: int = 0
    retried: int = 0
    snoozed: int = 0
    review: int = 0
    cancelled: int = 0
    dead: int = 0


class InlineWorker:
    """A crew of one: each claimed job is run where it is started, before the next is looked at."""

    backlog = 0

    def __init__(self, app: Mainstay) -> None:
        self._app, self.ways = app, dict.fromkeys(Drained._fields, 0)
        self._flights = Flights()
        self._finisher = Finisher(self._flights, app.clock, random.random, app.events)
        self._sink = WorkerSink(app.store, self._finisher, app.clock, lambda: None)
        names = app.registry.names()
        queues = dict.fromkeys(app.registry.expect(name).queue for name in names)
        self._queues, self._names = tuple(queues), tuple(names)
        self._claimer = Claimer(
            app.store, app.registry, dict.fromkeys(queues, names), self, self._flights, self._finisher, app.clock,
            app.events,
        )  # fmt: skip

    def room(self) -> int:
        return 1

    def process_room(self) -> int:
        return 1

    def start(self, flights: list[Flight]) -> None:
        for flight in flights:
            flight.started = True
            context = flight.context = Context(flight.job, self._sink)
            if flight.type.is_async:
                _run_async(flight, context, self._end)
            else:
                self._end(flight, run(flight, context))

    def release(self, flight: Flight) -> None:
        self._end(flight, RELEASED)

    def _end(self, flight: Flight, outcome: Outcome) -> None:
        if outcome.kind == "completed in transaction":
            outcome = self._sink.verify(flight.job, outcome)
        self._finisher.add(flight, outcome)

    def drain(self) -> None:
        """Run everything that is due now, and what that enqueues."""
        identity, now = new_identity(), self._app.clock.now()
        self._app.store.register(
            WorkerInfo(identity, "test", 0, 1, self._queues, self._names, now, now, now + LEASE, 0, False)
        )
        forget = self._app.events.on("stored", self._count)
        self._claimer.worker, self._claimer.open = identity, True
        try:
            before = -1
            while self._flights.ended != before or self._finisher.pending:
                before = self._flights.ended
                self._claimer.step(self._app.clock.now())
        finally:
            forget()
            self._app.store.deregister(identity)

    def _count(self, transitions: list[object]) -> None:
        for transition in transitions:
            state = getattr(transition, "state", "")
            way = getattr(transition, "outcome", "") if state == "scheduled" else state
            self.ways["snoozed" if way == "snoozed" else way if way in self.ways else "retried"] += 1


def _run_async(flight: Flight, context: Context, end: object) -> None:
    """Run an async handler on a loop of its own: the test may have one that runs already."""
    import asyncio
    import threading

    thread = threading.Thread(target=lambda: asyncio.run(arun(flight, context, end)))  # type: ignore[arg-type]
    thread.start()
    thread.join()
