"""Who runs the handlers: threads for plain functions, one event loop on a thread of its own for async ones."""

from __future__ import annotations

import threading
from collections import deque
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from . import runner

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine

    from ..core.outcome import Outcome
    from .in_flight import Flight

    Begin = Callable[[Flight], Any]
    End = Callable[[Flight, Outcome], bool]
    Run = Callable[[Flight, Any], Outcome]

GIVEN_UP, BACK = "given up", "back"


class Threads:
    """Thread slots, made as they are needed. A thread that is stuck past its timeout is given up and replaced.

    A thread that ends a job takes the next without sleeping in between, and wakes one other only while jobs wait: a
    batch of quick jobs is run by one or two threads without passing the interpreter's lock around, and a slow handler
    never holds up the rest.
    """

    def __init__(self, slots: int, begin: Begin, end: End, run: Run = runner.run) -> None:
        self._slots, self._begin, self._end, self._run = slots, begin, end, run
        self.jobs: deque[Flight] = deque()
        self._calls: SimpleQueue[bool] = SimpleQueue()  # True: come and work; False: go home
        self._lock = threading.Lock()
        self._threads = self._idle = 0
        self._called = False  # one is on its way
        self.stuck = 0

    def start(self, flights: list[Flight]) -> None:
        """Run these as slots come free."""
        self.jobs.extend(flights)
        self._call()

    @property
    def backlog(self) -> int:
        """How many jobs wait for a slot."""
        return len(self.jobs)

    def _call(self) -> None:
        """Have one more thread at work, if there is one to be had and none is on its way."""
        with self._lock:
            if self._called or not self.jobs:
                return
            if self._idle:
                self._idle -= 1
                self._called = True
                self._calls.put(True)
            elif self._threads < self._slots:
                self._threads += 1
                self._called = True
                threading.Thread(target=self._work, name=f"mainstay-slot-{self._threads}", daemon=True).start()

    def _work(self) -> None:
        while True:
            self._called = False
            while self.jobs:
                try:
                    flight = self.jobs.popleft()
                except IndexError:
                    break
                if self.jobs and not self._called:
                    self._call()
                if self._do(flight):
                    return
            if self._rest() and not self._calls.get():
                return

    def _do(self, flight: Flight) -> bool:
        """Run one job; True when this thread was given up meanwhile and has been replaced."""
        context = self._begin(flight)
        if context is not None and self._end(flight, self._run(flight, context)):
            return False
        with self._lock:  # someone else ended the job: whoever comes here second knows what the first has done
            given_up, flight.stop = flight.stop == GIVEN_UP, BACK
            self.stuck -= given_up
        return bool(given_up)

    def _rest(self) -> bool:
        """Go idle, unless jobs came in the meantime."""
        with self._lock:
            if self.jobs:
                return False
            self._idle += 1
            return True

    def give_up(self, flight: Flight) -> None:
        """Replace the thread that runs this flight: a thread cannot be killed, only left alone."""
        with self._lock:
            if flight.stop == BACK:
                return
            flight.stop = GIVEN_UP
            self.stuck += 1
            self._threads -= 1
        self._call()

    def withdraw(self) -> list[Flight]:
        """Take back what no thread has begun."""
        return drained(self.jobs)

    def stop(self) -> None:
        """Let idle threads end; a stuck one ends with the process."""
        for _ in range(self._threads):
            self._calls.put(False)


def drained(jobs: deque[Flight]) -> list[Flight]:
    """Everything a queue holds, taken out while others may take too."""
    found: list[Flight] = []
    try:
        while True:
            found.append(jobs.popleft())
    except IndexError:
        return found


def _cancel(flight: Flight) -> None:
    if flight.stop is not None:
        flight.stop.cancel()


class Loop:
    """The event loop for async handlers: many at once, one wake-up a batch."""

    def __init__(self, slots: int, begin: Begin, end: End) -> None:
        self._slots, self._begin, self._end = slots, begin, end
        self.jobs: deque[Flight] = deque()
        self._running = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]
        self._thread: threading.Thread | None = None

    def start(self, flights: list[Flight]) -> None:
        """Run these as slots come free."""
        self.jobs.extend(flights)
        self._ready().call_soon_threadsafe(self._launch)

    def _ready(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            import asyncio

            self._loop = asyncio.new_event_loop()
            self._task = self._loop.create_task
            if hasattr(asyncio, "eager_task_factory"):  # 3.12: a handler that never waits costs no trip round the loop
                self._task = partial(asyncio.Task, loop=self._loop, eager_start=True)  # type: ignore[call-arg]
            self._thread = threading.Thread(target=self._loop.run_forever, name="mainstay-loop", daemon=True)
            self._thread.start()
        return self._loop

    def _launch(self) -> None:
        while self._running < self._slots and self._loop is not None:
            try:
                flight = self.jobs.popleft()
            except IndexError:
                return
            context = self._begin(flight)
            if context is not None:
                self._running += 1
                task = self._task(runner.arun(flight, context, self._ended))
                if not task.done():
                    flight.stop = task

    def _ended(self, flight: Flight, outcome: Outcome) -> None:
        self._running -= 1
        self._end(flight, outcome)
        if self.jobs and self._loop is not None and self._running == self._slots - 1:
            self._loop.call_soon(self._launch)

    def interrupt(self, flight: Flight) -> None:
        """Raise CancelledError inside the handler, at its next await."""
        if self._loop is not None:  # asked on the loop's own thread: there a task that has begun is known
            self._loop.call_soon_threadsafe(_cancel, flight)

    @property
    def backlog(self) -> int:
        """How many jobs wait for a slot."""
        return len(self.jobs)

    def withdraw(self) -> list[Flight]:
        """Take back what has not begun."""
        return drained(self.jobs)

    def stop(self) -> None:
        """Stop the loop once its callbacks are through."""
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(5)
            if not self._thread.is_alive():
                self._loop.close()
            self._loop = None
