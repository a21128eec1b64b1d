"""The hardships of one world at work: what befalls its processes, and every call to its store."""

from __future__ import annotations

import os
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

from mainstay.core.errors import StoreBusy, StoreUnavailable
from mainstay.stores import worker_locks
from tests.simulation.interrupts import Interrupt, blocked, forked, interrupted

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.simulation.scheduler import Process
    from tests.simulation.world import World

BUSY = 10_000  # how long a call waits for SQLite's write lock
LONGEST = 4_500  # how long a server lets a call take before it is rolled back
ROW = 0.45  # milliseconds that one update takes in a slow store
MOST_ROWS = 5_000  # … of updates that one call may write
INTERRUPTED = frozenset({"enqueue", "cancel", "retry", "delete"})
PEOPLE = ("producer", "operator")


class Trouble:
    """Decides by a randomness of its own, so that a seed without hardships stays what it was."""

    def __init__(self, world: World, hardships: frozenset[str]) -> None:
        self._world, self._hardships, self.random = world, hardships, Random(f"trouble of {world.seed}")
        self._scheduler = world.scheduler
        self._set: list[tuple[Process, int]] = []  # clocks, and by how much
        self._waiting: set[Process] = set()  # for the write lock
        self._locked_until = 0  # a transaction of the user's holds the write lock

    def begin(self) -> None:
        """Plan what befalls this world."""
        plans: dict[str, tuple[int, Callable[[], None]]] = {
            "clock steps": (2, self._set_a_clock),
            "suspends": (5, self._suspend),
            "long writes": (2, self._write_long),
            "forks": (3, self._fork),
        }
        for name, (times, event) in plans.items():
            for _ in range(times if name in self._hardships else 0):
                self._scheduler.after(self.random.randrange(500, 11_000), self._world.supervisor, event)

    # processes ----------------------------------------------------------------------------------------------------
    def _set_a_clock(self) -> None:
        process = self.random.choice(self._world.hosts).process
        by = self.random.choice((-1, 1)) * self.random.randrange(20_000, 90_000)
        self._set.append((process, by))
        self._step(process, by)

    def _step(self, process: Process, by: int) -> None:
        process.set_clock(by)
        self._world.recorder.add(process, "clock", by=by)

    def end(self) -> None:
        """Set the clocks right: a worker whose clock is ahead delays each retry and each snooze by as much."""
        while self._set:
            process, by = self._set.pop()
            self._step(process, -by)

    def _suspend(self) -> None:
        """Suspend the machine of all workers for longer than their lease."""
        until = self._scheduler.now + self.random.randrange(self._world.lease * 11 // 10, self._world.lease * 2)
        for host in self._world.hosts:
            if host.process.alive:
                host.process.pause(until)
                self._world.recorder.struck(host.process, "pause")
                back = partial(self._world.recorder.add, host.process, "back")
                self._scheduler.after(until - self._scheduler.now, host.process, back)

    def died(self, process: Process) -> None:
        """Release the lock files of a dead process, as the kernel does."""
        for identity in process.identities:
            descriptor = worker_locks._held.pop(worker_locks.lock_file(self._world.store.db.path, identity), None)
            if descriptor is not None:
                os.close(descriptor)
        if "identities" in self._hardships:
            for host in self._world.hosts:
                host.at_once(process)

    def _fork(self) -> None:
        """Fork in the middle of an enqueue; the child enqueues too."""
        mine, theirs = self._world.announced("default"), self._world.announced("default")
        store, now = self._world.store, self._scheduler.now
        line, busy, child = (
            self.random.randrange(1, 90),
            partial(store.enqueue, [mine], now),
            partial(store.enqueue, [theirs], now),
        )
        problem = self._world.undisturbed(partial(forked, line, busy, child))
        if problem:
            self._world.breach("I19", problem)
        for draft in (mine, theirs)[: 1 if problem else 2]:
            self._world.acknowledged(draft)

    # calls --------------------------------------------------------------------------------------------------------
    def call(self, process: Process, verb: str, real: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Make a call to the store, with what befalls it."""
        if verb == "register":
            process.identities.append(args[0].id)
        elif verb in ("claim", "finish"):
            self._write(args[5:6] if verb == "claim" else args[1:2])
        if process in self._waiting:  # another thread of it does, and notes how long
            self._wait_for_the_lock()
        else:
            self._waiting.add(process)
            process.stall.wait_begins()
            try:
                self._wait_for_the_lock()
            finally:
                process.stall.wait_ends()
                self._waiting.discard(process)
        if "cut short" in self._hardships:
            real = partial(self._world.flow.call, real)
        if "signals" in self._hardships and verb in INTERRUPTED and process.name.startswith(PEOPLE):
            return self._signalled(verb, real, args)
        return real(*args)

    def _write(self, updates: tuple[Any, ...]) -> None:
        rows = len(updates[0]) if updates else 0
        if rows > MOST_ROWS:
            self._world.breach("I22", f"(one round writes {rows:,} updates)")
        if "chatter" in self._hardships and rows:
            took = int(rows * ROW)
            if not self._scheduler.deep:
                self._scheduler.pump(self._scheduler.now + min(took, LONGEST))
            if took > LONGEST:
                raise StoreUnavailable("simulated: the statement took too long and was rolled back")

    def _write_long(self) -> None:
        """A transaction of the user's takes the write lock: an import, a VACUUM."""
        length = self.random.randrange(self._world.lease, self._world.lease * 3)
        self._locked_until = self._scheduler.now + length

    def _wait_for_the_lock(self) -> None:
        wait = self._locked_until - self._scheduler.now
        if wait > 0 and not self._scheduler.deep:
            self._scheduler.pump(self._scheduler.now + min(wait, BUSY))
        if self._scheduler.now < self._locked_until:
            raise StoreBusy("simulated: another process has held the write lock for too long")

    def _signalled(self, verb: str, real: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Make a call that a signal may interrupt; afterwards the store must be as it was."""
        if self.random.random() < 0.5 or (verb == "enqueue" and any(draft.lock for draft in args[0])):
            return real(*args)  # of a draft with a key nobody could tell what it has become
        try:
            return interrupted(self.random.randrange(1, 90), partial(real, *args))
        except Interrupt:
            problem = blocked(lambda: self._world.store.set_setting("signal", str(self._scheduler.now)))
            if problem:
                self._world.breach("I19", f"(after a signal inside {verb}: {problem})")
                self._scheduler.halt()
            raise
