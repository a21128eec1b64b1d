"""The executors of handlers: threads for plain functions, one event loop on a thread of its own for async ones."""

from __future__ import annotations

import threading
import time
from collections import deque
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from ..core.events import report_failure
from ..core.outcome import Outcome
from . import runner

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine

    from .in_flight import Execution

    Begin = Callable[[Execution], Any]
    End = Callable[[Execution, Outcome], bool]
    Run = Callable[[Execution, Any], Outcome]

GIVEN_UP, BACK = "given up", "back"
BLOCKED = 1.0  # seconds without a reply after which a loop counts as blocked
CLEAN_UP = 2.0  # seconds for the `finally` of async handlers that are cancelled at the end of the grace


class Executor:
    """Runs the handlers of one kind. `jobs` has those that wait for a slot."""

    def __init__(self, slots: int, begin: Begin, end: End) -> None:
        self._slots, self._begin, self._end = slots, begin, end
        self.jobs: deque[Execution] = deque()

    def withdraw(self) -> list[Execution]:
        """Remove and return what has not started, while slots may take from it too."""
        found: list[Execution] = []
        try:
            while True:
                found.append(self.jobs.popleft())
        except IndexError:
            return found

    def cancel(self, execution: Execution, because: str) -> None:
        """Interrupt a handler that someone cancelled, where that is possible. Its context tells it in any case."""
        self.interrupt(execution)

    def interrupt(self, execution: Execution) -> None:
        """Stop a handler where that is possible. A thread cannot be stopped."""

    def give_up(self, execution: Execution) -> None:
        """Use the slot of a handler that still runs for other jobs: this worker no longer holds its job."""

    def ask_to_stop(self, execution: Execution) -> None:
        """Tell a handler that the worker shuts down, if its context is not in this process."""

    def _end_broken(self, execution: Execution, error: BaseException) -> None:
        """End a job whose start or end met a bug, or all jobs of a batch: it would be `running` until this worker ends."""
        report_failure("the start or the end of a handler", error, "and the worker goes on")
        for each in execution.members or (execution,):
            try:
                self._end(each, Outcome("failed", error=runner.described(error)))
            except BaseException as again:  # noqa: BLE001  (the slot goes on)
                report_failure("the end of a handler", again, "and the worker goes on")


class Threads(Executor):
    """Thread slots, made as they are needed. A thread that is stuck past its timeout is given up and replaced.

    A thread that ends a job takes the next without sleeping in between, and wakes one other only while jobs wait. So
    one or two threads run a batch of quick jobs without passing the interpreter's lock around, and a slow handler
    never delays the rest.
    """

    def __init__(self, slots: int, begin: Begin, end: End, run: Run = runner.run) -> None:
        super().__init__(slots, begin, end)
        self._run = run
        self._calls: SimpleQueue[bool] = SimpleQueue()  # True: there are jobs; False: end
        self._lock = threading.Lock()
        self._threads = self._idle = 0
        self._called = False  # one thread was called and has not come yet
        self.stuck = 0

    def start(self, executions: list[Execution]) -> None:
        self.jobs.extend(executions)
        self._call()

    def _call(self) -> None:
        """Put one more thread to work, unless all are busy or one was called and has not come yet."""
        with self._lock:
            if self._called or not self.jobs:
                return
            if self._idle:
                self._idle -= 1
                self._called = True
                self._calls.put(True)
            elif self._threads < self._slots:
                self._add_thread()

    def _add_thread(self) -> None:
        """Start one more thread. If the system has none left, the others do all the work; without any, see `lacking`."""
        self._called = True
        thread = threading.Thread(target=self._work, name=f"mainstay-slot-{self._threads + 1}", daemon=True)
        try:
            thread.start()
            self._threads += 1
        except RuntimeError as error:
            self._called = False
            if not self._threads:
                report_failure("the start of a thread", error, "and the worker goes on")

    @property
    def lacking(self) -> bool:
        """Whether jobs wait here and no thread could be started for them."""
        return bool(self.jobs) and not self._threads

    def _work(self) -> None:
        while True:
            self._called = False
            while self.jobs:
                try:
                    execution = self.jobs.popleft()
                except IndexError:
                    break
                if self.jobs and not self._called:
                    self._call()
                if self._do(execution):
                    return
            if self._rest() and not self._calls.get():
                return

    def _do(self, execution: Execution) -> bool:
        """Run one job; return True if this thread was given up meanwhile and has been replaced."""
        try:
            context = self._begin(execution)
            if context is not None and self._end(execution, self._run(execution, context)):
                return False
        except BaseException as error:  # noqa: BLE001  (the thread goes on)
            self._end_broken(execution, error)
        with self._lock:  # another thread ended the job: here or in `give_up`, the second sees what the first did
            given_up, execution.stop = execution.stop == GIVEN_UP, BACK
            self.stuck -= given_up
        return bool(given_up)

    def _rest(self) -> bool:
        """Go idle, unless jobs came in the meantime; return whether it is idle."""
        with self._lock:
            if self.jobs:
                return False
            self._idle += 1
            return True

    def give_up(self, execution: Execution) -> None:
        """Replace the thread that runs this execution: a thread cannot be killed."""
        with self._lock:
            if execution.stop == BACK:
                return
            execution.stop = GIVEN_UP
            self.stuck += 1
            self._threads -= 1
        self._call()

    def stop(self) -> None:
        """End idle threads; a stuck one ends with the process."""
        for _ in range(self._threads):
            self._calls.put(False)


class Loop(Executor):
    """The event loop for async handlers: many run at once, and a batch costs one wake-up."""

    def __init__(self, slots: int, begin: Begin, end: End) -> None:
        super().__init__(slots, begin, end)
        self._running = 0
        self._given_up: set[Execution] = set()  # whose handlers still run
        self._asked = 0.0  # when the loop was first asked to start jobs and did not reply; 0: it has replied
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]
        self._thread: threading.Thread | None = None

    def start(self, executions: list[Execution]) -> None:
        self.jobs.extend(executions)
        self._asked = self._asked or time.monotonic()
        try:
            self._ready().call_soon_threadsafe(self._launch)
        except RuntimeError as error:  # no thread is left: the loop counts as blocked, and its jobs are released
            report_failure("the start of the event loop", error, "and the worker goes on")

    def withdraw(self) -> list[Execution]:
        if self._loop is None:  # the next jobs try again to start it
            self._asked = 0.0
        return super().withdraw()

    def _ready(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            import asyncio

            loop = asyncio.new_event_loop()
            self._task = loop.create_task
            if hasattr(asyncio, "eager_task_factory"):  # 3.12: a handler that never waits needs no turn of the loop
                self._task = partial(asyncio.Task, loop=loop, eager_start=True)  # type: ignore[call-arg]
            self._thread = threading.Thread(target=loop.run_forever, name="mainstay-loop", daemon=True)
            try:
                self._thread.start()
            except RuntimeError:  # the system has no thread left
                loop.close()
                raise
            self._loop = loop
        return self._loop

    @property
    def blocked(self) -> bool:
        """Whether no async handler can start: one of them keeps the loop from running, as it waits without `await`."""
        return bool(self._asked) and time.monotonic() - self._asked > BLOCKED

    @property
    def stuck(self) -> int:
        """How many handlers run whose slots were given to other jobs."""
        return len(self._given_up)

    def _launch(self) -> None:
        self._asked = 0.0
        while self._running < self._slots and self._loop is not None:
            try:
                execution = self.jobs.popleft()
            except IndexError:
                return
            try:
                context = self._begin(execution)
            except BaseException as error:  # noqa: BLE001  (the loop goes on)
                self._end_broken(execution, error)
                continue
            if context is not None:
                self._running += 1
                task = self._task(runner.arun(execution, context, self._ended))
                if not task.done():
                    execution.stop = task

    def _ended(self, execution: Execution, outcome: Outcome) -> None:
        if execution in self._given_up:
            self._given_up.discard(execution)
        else:
            self._running -= 1
        try:
            self._end(execution, outcome)
        except BaseException as error:  # noqa: BLE001  (the loop goes on)
            self._end_broken(execution, error)
        if self.jobs and self._loop is not None and self._running == self._slots - 1:
            self._loop.call_soon(self._launch)

    def interrupt(self, execution: Execution) -> None:
        """Raise CancelledError inside the handler, at its next await."""
        if self._loop is not None:  # on the loop's own thread, where `stop` of a started task is set
            self._loop.call_soon_threadsafe(lambda: execution.stop and execution.stop.cancel())

    def give_up(self, execution: Execution) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._replace, execution)

    def _replace(self, execution: Execution) -> None:
        """Count the slot as free, though the handler may go on: it may ignore that it is cancelled."""
        if execution.stop is not None and not execution.stop.done():
            self._given_up.add(execution)
            self._running -= 1
            self._launch()

    def stop(self) -> None:
        """Stop the loop, as soon as the handlers that were cancelled have ended, but after `CLEAN_UP` at the latest."""
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(lambda: self._task(self._finish()))
            self._thread.join(CLEAN_UP + 3)
            if not self._thread.is_alive():
                self._loop.close()
            self._loop = None

    async def _finish(self) -> None:
        import asyncio

        # Of handlers that were given up, and what handlers started.
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            if not task.cancelling():  # a second time would interrupt its `finally`
                task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=CLEAN_UP)
        for task in tasks:
            if not task.done():
                task._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001  (the only way: else asyncio prints)
            elif not task.cancelled():
                task.exception()  # asyncio prints an exception that nobody has read
        asyncio.get_running_loop().stop()
