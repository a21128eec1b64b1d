"""The worker: claims jobs, runs their handlers, stores what came of it, and stays alive in the store's eyes meanwhile."""

from __future__ import annotations

import os
import random as chance
import socket
import sys
from typing import TYPE_CHECKING

from ..core.clock import milliseconds
from ..core.errors import ConfigError, Conflict, SchemaMismatch, StoreError
from ..core.ids import encode
from ..core.job import WorkerInfo
from ..stores.contract import ClaimingNotifier
from ..stores.move import closed
from ..upkeep import sweep
from ..upkeep.prune import Prune
from ..upkeep.sweep import Sweep
from .claimer import Claimer
from .heartbeat import Heartbeat
from .in_flight import Flight, Flights
from .outcome_buffer import Finisher
from .reporter import WorkerSink
from .service import Service
from .slots import Crew
from .timeouts import Watch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from types import TracebackType
    from typing import Self

    from ..app import Mainstay
    from ..core.clock import Duration
    from ..stores.contract import Notifier

LISTEN = 100  # milliseconds: how long a stop may have to wait for the bell
LAST_WORDS = 10.0  # seconds for storing the last outcomes at the end


class Worker:
    """A worker in this process. `with app.worker(concurrency=8): …`, or `app.worker().run()` until a signal comes."""

    def __init__(
        self, app: Mainstay, *, concurrency: int = 50, queues: Iterable[str] | None = None,
        types: Iterable[str] | None = None, lease: Duration | None = None, grace: Duration = "30s",
        poll: Duration = "1s", process_slots: int | None = None, identity: str | None = None,
        random: Callable[[], float] = chance.random,
    ) -> None:  # fmt: skip
        if concurrency < 1:
            raise ConfigError(f"concurrency={concurrency}: a worker needs at least one slot")
        self.app, self.store, self._clock, self._events = app, app.store, app.clock, app.events
        self.slots, self.grace = concurrency, milliseconds(grace)
        self.wants = _wants(app, queues, types)
        self.types = tuple(dict.fromkeys(name for names in self.wants.values() for name in names))
        self.id = identity or new_identity()
        self.lease = milliseconds(lease) if lease is not None else getattr(app.store, "lease", 20_000)
        self.flights = Flights()
        self.finisher = Finisher(self.flights, self._clock, random, self._events)
        sink = WorkerSink(self.store, self.finisher, self._clock, self.wake)
        self.crew = Crew(
            concurrency, self.flights, self.finisher, sink, self._clock, self._events, self.wake,
            process_slots or os.cpu_count() or 1, self.holds,
        )  # fmt: skip
        self.claimer = Claimer(
            self.store, app.registry, self.wants, self.crew, self.flights, self.finisher, self._clock, self._events,
            milliseconds(poll),
        )  # fmt: skip
        self.heartbeat = Heartbeat(
            self.store, self.lease, self._clock, self._events, self.rejoin, self.cancel, self._heard
        )
        self.watch = Watch(self.flights, self.crew)
        self.chores = (Sweep(self.store, random, self._events, getattr(app.store, "sweep_interval", 5_000)),
                       Prune(self.store, self._events))  # fmt: skip
        self._bell: Notifier | None = None
        self._rings_for = ""  # the identity whose bell that is
        self._services: dict[str, Service] = {}

    # life ---------------------------------------------------------------------------------------------------------
    def start(self) -> Self:
        """Register, then claim and run until `stop`."""
        for names in self.wants.values():
            for name in names:  # a handler whose hints cannot be read is our caller's bug, not a bad payload
                self.app.registry.expect(name).schema.build()
        self._check_open()
        self.join()
        self._own_bell()
        steps = {"claimer": self.claimer.step, "watch": self.watch.step, "heartbeat": self.heartbeat.step,
                 "bell": self._listen, "sweep": self.chores[0].step, "prune": self.chores[1].step}  # fmt: skip
        for name, step in steps.items():
            self._services[name] = Service(name, step, self._clock, self._bug)
        self._events.emit("worker_started", worker=self)  # before the first job can start
        for service in self._services.values():
            service.start()
        return self

    def stop(self, grace: Duration | None = None) -> None:
        """Claim nothing more, hand back what has not begun, let the rest finish or reach a safe point, store it all."""
        if not self._services:
            return
        self._events.emit("worker_stopping", worker=self)
        limit = self.grace if grace is None else milliseconds(grace)
        self.claimer.open = False
        self.crew.ask_to_stop()
        self.wake()
        if not self.flights.wait_idle(limit / 1000):
            self.crew.abandon()
        self._services["bell"].stop()  # before the claimer: what comes with a ring is handed back
        self._services["claimer"].stop()
        self._store_the_rest()
        services, self._services = self._services, {}
        for name in ("sweep", "prune", "watch", "heartbeat"):  # the heart beats to the end
            services[name].stop()
        self._leave()
        self._events.emit("worker_stopped", worker=self)

    def hurry(self) -> None:
        """Cut a graceful stop short, or one that is about to begin: hand back what still runs."""
        self.claimer.open, self.crew.stopping = False, True
        self.crew.abandon()

    def _store_the_rest(self) -> None:
        """Write the last outcomes in the claimer's place; what a broken store refuses is run again by others."""
        import time

        limit = time.monotonic() + LAST_WORDS
        self.claimer.step(self._clock.now())
        self.crew.abandon()  # a claim under way at the end may have brought more
        while self.finisher.pending and time.monotonic() < limit:
            wait = self.claimer.step(self._clock.now())
            if self.finisher.pending:
                self.flights.wait_settled(min(wait, 50) / 1000)

    def _leave(self) -> None:
        if self._bell is not None:
            self._bell.close()
        try:
            self.crew.stop()
            self.store.deregister(self.id)
        except StoreError as error:  # the lease runs out by itself
            self._events.emit("store_error", error=error, wait=0)

    def run(self) -> int:
        """Work until SIGTERM or SIGINT, then stop gracefully; a second signal stops at once. Answers the exit code."""
        from .shutdown import until_signalled

        return until_signalled(self)

    # parts --------------------------------------------------------------------------------------------------------
    def _check_open(self) -> None:
        """Raise on a store whose jobs are elsewhere, or not all here yet."""
        try:
            why = closed(self.store)
        except SchemaMismatch:  # a file of the user's without our tables: joining makes them, or says what is wrong
            return
        if why:
            raise Conflict(why)

    def join(self) -> None:
        """Register under the present identity and open for claims."""
        now = self._clock.now()
        self.store.register_types([self.app.registry.expect(name).info(now) for name in self.types])
        now = self._clock.now()  # anew: that may have taken long, and the lease runs from here
        self.store.register(self._info(now))
        self.crew.marks = self.store.started_jobs(self.id)
        self.heartbeat.worker = self.claimer.worker = self.id
        self.heartbeat.held_until = now + self.lease
        self.claimer.open = True

    def rejoin(self) -> str:
        """The lease is lost: drop every job and come back under a new identity."""
        self._events.emit("lease_lost", worker=self.id)
        stopping = not self.claimer.open and self.crew.stopping
        self.claimer.open = False
        for flight in self.flights.drop_all():
            self.crew.let_go(flight, "the worker lost its lease")
        self.id = new_identity()
        self.store.deregister(self.heartbeat.worker)  # the one that is registered; this may be another try
        self.join()
        self.claimer.open = not stopping
        self.wake()
        return self.id

    def holds(self, flight: Flight, now: int) -> bool:
        """Whether a claimed job is ours to start, by our own count: the lease runs, and no sweep takes it for overdue."""
        job = flight.job
        if job.worker != self.id or now >= self.heartbeat.held_until:
            return False
        waited = now - flight.claimed_at
        return waited < sweep.GRACE or job.timeout is None or waited < job.timeout + sweep.GRACE

    def cancel(self, job_id: str, token: int) -> None:
        """Stop a running job that someone cancelled."""
        flight = self.flights.get(job_id)
        if flight is not None and flight.job.token == token and flight.cancel is None:
            self._events.emit("cancelling", job=flight.job)
            self.crew.cancel(flight, "cancelled on request")

    def _heard(self) -> None:
        """The store answers: a claimer that waits longer and longer after errors need not wait any more."""
        if self.claimer.failing:
            self.wake()

    def wake(self) -> None:
        """Have the claimer look now: something ended, or something came."""
        service = self._services.get("claimer")
        if service is not None:
            service.wake()

    def _listen(self, now: int) -> int:
        try:
            bell = self._own_bell()
            rang = self._take(bell, now) if isinstance(bell, ClaimingNotifier) else bell.wait(LISTEN)
        except StoreError as error:
            self._events.emit("store_error", error=error, wait=1_000)
            return 1_000
        if rang == "cancel":
            self._services["heartbeat"].wake()
        elif rang:
            self.wake()
        return 0

    def _take(self, bell: ClaimingNotifier, now: int) -> str:
        """Wait for the bell, with an offer to take a job as it rings if there is room for one."""
        offer = self.claimer.offer(now)
        if offer is None:
            return bell.wait(LISTEN)
        sure = False
        try:
            rang = bell.take(LISTEN, offer)
            sure = True
        finally:
            came = self.claimer.answered(sure)
            if came:
                self.wake()
        return "" if came and rang == "jobs" else rang  # woken already, and what came goes first

    def _own_bell(self) -> Notifier:
        """The bell of the identity that has joined: that of a lost one was swept away with it."""
        name = self.claimer.worker
        if self._rings_for != name and self._bell is not None:
            bell, self._bell = self._bell, None
            bell.close()
        if self._bell is None:
            self._bell, self._rings_for = self.store.notifier(name), name
        return self._bell

    def _info(self, now: int) -> WorkerInfo:
        return WorkerInfo(
            self.id, socket.gethostname(), os.getpid(), self.slots, tuple(self.wants), self.types, now, now,
            now + self.lease, 0, False,
        )  # fmt: skip

    def _bug(self, error: BaseException) -> None:
        """A step broke: say so on stderr and go on; a worker that dies of its own bug helps nobody."""
        import traceback

        sys.stderr.write("mainstay: a part of the worker failed and goes on:\n")
        traceback.print_exception(error)

    # use as a context ---------------------------------------------------------------------------------------------
    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        import asyncio

        return await asyncio.to_thread(self.start)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        import asyncio

        await asyncio.to_thread(self.stop)


def new_identity() -> str:
    """A name no other worker ever had: random, never host or pid, which come back after a restart."""
    return "w" + encode(int.from_bytes(os.urandom(8), "big") & (1 << 60) - 1, 12).lower()


def _wants(app: Mainstay, queues: Iterable[str] | None, types: Iterable[str] | None) -> Mapping[str, Sequence[str]]:
    """Queue by queue the types to claim: all of them in each, because a call may send a job to another queue."""
    names = app.registry.names() if types is None else list(types)
    own = list(dict.fromkeys(app.registry.expect(name).queue for name in names))
    served = own if queues is None else list(dict.fromkeys(queues))
    if not set(own) & set(served):
        raise ConfigError(
            "this worker would serve no job: " + ("no @app.job is defined (is the module imported?)" if not names
            else f"none of its types belongs to the queues {', '.join(served)}")
        )  # fmt: skip
    return dict.fromkeys(served, names)
