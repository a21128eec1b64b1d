"""This worker in the store: its identity, its lease, and the heartbeat that renews it. All parts of a worker share one."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING
from zlib import crc32

from ..control.declared import declared_schedules, rules_of
from ..core.clock import monotonic
from ..core.errors import StoreError
from ..core.ids import encode
from ..core.job import WorkerInfo
from ..stores.results import StartedJobs
from ..upkeep.sweep import GRACE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..app import Mainstay
    from ..stores.results import Renewal
    from .in_flight import Execution

AFTER_AN_ERROR = 1_000  # ms until the next try: the first part to reach the store again wakes the others
BEATS = 5  # renewals per lease: four may fail
HEAD_START = 200


def new_identity() -> str:
    """Return a name that no other worker ever had: random, because host and pid come back after a restart."""
    return "w" + encode(int.from_bytes(os.urandom(8), "big") & (1 << 60) - 1, 12).lower()


class Registration:
    """The worker's entry in the store. `register`, then `renew` in time; `replace` after a lease was lost."""

    def __init__(
        self, app: Mainstay, wants: Mapping[str, Sequence[str]], slots: int, lease: int, identity: str | None = None,
        new_identity: Callable[[], str] = new_identity, sweep_grace: int = GRACE,
    ) -> None:  # fmt: skip
        self._app, self._store, self._registry, self._clock = app, app.store, app.registry, app.clock
        self._wants, self._slots, self._new_identity, self._sweep_grace = wants, slots, new_identity, sweep_grace
        self.lease = lease
        # A new one as soon as the lease is lost. Nobody had it before: what a worker of this name still holds is not ours.
        self.id = f"{identity}-{new_identity()[-6:]}" if identity else new_identity()
        self.registered = ""  # the identity that the store knows: the lost one until `replace` has succeeded
        self._monotonic = monotonic(app.clock)
        self.renewed_at = 0  # by monotonic time: the start of the last renewal that succeeded
        self._held_until = 0  # by the clock, which also tells that the machine was suspended
        self.started_jobs = StartedJobs()
        self.open = False  # registered, and the lease is not known to be lost
        self._yields_until = 0  # until then, workers with other code get the jobs first that become due
        self.stopping = False  # the worker ends: it claims nothing and starts nothing more
        self.releasing = False  # and its handlers are to stop at their next safe point

    @property
    def claiming(self) -> bool:
        """Whether this worker may claim jobs."""
        return self.open and not self.stopping

    @property
    def types(self) -> tuple[str, ...]:
        """The job types that this worker serves, each once."""
        return tuple(dict.fromkeys(name for names in self._wants.values() for name in names))

    def register(self) -> None:
        """Register under the present identity, with the types that this worker serves, and what the program declares."""
        now = self._clock.now()
        self._store.register_types([self._registry.expect(name).info(now, name) for name in self.types])
        declared = [*rules_of(self._app, self.types, self._app.queue_rules, now), *declared_schedules(self._app, now)]
        if declared:
            self._store.declare_rules(declared)
        now = self._clock.now()  # again: the call above may have taken long, and the lease runs from here
        since = self._monotonic()
        info = WorkerInfo(
            self.id, socket.gethostname(), os.getpid(), self._slots, tuple(self._wants), self.types, now, now,
            now + self.lease, 0, False,
        )  # fmt: skip
        self._store.register(info, [self._registry.expect(name).declaration(name) for name in self.types])
        self.started_jobs = self._store.started_jobs(self.id)
        self.registered, self.renewed_at, self._held_until, self.open = self.id, since, now + self.lease, True

    def renew(self, now: int) -> Renewal:
        """Renew the lease, and say in the store if the worker is stopping."""
        since = self._monotonic()
        renewal = self._store.renew(self.registered, now, self.lease, self.stopping)
        if renewal.alive:
            self.renewed_at, self._held_until = since, now + self.lease
        return renewal

    def expired(self, early: int = 0) -> bool:
        """Return whether the lease is over, or ends within `early` milliseconds, by either way to measure.

        Time in which nobody could renew a lease does not count.
        """
        left = min(self.renewed_at + self.lease - self._monotonic(), self._held_until - self._clock.now())
        return left <= early and left + self._store.stalled() <= early

    def over(self, early: int) -> bool:
        """Return whether other workers free the jobs of this one, now or within `early` ms, unless it renews its lease."""
        return self._store.clock_ends_leases and self.expired(early)

    def replace(self) -> None:
        """Register under a new identity. A `StoreError` leaves the worker unregistered: call this again."""
        self.open, self.id = False, self._new_identity()
        self._store.deregister(self.registered)
        self.register()

    def deregister(self) -> None:
        self._store.deregister(self.id)

    def holds(self, execution: Execution, now: int) -> bool:
        """Return whether a claimed job may start here: the lease runs, and no sweep counts the job as overdue."""
        job = execution.job
        if job.worker != self.id:
            return False
        # Without a call while the lease surely runs.
        if (now >= self.renewed_at + self.lease or self._clock.now() >= self._held_until) and self.expired():
            return False
        waited = now - execution.claimed_at
        return waited < self._sweep_grace or job.timeout is None or waited < job.timeout + self._sweep_grace

    def yield_jobs(self, ms: int) -> None:
        """Let workers with other code go first for so long."""
        self._yields_until = self._monotonic() + ms

    def head_start(self) -> int:
        """Return how many ms later than others to claim what becomes due; 0 unless a job was left to other code lately.

        Random, but the same for the same worker and instant: two workers that yield to each other take turns.
        """
        now = self._monotonic()
        return crc32(f"{self.id} {now}".encode()) % HEAD_START if now < self._yields_until else 0


class Heartbeat:
    """Renews the lease on a thread that no handler can block.

    A worker that cannot renew in time drops its jobs before other workers free them. On a SQLite file it keeps them: there a
    sweep ends a lease only if it sees that others can write.
    """

    def __init__(
        self, app: Mainstay, registration: Registration, lost: Callable[[], None], cancel: Callable[[list[tuple[str, int]]], None],
        renewed: Callable[[], None], asked: Callable[[str], None],
    ) -> None:  # fmt: skip
        self._registration, self._monotonic, self._events = registration, monotonic(app.clock), app.events
        self._lost, self._cancel, self._renewed, self._asked = lost, cancel, renewed, asked
        self._interval = registration.lease // BEATS
        self._again = min(self._interval, AFTER_AN_ERROR)
        self.replacing = False  # every job was dropped, and the store has not registered the new identity yet

    def step(self, now: int) -> int:
        """Renew once; return when to renew next."""
        if self.replacing:  # to renew the old lease would keep the dropped jobs from every other worker
            return self._replace()
        try:  # even when late: a supervisor may have renewed the lease, and the store refuses one that has run out
            renewal = self._registration.renew(now)
        except StoreError as error:
            self._events.emit("store_error", error=error, wait=self._again)
            return self._replace() if self._registration.over(early=self._interval) else self._again
        if not renewal.alive:
            return self._replace()
        self._events.emit("beat", worker=self._registration.id)
        self._renewed()
        if renewal.cancelling:
            self._cancel(renewal.cancelling)
        if renewal.wanted:
            self._asked(renewal.wanted)
        return self._due()

    def _due(self) -> int:
        """Return how long until the next renewal, counted from when the last one began."""
        return max(0, self._registration.renewed_at + self._interval - self._monotonic())

    def _replace(self) -> int:
        """Drop everything and register under a new identity: the lease is lost, or about to be."""
        self.replacing = True
        try:
            self._lost()
        except StoreError as error:
            self._events.emit("store_error", error=error, wait=self._again)
            return self._again
        self.replacing = False
        return self._due()
