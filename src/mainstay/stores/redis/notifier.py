"""Wake-up: each worker blocks on a marker of its own, `bell:<worker>`, which the enqueueing script itself puts there.

A ring is a hint: the jobs are in the queue, not in the marker. Who rings counts up; a bell that was not waiting just then
sees the count when it waits again, so no ring falls between two waits. The marker of a dead worker expires.

A worker with room sends a claim along, which the server runs the moment the wait ends: before the enqueue that rang is on
the disk, so that one write does for both, and without another round trip.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from redis import exceptions as theirs

from ...core.errors import StoreUnavailable
from . import connect, errors, script
from .claim import grabbed, lanes

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..contract import SlotOffer
    from .connect import Server, Wire

SLACK = 2_000  # ms beyond the wait after which a silent connection is given up
REST = 0.003  # seconds between a ring and the next wait: the claim goes first
LONGEST = 60_000  # ms of one wait: no longer than a marker lives


class RedisNotifier:
    """The bell of one worker, on a connection of its own."""

    def __init__(self, server: Server, worker: str, judged: Callable[[int], int | str]) -> None:
        self._server, self._worker, self._judged = server, worker, judged
        self._connection: Wire | None = None
        self._seen = self._rings()
        self._rang = False  # just now
        self._last: tuple[Any, list[bytes]] = None, []  # what was sent last, and for what

    def _rings(self) -> str:
        """How often it rang so far, for jobs and for cancels."""
        jobs, cancel = self._server.read("HMGET", "rings", "jobs", "cancel")
        return f"{jobs or 0} {cancel or 0}"

    def wait(self, timeout: int) -> str:
        """Block until it rings or the time is over."""
        return self._wait(timeout, None)

    def take(self, timeout: int, offer: SlotOffer) -> str:
        """As `wait`, with a claim of one job in the moment of the ring."""
        return self._wait(timeout, offer)

    def _wait(self, timeout: int, offer: SlotOffer | None) -> str:
        if timeout <= 0:
            return self._heard(self._rings())
        if self._rang:  # to arm again is a write that the claim would have to wait for; rings are counted meanwhile
            time.sleep(min(REST, timeout / 1000))
        try:
            rang = self._block(min(timeout, LONGEST), offer)
            self._rang = bool(rang)
            return rang
        except BaseException as error:
            self._hang_up()
            fault = errors.mapped(error, self._server.shown)
            if fault is error:
                raise
            raise fault from error

    def _heard(self, rings: str, what: str = "") -> str:
        """What a change of the counts means."""
        before, self._seen = self._seen, rings
        if what or before == rings:
            return what
        return "cancel" if before.split()[1] != rings.split()[1] else "jobs"

    def _block(self, timeout: int, offer: SlotOffer | None) -> str:
        """Arm and block in one round trip; the marker tells what rang, and the counts at that moment."""
        try:
            found = self._ask(timeout, offer)
        except theirs.NoScriptError:  # it was not armed, so nothing would ring: teach the server, and ask on a new line
            self._hang_up()
            for name in ("arm", "claim_on_wake"):
                self._server.command("SCRIPT", "LOAD", script.load(name).text)
            found = self._ask(timeout, offer)
        if found is None:
            return ""
        what, _, rings = found[1].partition(" ")
        return self._heard(rings, what)

    def _ask(self, timeout: int, offer: SlotOffer | None) -> list[str] | None:
        """The marker, or None when there was none in time."""
        if self._connection is None:
            self._connection = self._server.connection()
        connection = self._connection
        connection.send_packed_command(self._packed(connection, timeout, offer))
        _answered(connection)
        if not connection.can_read((timeout + SLACK) / 1000):
            raise theirs.TimeoutError("no answer to a blocking wait")
        found: list[str] | None = _answered(connection)
        if offer is not None:
            offer.take(grabbed(_answered(connection), self._worker))
        return found

    def _packed(self, connection: Wire, timeout: int, offer: SlotOffer | None) -> list[bytes]:
        """What to send; the same again and again while nothing happens."""
        same = (timeout, self._seen, offer and (offer.wants, self._judged(offer.now)))
        if self._last[0] != same:
            self._last = same, connection.pack_commands(self._commands(timeout, offer))
        return self._last[1]

    def _commands(self, timeout: int, offer: SlotOffer | None) -> list[tuple[Any, ...]]:
        prefix, worker, seen = self._server.prefix, self._worker, self._seen
        arm = ("EVALSHA", script.load("arm").sha, 1, prefix, worker, seen)
        block = ("BLPOP", f"{prefix}bell:{worker}", f"{timeout / 1000:.3f}")
        if offer is None:
            return [arm, block]
        now = self._judged(offer.now)
        return [
            arm,
            block,
            ("EVALSHA", script.load("claim_on_wake").sha, 1, prefix, now, worker, seen, *lanes(offer.wants)),
        ]

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


def _answered(connection: Wire) -> Any:
    """The next answer; an error of the server is raised too."""
    found = connect.answer(connection)
    if isinstance(found, Exception):
        raise found
    return found
