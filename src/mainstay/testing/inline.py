"""Runs jobs at once in the calling thread: with the worker's own claimer, runner and outcome buffer, without its threads."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NamedTuple

from ..context import Context
from ..core.clock import SECOND
from ..core.outcome import RELEASED
from ..worker.claimer import Claimer
from ..worker.hook_runner import run_hooks
from ..worker.in_flight import InFlight
from ..worker.outcome_buffer import OutcomeBuffer, WorkerReporter
from ..worker.registration import Registration
from ..worker.runner import arun, run
from ..worker.update_buffer import UpdateBuffer

if TYPE_CHECKING:
    from ..app import Mainstay
    from ..core.decide import Transition
    from ..core.outcome import Outcome
    from ..worker.in_flight import Execution

LEASE = 3_600 * SECOND  # by a clock that only the test moves


class Drained(NamedTuple):
    """How many attempts of a drain ended in each way."""

    completed: int = 0
    retried: int = 0
    snoozed: int = 0
    review: int = 0
    cancelled: int = 0
    dead: int = 0


class InlineWorker:
    """A worker with one slot: runs each claimed job where it is started, before it claims the next."""

    backlog, blocked = 0, False

    def __init__(self, app: Mainstay) -> None:
        self._app, self.ways = app, dict.fromkeys(Drained._fields, 0)
        self.dead: list[str] = []  # the jobs that died
        self._in_flight = InFlight()
        self._outcomes = OutcomeBuffer(self._in_flight, app.clock, random.random, app.events, UpdateBuffer(pause=0))
        self._reporter = WorkerReporter(app.store, self._outcomes, app.clock, lambda: None, app.events)
        names = app.registry.served()
        wants = dict.fromkeys((app.registry.expect(name).queue for name in names), names)
        self._registration = Registration(app, wants, 1, LEASE)
        self._claimer = Claimer(app, self._registration, wants, self, self._in_flight, self._outcomes)

    def room(self) -> int:
        return 1

    def process_room(self) -> int:
        return 1

    def start(self, executions: list[Execution]) -> None:
        for execution in executions:
            execution.started = True
            context = execution.context = Context(execution.job, self._reporter)
            self._app.events.emit("started", job=execution.job)
            if execution.type.is_async:
                _run_async(execution, context, self._end)
            else:
                self._end(execution, run(execution, context))

    def release(self, execution: Execution, delay: int = 0) -> None:
        self._end(execution, RELEASED._replace(delay=delay))

    def _end(self, execution: Execution, outcome: Outcome) -> None:
        self._outcomes.add(execution, self._reporter.checked(execution, outcome))

    def drain(self) -> None:
        """Run everything that is due now, and what that enqueues."""
        forget = self._app.events.on("stored", self._count)
        self._registration.register()
        end_hooks = run_hooks(self._app)
        try:
            before = -1
            while self._in_flight.ended != before or self._outcomes.pending:
                before = self._in_flight.ended
                self._claimer.step(self._app.clock.now())
        finally:
            forget()
            end_hooks()
            self._registration.deregister()

    def _count(self, transitions: list[Transition]) -> None:
        for transition in transitions:
            way = transition.outcome if transition.state == "scheduled" else transition.state
            if way == "dead":
                self.dead.append(transition.id)
            self.ways[way if way in self.ways else "retried"] += 1


def _run_async(execution: Execution, context: Context, end: object) -> None:
    """Run an async handler on a loop of its own: the test may run inside one."""
    import asyncio
    import threading

    thread = threading.Thread(target=lambda: asyncio.run(arun(execution, context, end)))  # type: ignore[arg-type]
    thread.start()
    thread.join()
