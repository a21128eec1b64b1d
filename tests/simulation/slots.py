"""What runs handlers in virtual time: the slots of the real crew, and the flights on which a stopping worker waits."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from mainstay.worker.executors import GIVEN_UP
from mainstay.worker.in_flight import Flights
from mainstay.worker.runner import failure, success
from tests.simulation.scheduler import Crash

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from mainstay.context import Context
    from mainstay.core.outcome import Outcome
    from mainstay.worker.in_flight import Flight
    from tests.simulation.scheduler import Scheduler

    Script = Generator[int, None, Any]  # a handler: yields how long it takes until its next line
    Play = Callable[[Flight, Context], Script]


class Interrupted(BaseException):
    """What asyncio raises in a task that is cancelled; known to the runner by this name."""


Interrupted.__name__ = "CancelledError"


class Slots:
    """Stands in for the executors: `Threads`, whose handlers nothing can stop, and `Loop`, whose handlers are interrupted.

    `play` makes the script of a handler; `through` is told when one is through.
    """

    def __init__(
        self, scheduler: Scheduler, play: Play, through: Callable[[Flight, Outcome], None], slots: int,
        begin: Callable[[Flight], Context | None], end: Callable[[Flight, Outcome], None],
    ) -> None:  # fmt: skip
        self._scheduler, self._play, self._through = scheduler, play, through
        self._slots, self._begin, self._finish = slots, begin, end
        self._process = scheduler.current
        self._running: dict[Flight, Any] = {}  # and its script
        self.jobs: deque[Flight] = deque()
        self.stuck = 0

    @property
    def backlog(self) -> int:
        """How many jobs wait for a slot."""
        return len(self.jobs)

    def start(self, flights: list[Flight]) -> None:
        """Run these as slots come free."""
        self.jobs.extend(flights)
        self._later(0, self._launch)

    def _later(self, wait: int, action: Callable[[], None]) -> None:
        self._scheduler.after(wait, self._process, action)

    def _launch(self) -> None:
        while self.jobs and len(self._running) - self.stuck < self._slots:
            flight = self.jobs.popleft()
            context = self._begin(flight)
            if context is not None:
                self._running[flight] = self._play(flight, context)
                self._go_on(flight, None)

    def _go_on(self, flight: Flight, error: BaseException | None) -> None:
        """Let a handler come to its next line."""
        script = self._running.get(flight)
        if script is None:  # it was interrupted or has ended meanwhile
            return
        if script.gi_running:  # it waits inside a call of its own
            self._later(10, lambda: self._go_on(flight, error))
            return
        context: Any = flight.context
        try:
            wait = next(script) if error is None else script.throw(error)
        except StopIteration as returned:
            self._end(flight, success(context, returned.value))
        except Crash:
            raise
        except BaseException as raised:  # noqa: BLE001 - whatever a handler raises is an outcome
            self._end(flight, failure(flight.type, context, raised))
        else:
            self._later(wait, lambda: self._go_on(flight, None))

    def _end(self, flight: Flight, outcome: Outcome) -> None:
        del self._running[flight]
        if flight.stop == GIVEN_UP:
            self.stuck -= 1
        self._through(flight, outcome)
        self._finish(flight, outcome)
        self._launch()

    def give_up(self, flight: Flight) -> None:
        """Leave a handler alone that does not come back."""
        flight.stop = GIVEN_UP
        self.stuck += 1

    def interrupt(self, flight: Flight) -> None:
        """Raise in the handler, at its next line."""
        self._later(0, lambda: self._go_on(flight, Interrupted()))

    def withdraw(self) -> list[Flight]:
        """Take back what has not begun."""
        found = list(self.jobs)
        self.jobs.clear()
        return found

    def stop(self) -> None:
        """Nothing to let go of."""


class SimulatedFlights(Flights):
    """Flights on which one can wait: virtual time passes meanwhile."""

    def __init__(self, scheduler: Scheduler, last_words: int) -> None:
        super().__init__()
        self._scheduler, self._process = scheduler, scheduler.current
        self._patience = last_words

    def wait_idle(self, seconds: float) -> bool:
        until = self._scheduler.now + round(seconds * 1000)
        if self.active > 0:
            self._scheduler.pump(until, lambda: self.active == 0 or not self._process.alive)
        while self._process.paused_until > self._scheduler.now:
            self._scheduler.pump(self._process.paused_until)
        self._process.check()
        return self.active == 0

    def wait_settled(self, seconds: float) -> None:
        """Wait a moment. Whoever waits for too long is killed, as a supervisor would do."""
        self._patience -= 100
        if self._patience < 0:
            raise Crash(self._process.name)
        self._scheduler.pump(self._scheduler.now + 100)
        self._process.check()
