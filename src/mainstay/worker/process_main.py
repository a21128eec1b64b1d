"""The main of a process slot's child: runs one handler at a time for the worker at the other end of the pipes.

Only messages use the pipes: they are moved away from the standard streams before any user code runs, and what handlers
print goes to stderr. The worker decides when this process ends; this process also ends when the worker does.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import traceback
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NoReturn, cast

from ..context import Context
from ..core import errors
from ..core.errors import StoreUnavailable
from ..core.job import Claimed, Labels
from ..core.outcome import Cancelled, Outcome
from ..core.updates import LogLimits
from ..job_log import AtOnce
from . import runner
from .handler_address import find
from .in_flight import Execution
from .logging_capture import capture_logging
from .pipes import Writer, outcome_out, take_over

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..app import Mainstay
    from ..core.updates import Update
    from ..registry import JobType

DEATH_OF_PARENT = 1  # prctl's PR_SET_PDEATHSIG
REPLY = 60.0  # seconds to wait for a reply of the worker


class PipeReporter(AtOnce):
    """The `Reporter` of a handler in a process slot: sends updates to the worker, completes in the handler's transaction."""

    def __init__(self, out: Writer, app: Mainstay, checkpoint: str | None, limits: LogLimits) -> None:
        self._out, self._checkpoint, self.limits = out, checkpoint, limits
        self.store, self.now = app.store, app.clock.now
        self.replies: SimpleQueue[dict[str, Any]] = SimpleQueue()

    def report(self, update: Update) -> None:
        self._out.write({"update": [type(update).__name__, *update]})

    def checkpoint(self, job: Claimed) -> str | None:
        return self._checkpoint

    def labels(self, job: Claimed) -> Labels:
        """Ask the worker, whose store may be out of reach here."""
        self._out.write({"ask": job.id})
        try:
            reply = self.replies.get(timeout=REPLY)
        except Empty:
            raise StoreUnavailable("the worker did not reply: the attempt has ended, or its store is away") from None
        if "error" in reply:
            raise getattr(errors, reply["error"])(reply["text"])
        labels = Labels._make(reply["labels"])
        return labels._replace(tags=tuple(labels.tags))


class MessageLoop:
    """Does what the worker's messages say, in order; a message to stop takes effect while a handler runs."""

    def __init__(self, control: int, out: int) -> None:
        self._control, self._out = control, Writer(out)
        self._types: dict[str, JobType[..., Any, Any]] = {}
        self._tasks: SimpleQueue[Callable[[], dict[str, Any]] | None] = SimpleQueue()
        self._context: Context | None = None
        self._reporter: PipeReporter | None = None
        self._busy = self._interrupted = False
        self._pid = os.getpid()
        os.register_at_fork(after_in_child=self._forked)

    def run(self) -> None:
        """Work on the main thread until the worker closes the pipe."""
        threading.Thread(target=self._listen, name="mainstay-control", daemon=True).start()
        while (task := self._tasks.get()) is not None:
            try:
                reply = task()
                self._context = None  # a signal that comes from now on interrupts nothing
            except Cancelled:  # it came outside the handler: the worker knows that this job was cancelled
                return
            _flush()
            if os.getpid() != self._pid:  # a handler forked, and this is the copy: only the original replies
                os._exit(0)
            self._busy = False
            if not self._out.write(reply):  # the worker is gone, or the handler has closed every file
                return

    def signalled(self, number: int, frame: object) -> None:
        """Interrupt a handler whose job was cancelled, once; ignore any other signal: the worker decides.

        It is not SIG_IGN, which programs that a handler starts would inherit.
        """
        context = self._context
        cancelled = context.cancelled_because if context is not None else None
        if number == signal.SIGTERM and cancelled is not None and not self._interrupted:
            self._interrupted = True
            raise Cancelled(cancelled)

    def _listen(self) -> None:
        with open(self._control, "rb", closefd=False) as lines:
            for line in lines:
                self._handle(json.loads(line))
        if self._busy:  # the worker is gone, and nobody can store the outcome: end with all that a handler started
            if os.getpgrp() == os.getpid():
                os.killpg(os.getpid(), signal.SIGKILL)
            os._exit(1)
        self._tasks.put(None)

    def _handle(self, message: dict[str, Any]) -> None:
        context = self._context
        match message["do"]:
            case "load":
                self._put(partial(self._load, message["address"]))
            case "run":  # makes the context on this thread: a message to stop may follow at once
                job = Claimed._make(message["job"])
                type = self._types[job.type]
                limits = LogLimits._make(message["limits"])
                capture_logging(limits.level)
                self._reporter = PipeReporter(self._out, type.app, message["checkpoint"], limits)
                context = self._context = Context(job, self._reporter)
                execution = Execution(job, type, job.started_at)
                self._put(lambda: {"outcome": outcome_out(runner.run(execution, context))})
            case "cancel" if context is not None and context.id == message["id"]:
                context.cancelled_because = message["because"]
            case "reply" if self._reporter is not None and context is not None and context.id == message["id"]:
                self._reporter.replies.put(message)
            case "stop" if context is not None and context.id == message["id"]:
                context.stopping = True

    def _put(self, task: Callable[[], dict[str, Any]]) -> None:
        self._busy = True
        self._tasks.put(task)

    def _load(self, address: dict[str, Any]) -> dict[str, Any]:
        try:
            found = find(address)
        except BaseException as error:  # noqa: BLE001  (importing runs user code, which may even raise SystemExit)
            trace = runner.kept("".join(traceback.format_exception(error)))
            return {"outcome": outcome_out(Outcome("failed", error=runner.described(error), traceback=trace))}
        if ":memory:" in found.app.store.url:
            found.app.store = cast("Any", OutOfReach())
        self._types |= dict.fromkeys((found.name, *found.aliases), found)
        return {"loaded": found.name}

    def _forked(self) -> None:
        """Close the pipes and restore the signals in a forked copy of this process, which is no slot."""
        self._out.forget()
        os.close(self._control)
        _on_signals(signal.SIG_DFL)


class OutOfReach:
    """In place of a store that is in another process's memory: every use raises."""

    url = "out of reach"

    def __getattr__(self, name: str) -> NoReturn:
        raise StoreUnavailable(
            "the application's database is in the worker's memory, out of reach of a process slot: use a file, or "
            "hand new jobs over with ctx.enqueue"
        )


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):  # a handler may have closed or replaced it
            pass


def _die_with_parent() -> None:
    """Make the kernel kill this process when the worker ends, even while a handler holds the interpreter's lock."""
    try:
        import ctypes

        ctypes.CDLL(None).prctl(DEATH_OF_PARENT, signal.SIGKILL)
    except (ImportError, OSError, AttributeError):  # not Linux: the end of the pipe tells
        pass


def _on_signals(handler: Any) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handler)


def main() -> None:
    """Serve the worker that started this process."""
    control, out = take_over(sys.argv[1])
    loop = MessageLoop(control, out)
    _on_signals(loop.signalled)
    _die_with_parent()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    loop.run()


if __name__ == "__main__":
    main()
