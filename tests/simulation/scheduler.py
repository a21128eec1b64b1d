"""Virtual time: runs what is due next, in one thread, in an order that the seed decides.

A call that takes long, a process that is paused and a stop that waits are nested: while one process waits inside its own
call, `pump` runs whatever else is due. So the real, blocking code of the worker needs no other form to be simulated.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

from mainstay.stores.sqlite.connect import Stall
from mainstay.worker.update_buffer import UpdateBuffer

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from mainstay.stores.local_workers import Watched

START = 1_000_000  # the first virtual millisecond
DEEPEST = 4  # calls that may wait inside one another


class Crash(BaseException):
    """The process dies here, without any cleanup. Not an `Exception`, so that no code catches it."""


class Process:
    """A simulated process: can be killed and paused, and has a clock of its own."""

    def __init__(self, scheduler: Scheduler, name: str, offset: int = 0, drift: float = 0.0) -> None:
        self.name, self._scheduler = name, scheduler
        self._alive = True
        self.died: Callable[[Process], None] = lambda process: None  # what the kernel does when it is dead
        self.identities: list[str] = []  # under which its worker has registered
        self.paused_until = self.paused = 0  # … and for how long altogether
        self.stall = Stall(lambda: scheduler.now / 1000)  # what it knows of long waits for SQLite's write lock
        self.watched: dict[str, Watched] = {}  # by its sweeps
        self.updates = UpdateBuffer(pause=0)  # of its worker: what handlers report
        self.steps_under_way = 0  # of its services: more than none while one of their calls takes long
        self._offset, self._drift = offset, drift

    @property
    def alive(self) -> bool:
        """Whether it runs or is paused."""
        return self._alive

    @alive.setter
    def alive(self, alive: bool) -> None:
        if self._alive and not alive:
            self._alive = False
            self.died(self)

    def now(self) -> int:
        """Return the time by this process's wall clock."""
        engine = self._scheduler.now
        return engine + self._offset + int((engine - START) * self._drift)

    def monotonic(self) -> int:
        """Return the time by this process's monotonic clock: it drifts as the wall clock, and is never set."""
        engine = self._scheduler.now
        return engine + int((engine - START) * self._drift)

    def set_clock(self, by: int) -> None:
        """Put the wall clock forward or back."""
        self._offset += by

    def pause(self, until: int) -> None:
        """Stand still until an instant."""
        self.paused += max(0, until - max(self._scheduler.now, self.paused_until))
        self.paused_until = max(until, self.paused_until)

    def check(self) -> None:
        """Raise `Crash` in a process that was killed meanwhile."""
        if not self.alive:
            raise Crash(self.name)


class Scheduler:
    """The events to come, and the engine's time."""

    def __init__(self, random: Random) -> None:
        self.now = START
        self.steps = 0
        self.depth = 0
        self.current = Process(self, "nobody")
        self._random = random.random
        self._heap: list[tuple[int, float, Process, Callable[[], None]]] = []
        self.halted = False

    def halt(self) -> None:
        """End this world: nothing more can be learnt from it."""
        self.halted = True
        self._heap.clear()

    def after(self, wait: int, process: Process, action: Callable[[], None]) -> None:
        """Run an action of a process some time from now; what falls on the same instant runs in any order."""
        luck = self._random()
        if self.halted:
            return
        heappush(self._heap, (self.now + wait + int(luck * 4), luck, process, action))

    def pump(self, until: int, enough: Callable[[], bool] | None = None) -> bool:
        """Run what is due up to an instant, or until `enough()`; return whether it is."""
        self.depth += 1
        inner = self.current
        try:
            while self._heap and self._heap[0][0] <= until:
                self._one()
                if enough is not None and enough():
                    return True
        finally:
            self.depth -= 1
            self.current = inner
        self.now = max(self.now, until)
        return enough is not None and enough()

    def _one(self) -> None:
        when, luck, process, action = heappop(self._heap)
        self.now = max(self.now, when)
        if not process.alive:
            return
        if process.paused_until > self.now:
            again = min(process.paused_until, self.now + 1_000)  # a pause may be cut short
            heappush(self._heap, (again, luck, process, action))
            return
        self.steps += 1
        self.current = process
        try:
            action()
        except Crash:
            process.alive = False

    @property
    def deep(self) -> bool:
        """Whether enough calls wait inside one another."""
        return self.depth > DEEPEST


class Service:
    """In place of `worker.service.Service`: the scheduler calls the steps."""

    def __init__(
        self, scheduler: Scheduler, broken: Callable[[BaseException], None], name: str, step: Callable[[int], int],
        *_: object,
    ) -> None:  # fmt: skip
        self._scheduler, self._broken, self._name, self._step = scheduler, broken, name, step
        self._process = scheduler.current
        self._turn = 0  # only the newest appointment counts
        self._running = self._woken = self._stopping = False

    def start(self) -> None:
        """Begin, unless stopped already."""
        if self._name != "listener":  # it would wait for a notification; here the notification calls it
            self._plan(0)

    def wake(self) -> None:
        """Call the next step now."""
        if self._running:
            self._woken = True
        elif not self._stopping:
            self._plan(0)

    def stop(self) -> None:
        """No more steps."""
        self._stopping = True

    def _plan(self, wait: int) -> None:
        self._turn += 1
        turn = self._turn
        self._scheduler.after(wait, self._process, lambda: self._run(turn))

    def _run(self, turn: int) -> None:
        if turn != self._turn or self._stopping or self._running:
            return
        self._running, self._woken = True, False
        self._process.steps_under_way += 1
        wait = self._try()
        self._process.steps_under_way -= 1
        self._running = False
        self._go_on(wait)

    def _go_on(self, wait: int) -> None:
        if not self._stopping and self._name != "listener":
            self._plan(0 if self._woken else wait)

    def _try(self) -> int:
        try:
            return self._step(self._process.now())
        except Exception as error:  # noqa: BLE001 - a step must never raise: this is a finding
            self._broken(error)
            return 1_000
