"""The faults: SIGKILL at random instants, and SIGSTOP held past the lease."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from .patience import rest

if TYPE_CHECKING:
    from random import Random

    from .cluster import Cluster, Member

KILL_EVERY = (0.04, 0.22)  # seconds between two kills
STOP_EVERY = (0.10, 0.60)
PRODUCERS = 0.25  # the share of faults that hit a producer
DIE_PAUSED = 0.1  # the share of paused processes that never wake


class Nemesis:
    """Gives faults, counts them, and keeps to its time limit."""

    def __init__(self, cluster: Cluster, random: Random, limit: float) -> None:
        self._cluster, self._random, self._limit = cluster, random, limit
        self.kills, self.stops = 0, 0

    def kill(self, count: int) -> None:
        """Kill one process after the other, each replaced at once."""
        for _ in range(count):
            rest(self._random.uniform(*KILL_EVERY))
            if self._late():
                return
            self._replace(self._victim(self._cluster.members))

    def pause(self, count: int, lease: float) -> None:
        """Pause processes past their lease, several at once, one worker always left awake."""
        paused: dict[Member, float] = {}
        for _ in range(count):
            self._rest_and_wake(self._random.uniform(*STOP_EVERY), paused)
            while len(paused) >= len(self._cluster.of("worker")) - 1:
                self._rest_and_wake(0.05, paused)
            if self._late():
                break
            victim = self._victim([member for member in self._cluster.members if member not in paused])
            self._cluster.stop(victim)
            self.stops += 1
            paused[victim] = time.monotonic() + lease * self._random.uniform(1.2, 2.5)
        while paused:
            self._rest_and_wake(0.05, paused)

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

    def _late(self) -> bool:
        return time.monotonic() > self._limit
