"""The faults: SIGKILL at random instants, and SIGSTOP held past the lease."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from .journal import FOLDER
from .waiting import rest, until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from random import Random

    from .cluster import Cluster, Member

KILL_EVERY = (0.04, 0.22)  # seconds between two kills
STOP_EVERY = (0.10, 0.60)
STRIKE_EVERY = (0.2, 0.8)
PRODUCERS = 0.25  # the share of faults that hit a producer
CALM = 5  # so many faults in a row, then all of them are let pass
PATIENCE = 30.0  # seconds for a claim after a fault of the server
DIE_PAUSED = 0.1  # the share of paused processes that never wake


class Claims:
    """What the workers write down of their claims, followed from where it was last read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER
        self._read: dict[Path, int] = {}

    def first(self, after: int) -> float:
        """Wait for the first claim after an instant; answers how many seconds it took, infinity when none came."""
        found: list[int] = []
        until(lambda: bool(found.extend(self._claims(after)) or found), PATIENCE)
        return (min(found) - after) / 1e9 if found else float("inf")

    def _claims(self, after: int) -> list[int]:
        return [line["at"] for path in self._folder.glob("worker-*.jsonl") for line in self._new(path)
                if line["op"] == "claimed" and line["at"] > after]  # fmt: skip

    def _new(self, path: Path) -> list[dict[str, Any]]:
        with path.open("rb") as file:
            file.seek(self._read.get(path, 0))
            whole = file.read().rpartition(b"\n")[0]
        self._read[path] = self._read.get(path, 0) + len(whole) + bool(whole)
        return [json.loads(line) for line in whole.splitlines()]


class Nemesis:
    """Gives faults, counts them, and keeps to its time limit."""

    def __init__(self, cluster: Cluster, random: Random, limit: float) -> None:
        self._cluster, self._random, self._limit = cluster, random, limit
        self.kills, self.stops, self.strikes = 0, 0, 0
        self.pickups: list[float] = []  # seconds from each fault of the server to the next claim

    def kill(self, count: int) -> None:
        """Kill one process after the other, each replaced at once."""
        for _ in range(count):
            rest(self._random.uniform(*KILL_EVERY))
            if self.late():
                return
            self._replace(self._victim(self._cluster.members))

    def pause(self, count: int, lease: float) -> None:
        """Pause processes past their lease, several at once, one worker always left awake."""
        paused: dict[Member, float] = {}
        for _ in range(count):
            self._rest_and_wake(self._random.uniform(*STOP_EVERY), paused)
            while len(paused) >= len(self._cluster.of("worker")) - 1:
                self._rest_and_wake(0.05, paused)
            if self.late():
                break
            victim = self._victim([member for member in self._cluster.members if member not in paused])
            self._cluster.stop(victim)
            self.stops += 1
            # On SQLite others give a worker up after 2.5 of these leases: sweeps have to watch it for a while.
            paused[victim] = time.monotonic() + lease * self._random.uniform(1.2, 4.0)
        while paused:
            self._rest_and_wake(0.05, paused)

    def strike(self, count: int, fault: Callable[[], float | None], claims: Claims) -> None:
        """Give a fault of the server or of the way to it, wait for the next claim after it, and a little longer.

        A fault may come while others last: the server counts as back when all are over. Now and then that is waited for.
        """
        over = 0
        for n in range(1, count + 1):
            rest(self._random.uniform(*STRIKE_EVERY))
            if self.late():
                return
            lasting = fault() or 0.0
            self.strikes += 1
            back = self._cluster.journal.write("back", lasting=lasting)
            over = max(over, back + round(lasting * 1e9))
            since = over if n % CALM == 0 or n == count else back
            self.pickups.append(max(0.0, claims.first(since) - (over - since) / 1e9))
            if self.pickups[-1] > PATIENCE:
                return  # nobody claims any more: the audit will say what is left

    def _victim(self, members: list[Member]) -> Member:
        role = "producer" if self._random.random() < PRODUCERS else "worker"
        return self._random.choice([member for member in members if member.role == role] or members)

    def _replace(self, member: Member, asleep: bool = False) -> None:
        self._cluster.kill(member, asleep)
        self.kills += 1
        self._cluster.start(member)

    def _rest_and_wake(self, seconds: float, paused: dict[Member, float]) -> None:
        """Wait, and wake those whose pause is over; some are killed in their sleep instead."""
        rest(seconds)
        for member in [member for member, over in paused.items() if over <= time.monotonic()]:
            del paused[member]
            if self._random.random() < DIE_PAUSED:
                self._replace(member, asleep=True)
            else:
                self._cluster.resume(member)

    def late(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() > self._limit
