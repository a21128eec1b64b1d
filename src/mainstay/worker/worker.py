"""`Worker`: makes the parts of a worker, runs each on a thread of its own, and stops them in order."""

from __future__ import annotations

import os
import random
import time
from functools import partial
from math import inf
from queue import SimpleQueue
from threading import Lock, Thread
from typing import TYPE_CHECKING, NamedTuple

from ..core.clock import milliseconds
from ..core.decide import decide
from ..core.errors import ConfigError, Conflict, SchemaMismatch, StoreError, UsageError
from ..core.events import report_failure
from ..core.outcome import INTERRUPTED, RELEASED
from ..core.updates import LogLimits
from ..core.verdict import STORED
from ..redacting import in_archives
from ..stores.move import closed
from ..upkeep import release_notes
from ..upkeep.admit import Admit, Expire
from ..upkeep.alerts import Alerts
from ..upkeep.archive import open_archive
from ..upkeep.prune import Prune, PruneActions
from ..upkeep.reconcile import LIMIT, reconcile_once
from ..upkeep.roll_up import RollUp
from ..upkeep.schedule import Schedules
from ..upkeep.sweep import GRACE, Sweep
from ..upkeep.triage import Triage
from .batch_claimer import claimer
from .executors import CLEAN_UP, Loop, Threads
from .hook_runner import run_hooks
from .in_flight import InFlight
from .listener import Listener
from .logging_capture import capture_logging
from .outcome_buffer import OutcomeBuffer
from .registration import Heartbeat, Registration, new_identity
from .service import Service
from .shutdown import signalled_block, stop_on_order, stop_uninterrupted, until_signalled
from .slots import Process, Slots
from .update_buffer import UpdateBuffer
from .wanted import wanted_by, warn_unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Self

    from ..app import Mainstay
    from ..core.clock import Duration
    from .in_flight import Execution

FINAL_WRITES = 10.0  # seconds for storing the last outcomes at the end
LAST = ("timeouts", "heartbeat")  # the parts that go on while a handler runs
IDLE = 100  # milliseconds between two looks whether the last handler has ended


class Runtime(NamedTuple):
    """What depends on real time, threads or chance, with the real parts as defaults. The simulator passes its own."""

    service: Callable[..., Service] = Service  # (name, step, clock, crashed): runs a loop
    threads: Callable[..., Threads] = Threads  # (slots, begin, end): runs plain handlers
    loop: Callable[..., Loop] = Loop  # (slots, begin, end): runs async handlers
    in_flight: Callable[[], InFlight] = InFlight
    updates: Callable[[], UpdateBuffer] = UpdateBuffer
    identity: Callable[[], str] = new_identity
    random: Callable[[], float] = random.random
    sweep_grace: int = GRACE


class Worker:
    """A worker in this process. `with app.worker(concurrency=8): …`, or `app.worker().run()` until a signal comes."""

    clean_up, final_writes = CLEAN_UP, FINAL_WRITES

    def __init__(
        self, app: Mainstay, *, concurrency: int = 50, queues: Iterable[str] | None = None,
        types: Iterable[str] | None = None, lease: Duration | None = None, grace: Duration = "30s",
        poll: Duration = "1s", audit_keep: Duration = "365d", stats_keep: Duration = "30d", archive: str | None = None, process_slots: int | None = None,
        job_log_lines: int = LogLimits().lines, job_log_size: int = LogLimits().characters, job_log_level: str = LogLimits().level,
        identity: str | None = None, signals: bool = False, reconcile: int = LIMIT, runtime: Runtime = Runtime(),  # noqa: B008  (immutable)
    ) -> None:  # fmt: skip
        if concurrency < 1:
            raise ConfigError(f"concurrency={concurrency}: a worker needs at least one slot")
        self.app, self.store, self._clock, self._events = app, app.store, app.clock, app.events
        self.concurrency, self.grace, self._runtime = concurrency, milliseconds(grace), runtime
        self.wants = wanted_by(app, queues, types)
        lasts = milliseconds(lease) if lease is not None else self.store.lease
        self.registration = Registration(
            app, self.wants, concurrency, lasts, identity, runtime.identity, runtime.sweep_grace
        )
        self.in_flight = runtime.in_flight()
        self.outcomes = OutcomeBuffer(self.in_flight, app.clock, runtime.random, app.events, runtime.updates())
        self.slots = Slots(
            app, concurrency, process_slots or os.cpu_count() or 1, self.registration, self.in_flight, self.outcomes,
            self.wake, runtime.threads, runtime.loop,
        )  # fmt: skip
        self.slots.reporter.limits = LogLimits(job_log_lines, job_log_size, job_log_level)
        self.claimer = claimer(
            app, self.registration, self.wants, self.slots, self.in_flight, self.outcomes, milliseconds(poll)
        )
        self.heartbeat = Heartbeat(app, self.registration, self._replace, self.cancel, self._store_replied, self._ask)
        renew_now = partial(self.wake, "heartbeat")
        self.listener = Listener(app, self.registration, self.claimer.offers, self.wake, renew_now)
        self._archive = open_archive(archive, in_archives()) if archive else None
        # What keeps an installation healthy. Each is safe when several processes do it at the same time.
        self.chores: tuple[Sweep | Prune | PruneActions | RollUp | Admit | Expire | Schedules | Triage | Alerts, ...] = (
            Sweep(self.store, runtime.random, app.events, self.store.sweep_interval, runtime.sweep_grace, app.clock),
            Prune(self.store, app.events, self._archive),
            PruneActions(self.store, app.events, milliseconds(audit_keep)), RollUp(self.store, app.events, milliseconds(stats_keep)),
            Admit(self.store, app.events), Expire(self.store, app.events), Schedules(app), Triage(self.store, app.events),
            Alerts(app, partial(self.wake, "alerts")),
        )  # fmt: skip
        self._block, self._reconcile = signalled_block(self) if signals else None, reconcile
        self._dropped: list[Execution] = []  # when the lease was lost; not given back yet
        self.services: dict[str, Service] = {}  # while it runs: its loops by name
        self.draining = False  # it finishes what it runs
        self._stopping, self._stopped, self._in_a_hurry = Lock(), False, False  # told to stop; to stop now
        self._orders: SimpleQueue[str] | None = None
        self._asked: list[str] = []  # what an operator has asked of this worker: drain, stop
        self.obey: Callable[[str], None] = self._obey  # ends this worker; a process of its own has its own way
        self._noted = ""  # under which identity it left a note about handlers that it could not stop

    @property
    def id(self) -> str:
        """The worker's identity; it gets a new one after it has lost its lease."""
        return self.registration.id

    @property
    def types(self) -> tuple[str, ...]:
        """The job types that this worker serves."""
        return self.registration.types

    # life ---------------------------------------------------------------------------------------------------------
    def start(self) -> Self:
        """Register, then claim and run until `stop`. A worker starts once."""
        if self.services or self.registration.stopping:
            raise UsageError("this worker was started before: make another one with app.worker(…)")
        for name in self.types:  # a handler whose annotations cannot be read is a bug, not a bad payload
            self.app.registry.expect(name).schema.build()
        try:
            why_closed = closed(self.store)  # its jobs were moved elsewhere, or are not all here yet
        except SchemaMismatch:  # a file of the user's without our tables: registering makes them, or says what is wrong
            why_closed = None
        if why_closed:
            raise Conflict(why_closed)
        self.slots.process = Process.id
        self.registration.register()
        warn_unknown(self.app, self.wants)
        self.listener.open()
        try:
            self._start_parts()
        except BaseException:
            # Ctrl-C, or no thread is left: what has started would claim jobs, and nobody would stop it.
            self.stop(0)
            raise
        return self

    def _start_parts(self) -> None:
        self._end_hooks = self._end_capture = self._end_reconciling = _nothing
        for name, step in self._steps().items():
            self.services[name] = self._runtime.service(name, step, self._clock, _complain)
        self._end_hooks = run_hooks(self.app)
        self._end_capture = capture_logging(self.slots.reporter.limits.level)
        self._events.emit("worker_started", worker=self)  # before the first job can start
        for service in self.services.values():
            service.start()
        self._end_reconciling = reconcile_once(self.app, self.types, self._reconcile)

    def _steps(self) -> dict[str, Callable[[int], int]]:
        """Return the loops by name, in the order in which they start and stop."""
        return {"listener": self.listener.step, "claimer": self.claimer.step, "timeouts": self.slots.check_times,
                **self._chore_steps(), "heartbeat": self.heartbeat.step}  # fmt: skip

    def _chore_steps(self) -> dict[str, Callable[[int], int]]:
        steps: dict[str, Callable[[int], int]] = {chore.name: chore.step for chore in self.chores}
        return steps | {"sweep": partial(self._sweep, steps["sweep"])}

    def stop(self, grace: Duration | None = None, *, drain: bool = False) -> None:
        """Claim nothing more, release what has not started, let the rest finish or reach a safe point, store it all.

        With `drain`, handlers go on to their ends, however long that takes.
        """
        if not self.services or not self._stopping.acquire(blocking=False):  # of those that stop it at once, one does
            return
        self._stopped, self.draining = True, drain
        self._events.emit("worker_stopping", worker=self)
        self._end_reconciling()
        limit = self.grace if grace is None else milliseconds(grace)
        if drain:
            self.slots.start_no_more()
        else:
            self.slots.ask_to_stop()
        self.wake()
        self.wake("heartbeat")  # says in the store that this worker stops
        seconds = inf if drain else limit / 1000
        self.in_flight.wait_ended(seconds, lambda execution: not (execution.late or self._in_a_hurry))
        if drain:
            self.slots.ask_to_stop()  # those that it does not wait for
        if self.slots.interrupt():  # their `finally` may take a moment
            self.in_flight.wait_ended(
                self.clean_up, lambda execution: execution.type.is_async or execution.type.process
            )
        for name, service in self.services.items():  # the listener before the claimer, which releases what came with it
            if name not in LAST:
                service.stop()
        left = self.slots.running()
        if left:
            self._note(left)
        self._store_the_rest()
        if left:  # hold their jobs until the last handler ends
            self.services["claimer"] = self._runtime.service("claimer", self._linger, self._clock, _complain)
            self.services["claimer"].start()
        else:
            self._end()
        self._events.emit("worker_stopped", worker=self)

    def stop_now(self) -> None:
        """Cut a graceful stop short, also one that is about to begin."""
        self.registration.stopping = self._in_a_hurry = True

    def _note(self, left: list[Execution]) -> None:
        """Leave a note about the jobs of handlers that nothing can stop: if this process ends first, a sweep frees them."""
        for execution in left:
            self.slots.report_left(execution)
        self._noted = self.registration.registered
        try:
            release_notes.write(self.store, self._noted, {each.job.id: each.overrun or RELEASED for each in left})
        except StoreError as error:  # then they count as crashed
            self._events.emit("store_error", error=error, wait=0)

    def _linger(self, now: int) -> int:
        """Store what ends after the stop; when nothing runs any more, end. Return when to look again."""
        wait = self.claimer.step(now)
        if not (len(self.in_flight) or self.outcomes.pending):
            self._end()
        return min(wait, IDLE)

    def _end(self) -> None:
        for service in self.services.values():  # the heartbeat last: the lease is renewed to the end
            service.stop()
        for chore in self.chores:
            if isinstance(chore, Alerts):
                chore.close()
        if self._archive is not None:
            self._archive.close()
        self.listener.close()
        try:
            self.slots.stop()
            if self._noted:
                release_notes.remove(self.store, self._noted)
            self.registration.deregister()
        except StoreError as error:  # the lease runs out by itself
            self._events.emit("store_error", error=error, wait=0)
        self._end_hooks()
        self._end_capture()
        self.services = {}

    def _store_the_rest(self) -> None:
        """Write the last outcomes in the claimer's place; other workers run again what a broken store refuses."""
        limit = time.monotonic() + self.final_writes
        self.claimer.step(self._clock.now())
        self.slots.release_unstarted()  # a claim under way at the end may have brought more
        while (self.outcomes.pending or self.in_flight.unstored) and time.monotonic() < limit:
            wait = self.claimer.step(self._clock.now())
            if self.outcomes.pending or self.in_flight.unstored:
                self.in_flight.wait_removed(min(wait, 50) / 1000)

    def run(self) -> int:
        """Work until SIGTERM or SIGINT, then stop gracefully; a second signal stops at once. Return the exit code."""
        return until_signalled(self)

    # what the parts call ------------------------------------------------------------------------------------------
    def _replace(self) -> None:
        """Drop every job and register under a new identity: the lease is lost."""
        self._events.emit("lease_lost", worker=self.id)
        self.registration.open = False
        for execution in self.in_flight.drop_all():
            self.slots.drop(execution, "the worker lost its lease")
            self._dropped.append(execution)
        self._give_back()
        self.registration.replace()
        self.wake()

    def _give_back(self) -> None:
        """End the dropped attempts. This worker lives, so none counts as a crash, even if a sweep has freed it already."""
        now = self._clock.now()
        jobs = [each.job for each in self._dropped]
        outcomes = [INTERRUPTED if each.started else RELEASED for each in self._dropped]
        decided = [decide(*each, now, self._runtime.random) for each in zip(jobs, outcomes, strict=True)]
        verdicts = self.store.finish(decided)
        freed = [job for job, verdict in zip(jobs, verdicts, strict=True) if verdict != STORED]
        if freed:  # another worker's sweep may have taken this one for dead
            self.store.retract_crashes(freed)
        self._dropped.clear()

    def _sweep(self, step: Callable[[int], int], now: int) -> int:
        """Sweep, unless this worker's own lease is over: it was suspended, so others may have been, and they come back."""
        if self.registration.expired():
            self.wake("heartbeat")
            return self.registration.lease
        return step(now)

    def cancel(self, attempts: list[tuple[str, int]]) -> None:
        """Stop running jobs that someone cancelled."""
        for execution in self.in_flight.find(attempts).values():
            if execution.cancel is None:
                self._events.emit("cancelling", job=execution.job)
                self.slots.cancel(execution, "cancelled on request")

    def _ask(self, what: str) -> None:
        """Do what an operator asks, once. Every renewal says it again."""
        if what not in self._asked:
            self._asked.append(what)
            self._events.emit("worker_asked", worker=self, what=what)
            self.obey(what)

    def _obey(self, what: str) -> None:
        """Stop beside the program that this worker is a part of."""
        if self._orders is None:
            self._orders = SimpleQueue()
            Thread(target=stop_on_order, args=(self, self._orders), name="mainstay-order", daemon=True).start()
        self._orders.put(what)

    def _store_replied(self) -> None:
        """Wake a claimer that waits longer and longer after errors: the store replies again."""
        if self.claimer.failing:
            self.wake()

    def wake(self, name: str = "claimer") -> None:
        """Run a part now: the claimer, because something ended or came."""
        service = self.services.get(name)
        if service is not None:
            service.wake()

    # use as a context ---------------------------------------------------------------------------------------------
    def __enter__(self) -> Self:
        if self._block is None:
            return self.start()
        self._block.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        if self._block is None:
            stop_uninterrupted(self)
        else:
            self._block.__exit__(None, None, None)

    async def __aenter__(self) -> Self:
        import asyncio

        return await asyncio.to_thread(self.start)

    async def __aexit__(self, *_: object) -> None:
        import asyncio

        await asyncio.to_thread(self.stop)


def _nothing() -> None:
    """End what has not begun."""


def _complain(error: BaseException) -> None:
    """Write a bug of the worker to stderr. The worker goes on: the other jobs are not to suffer for it."""
    report_failure("a part of the worker", error, "and goes on")
