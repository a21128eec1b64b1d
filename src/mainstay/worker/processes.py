"""Process slots: for handlers that may crash, hang or keep the processor busy. Each slot is a thread with a child process.

The child is a fresh interpreter behind two pipes, used for one job after another. A job that runs too long is killed by
SIGKILL, with every process that it started. A child that dies costs one attempt and nothing else.
"""

from __future__ import annotations

import glob
import os
import signal
import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from ..core.errors import LeaseLost, StoreError
from ..core.outcome import CANCELLED, RELEASED, Outcome
from .executors import Executor
from .handler_address import address
from .pipes import UPDATES, outcome_in, spawn
from .runner import described

if TYPE_CHECKING:
    from ..context import Reporter
    from ..core.job import Claimed
    from ..registry import JobType
    from .executors import Begin, End
    from .in_flight import Execution

CHECK = 0.25  # seconds between checks of a silent child: its own children may keep the pipe open after its death
LOADING = 60.0  # seconds to import the module of a handler
SAFE_POINT = 0.5  # seconds for a cancelled handler to reach a safe point before SIGTERM interrupts it …
CANCEL_GRACE = 2.0  # … and for it to clean up, before it is killed
EXIT_GRACE = 2.0  # seconds for a child to end by itself after its pipes are closed


class ProcessSlots(Executor):
    """Threads that each keep one child process busy."""

    def __init__(self, slots: int, begin: Begin, end: End, reporter: Reporter) -> None:
        super().__init__(slots, begin, end)
        self._reporter = reporter
        self._calls: SimpleQueue[bool] = SimpleQueue()  # True: there may be a job; False: end
        self._lock = threading.Lock()
        self._taken = 0  # jobs that wait for a slot or hold one
        self.threads: list[tuple[threading.Thread, ProcessSlot]] = []
        self._closed = False

    @property
    def room(self) -> int:
        return self._slots - self._taken

    def start(self, executions: list[Execution]) -> None:
        with self._lock:
            wanted = min(self._slots, self._taken + len(executions))
            while len(self.threads) < wanted and self._add_thread():
                pass
            self._taken += len(executions)
        self.jobs.extend(executions)
        for _ in executions:
            self._calls.put(True)

    def _add_thread(self) -> bool:
        """Start one more thread; False if the system has none left and others do the work. Without any, this raises."""
        slot = ProcessSlot(self._reporter)
        name = f"mainstay-process-{len(self.threads) + 1}"
        thread = threading.Thread(target=self._work, args=(slot,), name=name, daemon=True)
        try:
            thread.start()
        except RuntimeError:
            if not self.threads:
                raise
            return False
        self.threads.append((thread, slot))
        return True

    def _work(self, slot: ProcessSlot) -> None:
        """Serve one slot. The thread outlives its child: the kernel ends a child with the thread that started it."""
        while self._calls.get():
            try:
                execution = self.jobs.popleft()
            except IndexError:  # withdrawn meanwhile
                continue
            try:
                self._serve(slot, execution)
            finally:
                self._free(1)
        slot.discard()

    def _serve(self, slot: ProcessSlot, execution: Execution) -> None:
        slot.hold(execution)
        execution.stop = slot  # from here on it can be interrupted, until the slot holds it no more
        try:
            # Before `begin`: the time to load the handler does not count towards the job's timeout.
            problem = None if self._closed or execution.ended else slot.prepare(execution.type)
            if self._begin(execution) is not None:
                self._end(execution, problem or slot.run(execution))
        except StoreError:  # its checkpoint could not be read: the handler has not started
            self._end(execution, RELEASED)
        except Exception as error:  # noqa: BLE001  (e.g. no process can be started: keep the slot, end the job)
            slot.discard()
            self._end(execution, Outcome("failed", error=described(error)))
        finally:
            slot.hold(None)

    def _free(self, count: int) -> None:
        with self._lock:
            self._taken -= count

    def withdraw(self) -> list[Execution]:
        found = super().withdraw()
        self._free(len(found))
        return found

    def interrupt(self, execution: Execution) -> None:
        """Kill the handler's process and every process that it started."""
        if isinstance(execution.stop, ProcessSlot):
            execution.stop.kill(execution)

    def cancel(self, execution: Execution, because: str) -> None:
        """Ask the handler to stop; if it does not, interrupt it by SIGTERM, and at last kill it."""
        slot = execution.stop
        if isinstance(slot, ProcessSlot):
            slot.send(execution, {"do": "cancel", "because": because})
            for seconds, act in ((SAFE_POINT, slot.terminate), (SAFE_POINT + CANCEL_GRACE, slot.kill)):
                later = threading.Timer(seconds, act, (execution,))
                later.daemon = True
                later.start()

    def ask_to_stop(self, execution: Execution) -> None:
        """Tell the handler that the worker shuts down: it stops at its next safe point."""
        if isinstance(execution.stop, ProcessSlot):
            execution.stop.send(execution, {"do": "stop"})

    def stop(self) -> None:
        """End every child, and wait for that."""
        self._closed = True
        for _ in self.threads:
            self._calls.put(False)
        for _, slot in self.threads:
            slot.abort()
        for thread, _ in self.threads:
            thread.join(2 * EXIT_GRACE)


class ProcessSlot:
    """One child process and the job it runs. Every message names the job, so that a late one cannot reach the next job."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter
        self._lock = threading.Lock()
        self._execution: Execution | None = None
        self.child: ChildProcess | None = None
        self._closed = False

    def hold(self, execution: Execution | None) -> None:
        """Make the job this slot's, and no other."""
        with self._lock:
            self._execution = execution

    def prepare(self, type: JobType[..., Any, Any]) -> Outcome | None:
        """Start a child that has loaded the handler; return an outcome if that is impossible."""
        for _ in range(2):  # a child that died while it was idle is no job's fault
            if self.child is not None and self.child.over():
                self.discard()
            child = self.child = self.child or ChildProcess()
            if type.name in child.loaded:
                return None
            child.send({"do": "load", "address": address(type)})
            reply = child.receive(LOADING)
            if reply is not None and "outcome" in reply:
                return outcome_in(reply["outcome"])
            if reply is not None:
                child.loaded.add(type.name)
                return None
            self.discard()
            if self._closed:
                break
        return Outcome(
            "crashed", error="ProcessDied: a process for the handler ended while it loaded the handler's module"
        )

    def run(self, execution: Execution) -> Outcome:
        """Send the job, pass its updates on, and return its outcome."""
        child, job = self.child, execution.job
        if child is None:
            return _died(execution, None)
        earlier = self._reporter.checkpoint(job)
        child.send({"do": "run", "job": list(job), "checkpoint": earlier, "limits": list(self._reporter.limits)})
        self._repeat(execution)
        while (message := child.receive()) is not None:
            if "update" in message:
                kind, *fields = message["update"]
                self._reporter.report(UPDATES[kind](*fields))
            elif "ask" in message:
                if message["ask"] == job.id:  # else a thread that an earlier handler has left
                    self.send(execution, self._labels(job))
            else:
                self.hold(None)  # from here on nothing stops the child because of this job
                if child.interrupted:
                    self.discard()
                return outcome_in(message["outcome"])
        return _died(execution, self.discard())

    def _labels(self, job: Claimed) -> dict[str, Any]:
        """Return the reply to a handler that asks about its job."""
        try:
            return {"do": "reply", "labels": self._reporter.labels(job)}
        except (LeaseLost, StoreError) as error:
            return {"do": "reply", "error": type(error).__name__, "text": str(error)}

    def _repeat(self, execution: Execution) -> None:
        """Send again what was sent before the job: the child ignores messages about a job that it does not know."""
        if execution.cancel is not None:
            self.send(execution, {"do": "cancel", "because": execution.cancel})
        if execution.context is not None and execution.context.stopping:
            self.send(execution, {"do": "stop"})

    def send(self, execution: Execution, message: dict[str, Any]) -> None:
        """Send a message to the handler of this job, and to no other."""
        with self._lock:
            child = self.child if self._execution is execution else None
        if child is not None:
            child.send(message | {"id": execution.job.id})

    def terminate(self, execution: Execution) -> None:
        """Send SIGTERM to the child if it still runs this job. It serves no other one: it may have stopped anywhere."""
        with self._lock:
            if self._execution is execution and self.child is not None:
                self.child.terminate()

    def kill(self, execution: Execution) -> None:
        """Kill the child if it still runs this job."""
        with self._lock:
            if self._execution is execution and self.child is not None:
                self.child.kill()

    def abort(self) -> None:
        """Start no other child, and kill this one unless it is idle."""
        with self._lock:
            self._closed = True
            if self._execution is not None and self.child is not None:
                self.child.kill()

    def discard(self) -> int | None:
        """End the child, an idle one gracefully; return its exit code, or None if there was no child."""
        child = self.child
        with self._lock:
            self.child = None
        return None if child is None else child.reap()


class ChildProcess:
    """The process of a slot, as the worker sees it. `process_main.py` is what runs in it."""

    def __init__(self) -> None:
        self.loaded: set[str] = set()  # the types whose handlers it has loaded
        self.interrupted = False  # by SIGTERM, while it ran a handler
        self.process, self._out, self._in = spawn("mainstay.worker.process_main", stdout=2)  # 2: the worker's stderr

    def send(self, message: dict[str, Any]) -> None:
        """Send one message. If the process is gone, the next `receive` returns None."""
        self._out.write(message)

    def receive(self, seconds: float = float("inf")) -> dict[str, Any] | None:
        """Return the next message; None if the process is gone, sends what is not JSON, or the time is over."""
        over = False
        while seconds > 0:
            try:
                message: dict[str, Any] | None = self._in.read(0 if over else CHECK)
            except (EOFError, OSError, ValueError):
                return None
            if message is not None or over:
                return message
            over = self.over()  # then read once more: it may have sent something just before its end
            seconds -= CHECK
        return None

    def over(self) -> bool:
        """Return whether the process has ended. Does not reap it, so that its pid stays its own until `reap`."""
        if self.process.returncode is not None or not hasattr(os, "waitid"):
            return self.process.poll() is not None
        try:
            return os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:  # other code of this process has reaped it
            return True

    def terminate(self) -> None:
        """Interrupt the handler, under the slot's lock as `kill`."""
        if self.process.returncode is None:
            self.interrupted = True
            os.kill(self.process.pid, signal.SIGTERM)

    def kill(self) -> None:
        """Kill the process, everything in its group, and the programs that it started in sessions of their own.

        Its slot does so under the slot's lock, while the process is the slot's: so it is not reaped meanwhile.
        """
        if self.process.returncode is None:
            others = [(os.kill, pid) for pid in _started_by(self.process.pid)]
            for kill, pid in [(os.killpg, self.process.pid), *others]:
                try:
                    kill(pid, signal.SIGKILL)
                except OSError:  # gone, with its whole group
                    pass

    def reap(self) -> int:
        """Wait for the process to end, kill what is left of its group, and return the exit code."""
        self._out.close()
        pause = threading.Event()
        for _ in range(int(EXIT_GRACE / 0.01)):
            if self.over():
                break
            pause.wait(0.01)
        self.kill()
        code = self.process.wait()
        self._in.close()
        return code


def _started_by(pid: int) -> list[int]:
    """Return the processes that a process started, and those that they started. Only Linux tells: others have none here."""
    found: list[int] = []
    for file in glob.glob(f"/proc/{pid}/task/*/children"):
        try:
            with open(file, encoding="ascii") as children:
                found += map(int, children.read().split())
        except OSError:  # it has ended
            continue
    return found + [below for child in found for below in _started_by(child)]


def _died(execution: Execution, code: int | None) -> Outcome:
    """Return the outcome of an attempt whose process ended before the handler did."""
    if execution.cancel is not None:
        return CANCELLED._replace(reason=execution.cancel)
    return Outcome("crashed", error=f"ProcessDied: the process that ran the handler {_ending(code)}")


def _ending(code: int | None) -> str:
    if code is None or code >= 0:
        return f"ended without a result, exit code {code or 0}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = "unknown"
    hint = "; the kernel does so when memory runs out" if -code == signal.SIGKILL else ""
    return f"was killed by signal {-code} ({name}), exit code {code}{hint}"
