"""This worker in the store: its identity, its lease, and whether it claims jobs. All parts of a worker share one."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING
from zlib import crc32

from ..core.ids import encode
from ..core.job import WorkerInfo
from ..stores.contract import StartedJobs
from ..upkeep.sweep import GRACE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..core.clock import Clock
    from ..registry import Registry
    from ..stores.contract import Renewal, Store
    from .in_flight import Execution


HEAD_START = 200


def new_identity() -> str:
    """Return a name that no other worker ever had: random, because host and pid come back after a restart."""
    return "w" + encode(int.from_bytes(os.urandom(8), "big") & (1 << 60) - 1, 12).lower()


class Registration:
    """The worker's entry in the store. `register`, then `renew` in time; `replace` after a lease was lost."""

    def __init__(
        self, store: Store, registry: Registry, wants: Mapping[str, Sequence[str]], slots: int, lease: int, clock: Clock,
        identity: str | None = None, new_identity: Callable[[], str] = new_identity, sweep_grace: int = GRACE,
    ) -> None:  # fmt: skip
        self._store, self._registry, self._wants, self._slots = store, registry, wants, slots
        self._clock, self._new_identity, self._sweep_grace = clock, new_identity, sweep_grace
        self.lease = lease
        self.id = identity or new_identity()  # a new one as soon as the lease is lost
        self.registered = ""  # the identity that the store knows: the lost one until `replace` has succeeded
        self.held_until = 0  # when the lease ends: counted from the start of the last renewal that succeeded
        self.started_jobs = StartedJobs()
        self.open = False  # registered, and the lease is not known to be lost
        self.yields_until = 0  # until then, workers with other code get the jobs first that become due
        self.stopping = False  # the worker ends: it claims nothing and starts nothing more

    @property
    def claiming(self) -> bool:
        """Whether this worker may claim jobs."""
        return self.open and not self.stopping

    @property
    def types(self) -> tuple[str, ...]:
        """The job types that this worker serves, each once."""
        return tuple(dict.fromkeys(name for names in self._wants.values() for name in names))

    def register(self) -> None:
        """Register under the present identity, with the types that this worker serves."""
        now = self._clock.now()
        self._store.register_types([self._registry.expect(name).info(now, name) for name in self.types])
        now = self._clock.now()  # again: the call above may have taken long, and the lease runs from here
        self._store.register(self._info(now), [self._registry.expect(name).declaration(name) for name in self.types])
        self.started_jobs = self._store.started_jobs(self.id)
        self.registered, self.held_until, self.open = self.id, now + self.lease, True

    def renew(self, now: int) -> Renewal:
        """Renew the lease, and say in the store if the worker is stopping."""
        renewal = self._store.renew(self.registered, now, self.lease, self.stopping)
        if renewal.alive:
            self.held_until = now + self.lease
        return renewal

    def replace(self) -> None:
        """Register under a new identity. A `StoreError` leaves the worker unregistered: call this again."""
        self.open, self.id = False, self._new_identity()
        self._store.deregister(self.registered)
        self.register()

    def deregister(self) -> None:
        """Remove the worker from the store."""
        self._store.deregister(self.id)

    def holds(self, execution: Execution, now: int) -> bool:
        """Return whether a claimed job may start here: the lease runs, and no sweep counts the job as overdue."""
        job = execution.job
        if job.worker != self.id or now >= self.held_until:
            return False
        waited = now - execution.claimed_at
        return waited < self._sweep_grace or job.timeout is None or waited < job.timeout + self._sweep_grace

    def head_start(self, now: int) -> int:
        """Return how many ms later than others to claim what becomes due; 0 unless a job was left to other code lately.

        Random, but the same for the same worker and instant: two workers that yield to each other take turns.
        """
        return crc32(f"{self.id} {now}".encode()) % HEAD_START if now < self.yields_until else 0

    def _info(self, now: int) -> WorkerInfo:
        return WorkerInfo(
            self.id, socket.gethostname(), os.getpid(), self._slots, tuple(self._wants), self.types, now, now,
            now + self.lease, 0, False,
        )  # fmt: skip
