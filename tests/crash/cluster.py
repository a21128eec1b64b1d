"""The processes of a campaign: workers and producers in numbered places, each replaced at once when it is killed."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING, Any

from .journal import Journal
from .waiting import until

if TYPE_CHECKING:
    from pathlib import Path

    from .zygote import Zygote

ROLES = {"worker": "tests.crash.workload:work", "producer": "tests.crash.producers:produce"}
GRACE = 40.0  # seconds in which a process that was asked to end must have ended


class Member:
    """One place: a role, a number, and the process that fills it at present."""

    def __init__(self, role: str, slot: int, settings: dict[str, Any]) -> None:
        self.role, self.slot, self.settings = role, slot, settings
        self.pid = 0

    def __repr__(self) -> str:
        return f"{self.role}-{self.slot}"


class Cluster:
    """All places. Every fault is written down at the instant at which it was given."""

    def __init__(self, zygote: Zygote, folder: Path, settings: dict[str, Any], roles: dict[str, str] = ROLES) -> None:
        self._zygote, self._settings, self._roles = zygote, {"folder": str(folder), **settings}, roles
        self.journal = Journal(folder, "nemesis")
        self.members: list[Member] = []
        self.unexpected: list[str] = []

    def add(self, role: str, count: int, **settings: Any) -> list[Member]:
        """Fill `count` new places of a role."""
        added = [Member(role, slot, {**self._settings, "slot": slot, **settings}) for slot in range(count)]
        self.members += added
        for member in added:
            self.start(member)
        return added

    def start(self, member: Member) -> None:
        """Start a place's process."""
        member.pid = self._zygote.fork(self._roles[member.role], **member.settings)
        self.journal.write("started", who=str(member), victim=member.pid)

    def of(self, role: str) -> list[Member]:
        """The places of a role."""
        return [member for member in self.members if member.role == role]

    def kill(self, member: Member, asleep: bool = False) -> int:
        """Kill a process, wherever it is; answers the instant."""
        at = time.monotonic_ns()
        os.kill(member.pid, signal.SIGKILL)
        self.journal.write("kill", who=str(member), victim=member.pid, when=at, asleep=asleep)
        self._gone(member, -signal.SIGKILL, self._zygote.reap(member.pid))
        return at

    def stop(self, member: Member) -> None:
        """Halt a process in the middle of whatever it does."""
        os.kill(member.pid, signal.SIGSTOP)
        self.journal.write("stop", who=str(member), victim=member.pid)

    def resume(self, member: Member) -> None:
        """Let a halted process go on."""
        self.journal.write("resume", who=str(member), victim=member.pid)
        os.kill(member.pid, signal.SIGCONT)

    def dismiss(self, members: list[Member]) -> None:
        """Ask processes to end in good order; one that does not, or not well, is unexpected."""
        for member in members:
            os.kill(member.pid, signal.SIGTERM)
        for member in members:
            if not until(lambda member=member: self._left(member), GRACE):
                self.unexpected.append(f"{member} did not end within {GRACE:.0f} s of SIGTERM")
                self.kill(member)
            self.members.remove(member)

    def _left(self, member: Member) -> bool:
        code = self._zygote.ended(member.pid)
        if code is not None:
            self._gone(member, 0, code)
        return code is not None

    def _gone(self, member: Member, expected: int, code: int) -> None:
        if code != expected:
            self.unexpected.append(f"{member} (pid {member.pid}) ended with {code}, not {expected}")
