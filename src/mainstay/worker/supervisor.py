"""Several worker processes kept running: `mainstay worker --processes 4`.

The supervisor runs no user code. It renews the leases of its workers from a process that no handler can block. When a
worker dies, it frees the worker's jobs at once and starts another in its place.
"""

from __future__ import annotations

import json
import random
import signal
import sys
import threading
import time
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from ..core.clock import SystemClock, milliseconds
from ..core.errors import ConfigError, StoreError
from ..core.events import Events
from ..stores import open_store
from ..upkeep.sweep import GRACE, LIMIT, Sweep
from .pipes import spawn
from .registration import BEATS, new_identity
from .service import Service
from .shutdown import NOW, STOP, on_signals
from .worker_process import CANNOT_START

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    from ..core.clock import Clock, Duration
    from .pipes import Reader, Writer

    WriteLine = Callable[..., None]  # level, event, text and facts

MOST_STARTS = 3  # if no worker is ready after this many starts, none will be
HEALTHY = 10.0  # seconds of life after which a death counts as the first again
PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds before a restart
GRACEFUL = (0, -signal.SIGTERM, -signal.SIGINT)  # by a signal: it came before there was a worker to stop
EXTRA = "5s"  # beyond the grace, before what has not ended is killed
ENTRY = "mainstay.worker.worker_process"


class Replica:
    """One of the worker processes to keep running: the present process, and when to start the next one."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.orders: Writer | None = None
        self.identity = ""
        self.since = 0.0  # when the process was started
        self.due: float | None = None  # when to start the next process
        self.up = False  # it has registered
        self.heard = 0.0  # when it last reported: it does so with every renewal of its own
        self.retired = False  # an operator has ended it: no other process takes its place
        self.deaths = 0  # in a row, each soon after its start


class Leases:
    """Renews the leases of all workers, on a thread and with a store of its own."""

    def __init__(self, url: str, lease: int, clock: Clock, log: WriteLine) -> None:
        self._report = partial(_report, log)
        self._store, self.lease, self._clock = open_store(url, clock), lease, clock
        self._sweep = Sweep(self._store, random.random, Events(), 0)
        self.workers: frozenset[str] = frozenset()
        self.overdue: frozenset[str] = frozenset()  # workers that hold a job far past its timeout
        self._service = Service("leases", self.step, clock, self._report)
        self._service.start()

    def step(self, now: int) -> int:
        """Renew each lease. A worker whose lease has run out registers under a new identity by itself."""
        for worker in self.workers:
            try:
                self._store.renew(worker, now, self.lease)
            except StoreError as error:
                self._report(error)
        try:
            found = self._store.orphans(now, GRACE, LIMIT)
            self.overdue = frozenset(orphan.worker for orphan in found if not orphan.gone)
        except StoreError as error:
            self._report(error)
        return self.lease // BEATS

    def free(self, worker: str) -> None:
        """Free the jobs of a dead worker at once. If the store fails, the sweep of any worker does it."""
        try:
            self._store.deregister(worker)
            self._sweep.step(self._clock.now())
        except StoreError as error:
            self._report(error)

    def stop(self) -> None:
        self._service.stop()
        self._store.close()


class Supervisor:
    """Keeps `processes` workers of the application `module:attribute` running until a signal.

    `options` are those of `app.worker`. `entry` is the module that each process runs, for callers that do more than
    `worker_process` does, such as writing a log. `log` gets the level, the event, a text and facts about it.
    """

    def __init__(
        self, app: str, processes: int, options: dict[str, Any], *, entry: str = ENTRY, extra: Duration = EXTRA,
        log: WriteLine | None = None,
    ) -> None:  # fmt: skip
        if processes < 1:
            raise ConfigError(f"processes={processes}: there must be at least one")
        self._app, self._entry, self._log = app, entry, log or _write
        self._options = {name: value for name, value in options.items() if value is not None}
        self._kill_after = (milliseconds(options.get("grace") or "30s") + milliseconds(extra)) / 1000
        self._extra = milliseconds(extra) / 1000
        self._replicas = [Replica() for _ in range(processes)]
        self._inbox: SimpleQueue[Callable[[], None]] = SimpleQueue()  # what to do, from signals and other threads
        self._leases: Leases | None = None
        self._stopping = False
        self._kill_at = float("inf")
        self._code = 0

    def run(self) -> int:
        """Work until a signal, or until it is clear that no worker can start; return the exit code."""
        with on_signals(lambda _: self._inbox.put(lambda: self._stop(NOW if self._stopping else STOP))):
            self._start(self._replicas[0])  # the others when it is up: a mistake in the code is then reported once
            while any(replica.process is not None or replica.due is not None for replica in self._replicas):
                self._handle_next()
                self._act_on_time()
        if self._leases is not None:
            self._leases.stop()
        return self._code

    def _handle_next(self) -> None:
        """Handle the next event, unless something is due first."""
        dues = [replica.due for replica in self._replicas if replica.due is not None]
        left = min([*dues, self._kill_at, time.monotonic() + 0.5]) - time.monotonic()
        try:
            event = self._inbox.get(timeout=max(0.0, left))
        except Empty:
            return
        event()

    def _act_on_time(self) -> None:
        """Start the processes that are due; kill those that did not stop in time."""
        now = time.monotonic()
        for replica in self._replicas:
            if replica.due is not None and replica.due <= now:
                self._start(replica)
        if now >= self._kill_at:
            self._kill_at = float("inf")
            self._kill(self._replicas, "did not end in time")
        if self._leases is not None:  # its lease is renewed from here, so nobody else would free its jobs
            silent = [each for each in self._replicas if each.up and now - each.heard > self._leases.lease / 1000]
            hung = [replica for replica in silent if replica.identity in self._leases.overdue]
            self._kill(hung, "hangs: it holds a job far past its timeout")

    # workers ------------------------------------------------------------------------------------------------------
    def _start(self, replica: Replica) -> None:
        """Start a worker under a new identity, with a pipe each way."""
        replica.identity, replica.since, replica.due, replica.up = new_identity(), time.monotonic(), None, False
        try:
            replica.process, replica.orders, messages = spawn(
                self._entry, self._app, json.dumps(self._options), replica.identity
            )
        except OSError as error:  # no memory or no processes left: try again later
            _report(self._log, error)
            self._died(replica, 1)
            return
        for work in (self._listen, self._wait_for_exit):
            threading.Thread(target=work, args=(replica, replica.process, messages), daemon=True).start()

    def _listen(self, replica: Replica, process: subprocess.Popen[bytes], messages: Reader) -> None:
        try:
            while True:
                self._inbox.put(partial(self._identified, replica, process, messages.read(None)))
        except (EOFError, OSError, ValueError):
            messages.close()

    def _wait_for_exit(self, replica: Replica, process: subprocess.Popen[bytes], messages: Reader) -> None:
        """Wait for the process, not for the end of its pipe: a process that a handler forked may keep that open."""
        self._inbox.put(partial(self._died, replica, process.wait()))

    def _identified(self, replica: Replica, process: subprocess.Popen[bytes], message: dict[str, Any]) -> None:
        if replica.process is not process:  # from a process that has been replaced
            return
        replica.identity, replica.up, replica.heard = message["identity"], True, time.monotonic()
        replica.retired = message["retired"]
        if self._leases is None:
            self._leases = Leases(message["url"], message["lease"], SystemClock(), self._log)
            self._options["reconcile"] = 0  # the first worker does it for all
        self._renew_for()
        for other in self._replicas:
            if other.process is None and other.due is None and not (self._stopping or other.retired):
                self._start(other)

    def _renew_for(self) -> None:
        if self._leases is not None:
            self._leases.workers = frozenset(replica.identity for replica in self._replicas if replica.up)

    def _died(self, replica: Replica, code: int) -> None:
        if replica.orders is not None:
            replica.orders.close()
        replica.process, replica.orders = None, None
        lived = time.monotonic() - replica.since
        was_up, replica.up = replica.up, False
        self._renew_for()
        if self._leases is not None:
            self._leases.free(replica.identity)
        if self._stopping or replica.retired:
            self._code = self._code or int(code not in GRACEFUL)
            return
        replica.deaths = 0 if was_up and lived >= HEALTHY else replica.deaths + 1
        self._replace(replica, code)

    def _replace(self, replica: Replica, code: int) -> None:
        """Start another: at once after the first death, then after longer and longer pauses; never if none was ever up."""
        if self._leases is None and (code == CANNOT_START or replica.deaths >= MOST_STARTS):
            self._log("error", "giving_up", f"giving up: the worker {_ending(code)} before it was ready", code=code)
            self._code = 1
            return
        wait = 0.0 if replica.deaths <= 1 else min(PAUSE * 2.0 ** (replica.deaths - 2), LONGEST_PAUSE)
        replica.due = time.monotonic() + wait
        text = f"worker {replica.identity} {_ending(code)}; starting another" + (f" in {wait:g} s" if wait else "")
        self._log("error", "worker_died", text, worker=replica.identity, code=code)

    # stopping ------------------------------------------------------------------------------------------------------
    def _stop(self, order: str) -> None:
        """Pass the order on; a process that has not ended after the grace and `EXTRA` is killed."""
        self._stopping = True
        left = self._kill_after if order == STOP else self._extra
        self._kill_at = min(self._kill_at, time.monotonic() + left)
        for replica in self._replicas:
            replica.due = None
            if replica.orders is not None:
                replica.orders.write(order)

    def _kill(self, replicas: list[Replica], why: str) -> None:
        for replica in replicas:
            replica.up = False  # and its lease is renewed no more
            if replica.process is not None:
                text = f"worker {replica.identity} {why} and is killed"
                self._log("error", "worker_killed", text, worker=replica.identity)
                replica.process.kill()


def _ending(code: int) -> str:
    return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"


def _write(level: str, event: str, text: str, **facts: Any) -> None:
    sys.stderr.write(f"mainstay: {text}\n")


def _report(log: WriteLine, error: BaseException) -> None:
    text = f"the supervisor goes on after {type(error).__name__}: {error}"
    log("error", "supervisor_error", text, error=str(error))
