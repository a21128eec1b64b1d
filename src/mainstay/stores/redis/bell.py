"""Wake-up: each worker blocks on a marker of its own, `bell:<worker>`, which the enqueueing script itself puts there.

A ring is a hint: the jobs are in the queue, not in the marker. Who rings counts up; a bell that was not waiting just then
sees the count when it waits again, so no ring falls between two waits. The marker of a dead worker expires.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from redis import exceptions as theirs

from ...core.errors import StoreUnavailable
from . import connect, faults, script

if TYPE_CHECKING:
    from .connect import Server, Wire

SLACK = 2_000  # ms beyond the wait after which a silent connection is given up
REST = 0.003  # seconds between a ring and the next wait: the claim goes first
LONGEST = 60_000  # ms of one wait: no longer than a marker lives


class RedisBell:
    """The bell of one worker, on a connection of its own."""

    def __init__(self, server: Server, worker: str) -> None:
        self._server, self._worker = server, worker
        self._connection: Wire | None = None
        self._seen = self._rings()
        self._rang = False  # just now

    def _rings(self) -> str:
        """How often it rang so far, for jobs and for cancels."""
        jobs, cancel = self._server.read("HMGET", "rings", "jobs", "cancel")
        return f"{jobs or 0} {cancel or 0}"

    def wait(self, timeout: int) -> str:
        """Block until it rings or the time is over."""
        if timeout <= 0:
            return self._heard(self._rings())
        if self._rang:  # to arm again is a write that the claim would have to wait for; rings are counted meanwhile
            time.sleep(min(REST, timeout / 1000))
        try:
            rang = self._block(min(timeout, LONGEST))
            self._rang = bool(rang)
            return rang
        except BaseException as error:
            self._hang_up()
            fault = faults.mapped(error, self._server.shown)
            if fault is error:
                raise
            raise fault from error

    def _heard(self, rings: str, what: str = "") -> str:
        """What a change of the counts means."""
        before, self._seen = self._seen, rings
        if what or before == rings:
            return what
        return "cancel" if before.split()[1] != rings.split()[1] else "jobs"

    def _block(self, timeout: int) -> str:
        """Arm and block in one round trip; the marker tells what rang, and the counts at that moment."""
        try:
            found = self._ask(timeout)
        except theirs.NoScriptError:  # it was not armed, so nothing would ring: teach the server, and ask on a new line
            self._hang_up()
            self._server.command("SCRIPT", "LOAD", script.load("arm").text)
            found = self._ask(timeout)
        if found is None:
            return ""
        what, _, rings = found[1].partition(" ")
        return self._heard(rings, what)

    def _ask(self, timeout: int) -> list[str] | None:
        """The marker, or None when there was none in time."""
        if self._connection is None:
            self._connection = self._server.connection()
        connection = self._connection
        chosen, prefix = script.load("arm"), self._server.prefix
        arm = ("EVALSHA", chosen.sha, 1, prefix, self._worker, self._seen)
        block = ("BLPOP", f"{prefix}bell:{self._worker}", f"{timeout / 1000:.3f}")
        connection.send_packed_command(connection.pack_commands([arm, block]))
        armed = connect.answer(connection)
        if isinstance(armed, Exception):
            raise armed
        if not connection.can_read((timeout + SLACK) / 1000):
            raise theirs.TimeoutError("no answer to a blocking wait")
        found: Any = connect.answer(connection)
        if isinstance(found, Exception):
            raise found
        return None if found is None else list(found)

    def _hang_up(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.disconnect()

    def close(self) -> None:
        self._hang_up()
        prefix = self._server.prefix
        try:
            self._server.commands([("SREM", prefix + "armed", self._worker), ("DEL", f"{prefix}bell:{self._worker}")])
        except StoreUnavailable:  # what is left of it goes by itself: with the next ring, and a minute after that
            pass
