"""Several worker processes kept running: `mainstay worker --processes 4`.

The supervisor runs no user code. It beats for its workers from a process that no handler can block, frees the jobs of
one that dies at once, and starts another in its place.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from ..core.clock import SystemClock, milliseconds
from ..core.errors import ConfigError, StoreError
from ..core.events import Events
from ..stores import open_store
from ..upkeep.sweep import Sweep
from . import new_identity
from .heartbeat import BEATS
from .messages import Reader, Writer
from .service import Service
from .shutdown import NOW, STOP, on_signals
from .spawn import spawn
from .worker_process import CANNOT_START

if TYPE_CHECKING:
    import subprocess

    from ..core.clock import Clock, Duration

TRIES = 3  # if no worker has come up after this many starts, none will
HEALTHY = 10.0  # seconds of life after which a death counts as the first
PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds before a restart
GRACEFUL = (0, -signal.SIGTERM, -signal.SIGINT)  # the latter when a signal came before there was a worker to stop
EXTRA = "5s"  # beyond the grace, before what has not ended is killed
ENTRY = "mainstay.worker.worker_process"


def supervise(app: str, processes: int, *, entry: str = ENTRY, **options: Any) -> int:
    """Keep `processes` workers of the application `module:attribute` running until a signal; answers the exit code.

    `options` are those of `app.worker`. `entry` is the module that each process runs, for callers that want to do more
    than `supervised` does, such as writing a log.
    """
    return Supervisor(app, processes, options, entry=entry).run()


class Seat:
    """The place of one worker: whoever sits there now, and when the next one is due."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.orders: Writer | None = None
        self.identity = ""
        self.since = 0.0  # when the process was started
        self.due: float | None = None  # when to start the next one
        self.up = False
        self.deaths = 0  # in a row, each soon after the start


class Heart:
    """Renews the leases of all workers from a thread and a store of its own."""

    def __init__(self, url: str, lease: int, clock: Clock) -> None:
        self._store, self._lease, self._clock = open_store(url, clock), lease, clock
        self._sweep = Sweep(self._store, random.random, Events(), 0)
        self.workers: frozenset[str] = frozenset()
        self._service = Service("heart", self.step, clock, _complain)
        self._service.start()

    def step(self, now: int) -> int:
        """One beat for each; whose lease has run out all the same comes back under another identity by itself."""
        for worker in self.workers:
            try:
                self._store.renew(worker, now, self._lease)
            except StoreError as error:
                _complain(error)
        return self._lease // BEATS

    def free(self, worker: str) -> None:
        """Let the jobs of a dead worker run again at once. If the store fails, every worker's sweep does it."""
        try:
            self._store.deregister(worker)
            self._sweep.step(self._clock.now())
        except StoreError as error:
            _complain(error)

    def stop(self) -> None:
        """Beat no more."""
        self._service.stop()
        self._store.close()


class Supervisor:
    """Starts workers, replaces those that die, ends them all on a signal."""

    def __init__(
        self, app: str, processes: int, options: dict[str, Any], *, entry: str = ENTRY, extra: Duration = EXTRA
    ) -> None:
        if processes < 1:
            raise ConfigError(f"processes={processes}: there must be at least one")
        self._app, self._entry = app, entry
        self._options = json.dumps({name: value for name, value in options.items() if value is not None})
        self._patience = (milliseconds(options.get("grace") or "30s") + milliseconds(extra)) / 1000
        self._extra = milliseconds(extra) / 1000
        self._seats = [Seat() for _ in range(processes)]
        self._inbox: SimpleQueue[tuple[str, Seat | None, Any]] = SimpleQueue()
        self._heart: Heart | None = None
        self._stopping = False
        self._kill_at = float("inf")
        self._code = 0

    def run(self) -> int:
        """Work until a signal, or until it is clear that no worker can start; answers the exit code."""
        with on_signals(lambda number: self._inbox.put(("signal", None, number))):
            self._start(self._seats[0])  # the others once it is up: a mistake in the code is then told once
            while self._occupied():
                self._hear(self._wait())
                self._look()
        if self._heart is not None:
            self._heart.stop()
        return self._code

    def _occupied(self) -> bool:
        return any(seat.process is not None or seat.due is not None for seat in self._seats)

    def _wait(self) -> tuple[str, Seat | None, Any]:
        """The next thing that happened, or nothing when something is due first."""
        dues = [seat.due for seat in self._seats if seat.due is not None]
        left = min([*dues, self._kill_at, time.monotonic() + 0.5]) - time.monotonic()
        try:
            return self._inbox.get(timeout=max(0.0, left))
        except Empty:
            return "nothing", None, None

    def _hear(self, happened: tuple[str, Seat | None, Any]) -> None:
        what, seat, detail = happened
        if what == "signal":
            self._stop(NOW if self._stopping else STOP)
        elif what == "said" and seat is not None:
            self._said(seat, detail)
        elif what == "died" and seat is not None:
            self._died(seat, detail)

    def _look(self) -> None:
        """Do what is due."""
        now = time.monotonic()
        for seat in self._seats:
            if seat.due is not None and seat.due <= now:
                self._start(seat)
        if now >= self._kill_at:
            self._kill()

    # workers ------------------------------------------------------------------------------------------------------
    def _start(self, seat: Seat) -> None:
        """Start a worker under a new identity, with a pipe each way and nothing else of ours."""
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        seat.identity, seat.since, seat.due, seat.up = new_identity(), time.monotonic(), None, False
        seat.orders = Writer(ours_out)
        command = (self._entry, self._app, self._options, seat.identity, str(theirs_out))
        try:
            seat.process = spawn(*command, stdin=theirs_in, pass_fds=(theirs_out,))
        except OSError as error:  # no memory or no processes left: later, perhaps
            _complain(error)
            os.close(ours_in)
            self._died(seat, 1)
            return
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        for work in (self._listen, self._await):
            threading.Thread(target=work, args=(seat, seat.process, ours_in), daemon=True).start()

    def _listen(self, seat: Seat, process: subprocess.Popen[bytes], descriptor: int) -> None:
        reader = Reader(descriptor)
        try:
            while True:
                self._inbox.put(("said", seat, (process, reader.read(None))))
        except (EOFError, OSError, ValueError):
            os.close(descriptor)

    def _await(self, seat: Seat, process: subprocess.Popen[bytes], descriptor: int) -> None:
        """Not by the end of the pipe: what a handler has forked may hold that open."""
        self._inbox.put(("died", seat, process.wait()))

    def _said(self, seat: Seat, detail: tuple[subprocess.Popen[bytes], dict[str, Any]]) -> None:
        process, message = detail
        if seat.process is not process:  # last words of one that has been replaced
            return
        seat.identity, seat.up = message["identity"], True
        if self._heart is None:
            self._heart = Heart(message["url"], message["lease"], SystemClock())
        self._keep_alive()
        for other in self._seats:
            if other.process is None and other.due is None and not self._stopping:
                self._start(other)

    def _keep_alive(self) -> None:
        if self._heart is not None:
            self._heart.workers = frozenset(seat.identity for seat in self._seats if seat.up)

    def _died(self, seat: Seat, code: int) -> None:
        if seat.orders is not None:
            seat.orders.close()
        seat.process, seat.orders = None, None
        lived = time.monotonic() - seat.since
        was_up, seat.up = seat.up, False
        self._keep_alive()
        if self._heart is not None:
            self._heart.free(seat.identity)
        if self._stopping:
            self._code = self._code or int(code not in GRACEFUL)
            return
        seat.deaths = 0 if was_up and lived >= HEALTHY else seat.deaths + 1
        self._replace(seat, code)

    def _replace(self, seat: Seat, code: int) -> None:
        """Start another: at once after the first death, then more and more slowly; not at all if none ever came up."""
        if self._heart is None and (code == CANNOT_START or seat.deaths >= TRIES):
            _say(f"giving up: the worker {_ending(code)} before it was ready")
            self._code = 1
            return
        wait = 0.0 if seat.deaths <= 1 else min(PAUSE * 2.0 ** (seat.deaths - 2), LONGEST_PAUSE)
        seat.due = time.monotonic() + wait
        _say(f"worker {seat.identity} {_ending(code)}; starting another" + (f" in {wait:g} s" if wait else ""))

    # the end ------------------------------------------------------------------------------------------------------
    def _stop(self, order: str) -> None:
        """Pass the order on; what has not ended after the grace and a little more is killed."""
        self._stopping = True
        left = self._patience if order == STOP else self._extra
        self._kill_at = min(self._kill_at, time.monotonic() + left)
        for seat in self._seats:
            seat.due = None
            if seat.orders is not None:
                seat.orders.write(order)

    def _kill(self) -> None:
        self._kill_at = float("inf")
        for seat in self._seats:
            if seat.process is not None:
                _say(f"worker {seat.identity} did not end in time and is killed")
                seat.process.kill()


def _ending(code: int) -> str:
    return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"


def _say(text: str) -> None:
    sys.stderr.write(f"mainstay: {text}\n")


def _complain(error: BaseException) -> None:
    _say(f"the supervisor goes on after {type(error).__name__}: {error}")
