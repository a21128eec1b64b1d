"""The executors of handlers in virtual time, and the jobs in flight that a stopping worker waits for."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from mainstay.worker.executors import GIVEN_UP
from mainstay.worker.in_flight import InFlight
from mainstay.worker.runner import failure, success
from tests.simulation.scheduler import Crash

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from mainstay.context import Context
    from mainstay.core.outcome import Outcome
    from mainstay.worker.in_flight import Execution
    from tests.simulation.scheduler import Scheduler

    Script = Generator[int, None, Any]  # a handler: yields how long it takes until its next line
    Play = Callable[[Execution, Context], Script]


class Interrupted(BaseException):
    """What asyncio raises in a task that is cancelled; the runner knows it by this name."""


Interrupted.__name__ = "CancelledError"


class SimulatedExecutor:
    """In place of `Loop`, whose handlers can be interrupted.

    `play` makes the script of a handler; `ended` is called when one has ended.
    """

    def __init__(
        self, scheduler: Scheduler, play: Play, ended: Callable[[Execution, Outcome], None], slots: int,
        begin: Callable[[Execution], Context | None], end: Callable[[Execution, Outcome], None],
    ) -> None:  # fmt: skip
        self._scheduler, self._play, self._ended = scheduler, play, ended
        self._slots, self._begin, self._finish = slots, begin, end
        self._process = scheduler.current
        self._running: dict[Execution, Any] = {}  # and its script
        self.jobs: deque[Execution] = deque()
        self.stuck, self.blocked, self.lacking = 0, False, False

    def start(self, executions: list[Execution]) -> None:
        """Run these as slots come free."""
        self.jobs.extend(executions)
        self._later(0, self._launch)

    def _later(self, wait: int, action: Callable[[], None]) -> None:
        self._scheduler.after(wait, self._process, action)

    def _launch(self) -> None:
        while self.jobs and len(self._running) - self.stuck < self._slots:
            execution = self.jobs.popleft()
            context = self._begin(execution)
            if context is not None:
                self._running[execution] = self._play(execution, context)
                self._go_on(execution, None)

    def _go_on(self, execution: Execution, error: BaseException | None) -> None:
        """Run a handler up to its next line."""
        script = self._running.get(execution)
        if script is None:  # it was interrupted or has ended meanwhile
            return
        if script.gi_running:  # it waits inside a call of its own
            self._later(10, lambda: self._go_on(execution, error))
            return
        context: Any = execution.context
        try:
            wait = next(script) if error is None else script.throw(error)
        except StopIteration as returned:
            self._end(execution, success(context, returned.value))
        except Crash:
            raise
        except BaseException as raised:  # noqa: BLE001 - whatever a handler raises is an outcome
            self._end(execution, failure(execution.type, context, raised))
        else:
            self._later(wait, lambda: self._go_on(execution, None))

    def _end(self, execution: Execution, outcome: Outcome) -> None:
        del self._running[execution]
        if execution.stop == GIVEN_UP:
            self.stuck -= 1
        self._ended(execution, outcome)
        self._finish(execution, outcome)
        self._launch()

    def interrupt(self, execution: Execution) -> None:
        """Raise in the handler, at its next line."""
        self._later(0, lambda: self._go_on(execution, Interrupted()))

    def give_up(self, execution: Execution) -> None:
        """Replace the slot of a handler that does not return, or ignores that it is cancelled."""
        if execution in self._running:
            execution.stop = GIVEN_UP
            self.stuck += 1
            self._later(0, self._launch)

    def withdraw(self) -> list[Execution]:
        """Remove and return what has not started."""
        found = list(self.jobs)
        self.jobs.clear()
        return found

    def cancel(self, execution: Execution, because: str) -> None:
        """Interrupt the handler of a cancelled job."""
        self.interrupt(execution)

    def ask_to_stop(self, execution: Execution) -> None:
        """The context tells the handler."""

    def stop(self) -> None:
        """There is nothing to stop."""


class SimulatedThreads(SimulatedExecutor):
    """In place of `Threads`, whose handlers nothing can stop."""

    def interrupt(self, execution: Execution) -> None:
        """Nothing can stop it."""

    def cancel(self, execution: Execution, because: str) -> None:
        """The context tells the handler."""


class SimulatedInFlight(InFlight):
    """The jobs in flight of a simulated worker: virtual time passes while it waits for them."""

    def __init__(self, scheduler: Scheduler, final_writes: int) -> None:
        super().__init__()
        self._scheduler, self._process = scheduler, scheduler.current
        self._left = final_writes

    def wait_ended(self, seconds: float, counts: Callable[[Execution], bool]) -> bool:
        until = self._scheduler.now + round(seconds * 1000)

        def ended() -> bool:
            return not any(map(counts, self._open))

        if not ended():
            self._scheduler.pump(until, lambda: ended() or not self._process.alive)
        while self._process.paused_until > self._scheduler.now:
            self._scheduler.pump(self._process.paused_until)
        self._process.check()
        return ended()

    def wait_removed(self, seconds: float) -> None:
        """Wait a moment. A worker that waits too long is killed, as a supervisor does."""
        self._left -= 100
        if self._left < 0:
            raise Crash(self._process.name)
        self._scheduler.pump(self._scheduler.now + 100)
        self._process.check()
