"""Process slots: for handlers that may crash, hang or keep the processor busy. Each slot is a thread with a child process.

The child is a fresh interpreter behind two pipes, used for one job after another. A job that runs too long is ended by
SIGKILL, with all that it started. A child that dies takes one attempt with it and nothing else.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from ..core.errors import StoreError
from ..core.outcome import CANCELLED, RELEASED, Outcome
from .executors import drained
from .handler_address import address
from .messages import Reader, Writer, note_in, outcome_in
from .runner import described
from .spawn import spawn

if TYPE_CHECKING:
    from ..context import Sink
    from ..registry import JobType
    from .executors import Begin, End
    from .in_flight import Flight

GLANCE = 0.25  # seconds between looks at a silent child: a pipe that its own children hold open does not tell its end
LOADING = 60.0  # seconds to import the module of a handler
LAST_CHANCE = 2.0  # seconds for a cancelled handler to reach a safe point before it is killed
LAST_BREATH = 2.0  # seconds for a child to end by itself once its pipes are closed


class ProcessSlots:
    """Threads that each keep one child process busy."""

    def __init__(self, slots: int, begin: Begin, end: End, sink: Sink) -> None:
        self._slots, self._begin, self._end, self._sink = slots, begin, end, sink
        self.jobs: deque[Flight] = deque()
        self._calls: SimpleQueue[bool] = SimpleQueue()  # True: there may be a job; False: go home
        self._lock = threading.Lock()
        self._taken = 0  # jobs that wait for a slot or hold one
        self._crew: list[tuple[threading.Thread, Slot]] = []
        self._closed = False

    @property
    def room(self) -> int:
        """How many more jobs could begin at once."""
        return self._slots - self._taken

    @property
    def backlog(self) -> int:
        """How many jobs wait for a slot."""
        return len(self.jobs)

    def start(self, flights: list[Flight]) -> None:
        """Run these as slots come free."""
        with self._lock:
            self._taken += len(flights)
            while len(self._crew) < min(self._slots, self._taken):
                self._hire()
        self.jobs.extend(flights)
        for _ in flights:
            self._calls.put(True)

    def _hire(self) -> None:
        slot = Slot(self._sink)
        name = f"mainstay-process-{len(self._crew) + 1}"
        thread = threading.Thread(target=self._work, args=(slot,), name=name, daemon=True)
        self._crew.append((thread, slot))
        thread.start()

    def _work(self, slot: Slot) -> None:
        """The thread of a slot. It outlives its child: the kernel ends a child when the thread that started it ends."""
        while self._calls.get():
            try:
                flight = self.jobs.popleft()
            except IndexError:  # withdrawn meanwhile
                continue
            try:
                self._serve(slot, flight)
            finally:
                self._let_go(1)
        slot.discard()

    def _serve(self, slot: Slot, flight: Flight) -> None:
        slot.take(flight)
        try:
            problem = None if self._closed or flight.ended else slot.prepare(flight.type)  # not on the job's own time
            if self._begin(flight) is not None:
                self._end(flight, problem or slot.run(flight))
        except StoreError:  # its checkpoint could not be read: nothing has begun
            self._end(flight, RELEASED)
        except Exception as error:  # noqa: BLE001  (no process to be had, say: neither slot nor job may be lost to it)
            slot.discard()
            self._end(flight, Outcome("failed", error=described(error)))
        finally:
            slot.put_down()

    def _let_go(self, count: int) -> None:
        with self._lock:
            self._taken -= count

    def withdraw(self) -> list[Flight]:
        """Take back what has not begun."""
        found = drained(self.jobs)
        self._let_go(len(found))
        return found

    def interrupt(self, flight: Flight) -> None:
        """Kill the handler's process and all that it started."""
        if isinstance(flight.stop, Slot):
            flight.stop.kill(flight)

    def cancel(self, flight: Flight, because: str) -> None:
        """Tell the handler to stop; kill it if it has not stopped in a while."""
        if isinstance(flight.stop, Slot):
            flight.stop.tell(flight, {"do": "cancel", "because": because})
            later = threading.Timer(LAST_CHANCE, flight.stop.kill, (flight,))
            later.daemon = True
            later.start()

    def ask_to_stop(self, flight: Flight) -> None:
        """Tell the handler that the worker shuts down: it stops at its next safe point."""
        if isinstance(flight.stop, Slot):
            flight.stop.tell(flight, {"do": "stop"})

    def stop(self) -> None:
        """End every child, and wait for that."""
        self._closed = True
        for _ in self._crew:
            self._calls.put(False)
        for _, slot in self._crew:
            slot.abort()
        for thread, _ in self._crew:
            thread.join(2 * LAST_BREATH)


class Slot:
    """One child process and the job it runs. The job is the guard: a late interrupt must not hit the next one."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._lock = threading.Lock()
        self._flight: Flight | None = None
        self._child: Child | None = None
        self._closed = False

    def take(self, flight: Flight) -> None:
        """From here on the job can be interrupted."""
        with self._lock:
            self._flight = flight
            flight.stop = self

    def put_down(self) -> None:
        """From here on it cannot."""
        with self._lock:
            self._flight = None

    def prepare(self, type: JobType[..., Any, Any]) -> Outcome | None:
        """Have a child that has loaded the handler; else answer why there is none."""
        for _ in range(2):  # one that died while it was idle is no job's fault
            child = self._ready()
            if type.name in child.loaded:
                return None
            answer = child.load(type)
            if answer is not None:
                return outcome_in(answer["outcome"]) if "outcome" in answer else None
            self.discard()
            if self._closed:
                break
        return Outcome(
            "crashed", error="ProcessDied: a process for the handler ended while it loaded the handler's module"
        )

    def _ready(self) -> Child:
        if self._child is not None and self._child.over():
            self.discard()
        if self._child is None:
            self._child = Child()
        return self._child

    def run(self, flight: Flight) -> Outcome:
        """Send the job, pass its notes on, answer how it ended."""
        child, job = self._child, flight.job
        if child is None:
            return _died(flight, None)
        earlier = self._sink.checkpoint(job) if job.token > 1 else None  # the first claim can have none
        child.send({"do": "run", "job": list(job), "checkpoint": earlier})
        self._repeat(flight)
        while (message := child.receive()) is not None:
            if "note" in message:
                self._sink.note(note_in(message["note"]))
            else:
                return outcome_in(message["outcome"])
        return _died(flight, self.discard())

    def _repeat(self, flight: Flight) -> None:
        """Say again what was said before the job was sent: then nobody there knew what it was about."""
        if flight.cancel is not None:
            self.tell(flight, {"do": "cancel", "because": flight.cancel})
        if flight.context is not None and flight.context.stopping:
            self.tell(flight, {"do": "stop"})

    def tell(self, flight: Flight, message: dict[str, Any]) -> None:
        """Send word to the handler of this job, and to no other."""
        with self._lock:
            child = self._child if self._flight is flight else None
        if child is not None:
            child.send(message | {"id": flight.job.id})

    def kill(self, flight: Flight) -> None:
        """Kill the child if it still runs this job."""
        with self._lock:
            if self._flight is flight and self._child is not None:
                self._child.kill()

    def abort(self) -> None:
        """Start no other child, and kill this one unless it is idle."""
        with self._lock:
            self._closed = True
            if self._flight is not None and self._child is not None:
                self._child.kill()

    def discard(self) -> int | None:
        """Be without a child: an idle one ends in its own way; answers the exit code of the one there was."""
        child = self._child
        with self._lock:
            self._child = None
        return None if child is None else child.bury()


class Child:
    """The process, seen from the worker."""

    def __init__(self) -> None:
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        self.loaded: set[str] = set()
        self._lock = threading.Lock()
        self._out, self._in, self._descriptor = Writer(ours_out), Reader(ours_in), ours_in
        try:
            self._process = spawn("mainstay.worker.process_main", stdin=theirs_in, stdout=theirs_out)
        except BaseException:
            os.close(ours_in)
            os.close(ours_out)
            raise
        finally:
            os.close(theirs_in)
            os.close(theirs_out)

    def send(self, message: dict[str, Any]) -> None:
        """Send one message. If nobody is there to read it, the next `receive` says so."""
        self._out.write(message)

    def receive(self, seconds: float = float("inf")) -> dict[str, Any] | None:
        """The next message; None when the process is gone, speaks nonsense, or the time is over."""
        over = False
        while seconds > 0:
            try:
                message: dict[str, Any] | None = self._in.read(0 if over else GLANCE)
            except (EOFError, OSError, ValueError):
                return None
            if message is not None or over:
                return message
            over = self.over()  # then look once more: it may have spoken just before its end
            seconds -= GLANCE
        return None

    def load(self, type: JobType[..., Any, Any]) -> dict[str, Any] | None:
        """Have it find the handler; None when it did not come back from that."""
        self.send({"do": "load", "address": address(type)})
        answer = self.receive(LOADING)
        if answer is not None and "outcome" not in answer:
            self.loaded.add(type.name)
        return answer

    def over(self) -> bool:
        """Whether the process has ended. It is not reaped by this, so that its number stays its own until `bury`."""
        if self._process.returncode is not None or not hasattr(os, "waitid"):
            return self._process.poll() is not None
        try:
            return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:  # someone else has reaped it
            return True

    def kill(self) -> None:
        """Kill the process and everything in its group."""
        with self._lock:
            if self._process.returncode is None:
                try:
                    os.killpg(self._process.pid, signal.SIGKILL)
                except OSError:  # gone, with its whole group
                    pass

    def bury(self) -> int:
        """See it to its end, with all that it started; answers the exit code."""
        self._out.close()
        pause = threading.Event()
        for _ in range(int(LAST_BREATH / 0.01)):
            if self.over():
                break
            pause.wait(0.01)
        self.kill()
        code = self._process.wait()
        os.close(self._descriptor)
        return code


def _died(flight: Flight, code: int | None) -> Outcome:
    """The outcome of an attempt whose process ended before the handler did."""
    if flight.cancel is not None:
        return CANCELLED._replace(reason=flight.cancel)
    return Outcome("crashed", error=f"ProcessDied: the process that ran the handler {_ending(code)}")


def _ending(code: int | None) -> str:
    if code is None or code >= 0:
        return f"ended without an answer, exit code {code or 0}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = "unknown"
    hint = "; the kernel does so when memory runs out" if -code == signal.SIGKILL else ""
    return f"was killed by signal {-code} ({name}), exit code {code}{hint}"
