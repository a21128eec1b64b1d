"""Wake-up: each worker blocks on a marker of its own, `bell:<worker>`, which the enqueueing script itself sets.

A notification is a hint: the jobs are in the queue, not in the marker. Each is counted. A worker that was not waiting just
then sees the count when it waits again, so it misses none between two waits. The marker of a dead worker expires.

A worker with a free slot sends a claim along, which the server runs as soon as the wait ends: before the enqueue that
notified is on the disk, so that one write serves both, and without another round trip.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from ...core.errors import StoreUnavailable
from . import errors, script
from .claim import claimed, packed
from .wire import Lost, Refused, pack

if TYPE_CHECKING:
    from ..results import SlotOffer
    from .store import RedisStore
    from .wire import Wire

SLACK = 2_000  # ms beyond the wait after which a silent connection is given up
REST = 0.003  # seconds between a notification and the next wait: the claim goes first
LONGEST = 60_000  # ms of one wait: no longer than a marker lives


def notifier(store: RedisStore, worker: str) -> RedisNotifier:
    """Return the notifier of a worker."""
    return RedisNotifier(store, worker)


def notify(store: RedisStore, what: str = "jobs") -> None:
    """Wake every worker."""
    store.server.run("notify", [what])


class RedisNotifier:
    """The notifier of one worker, on a connection of its own."""

    def __init__(self, store: RedisStore, worker: str) -> None:
        self._store, self._server, self._worker = store, store.server, worker
        self._connection: Wire | None = None
        self._seen = self._counts()
        self._notified = False  # by the last wait
        self._last: tuple[Any, bytes] = None, b""  # what was sent last, and for what

    def _counts(self) -> str:
        """Return how many notifications there were so far, of jobs and of cancels."""
        jobs, cancel = self._server.read("HMGET", "rings", "jobs", "cancel")
        return f"{jobs or 0} {cancel or 0}"

    def wait(self, timeout: int) -> str:
        """Block until there is a notification or the time is over."""
        return self.take(timeout, None)

    def take(self, timeout: int, offer: SlotOffer | None) -> str:
        """Block as `wait` does, and claim one job with the notification."""
        if timeout <= 0:
            return self._change(self._counts())
        if self._notified:  # arming again is a write that the claim would wait for; notifications are counted meanwhile
            time.sleep(min(REST, timeout / 1000))
        try:
            what = self._block(min(timeout, LONGEST), offer)
            self._notified = bool(what)
            return what
        except BaseException as error:
            self._disconnect()
            fault = errors.mapped(error, self._server.shown)
            if fault is error:
                raise
            raise fault from error

    def _change(self, counts: str, what: str = "") -> str:
        """Return what a change of the counts means."""
        before, self._seen = self._seen, counts
        if what or before == counts:
            return what
        return "cancel" if before.split()[1] != counts.split()[1] else "jobs"

    def _block(self, timeout: int, offer: SlotOffer | None) -> str:
        """Arm and block in one round trip. The marker names the kind of notification, and the counts at that moment."""
        try:
            found = self._ask(timeout, offer)
        except Unarmed:  # nothing would wake it: load the scripts and ask again
            self._disconnect()
            for name in (
                "arm",
                *(f"claim_on_wake{kind}{rules}" for kind in ("", script.MANY) for rules in ("", script.RULED)),
            ):
                self._server.command("SCRIPT", "LOAD", script.load(name).text)
            found = self._ask(timeout, offer)
        if found is None:
            return ""
        what, _, counts = found[1].partition(" ")
        return self._change(counts, what)

    def _ask(self, timeout: int, offer: SlotOffer | None) -> list[str] | None:
        """Return the marker, or None where there was none in time."""
        if self._connection is None:
            self._connection = self._server.connection()
        wire = self._connection
        wire.send(self._packed(timeout, offer))
        _reply(wire)
        if not wire.arrived((timeout + SLACK) / 1000):
            raise Lost("no reply to a blocking wait")
        found: list[str] | None = _reply(wire)
        if offer is not None:
            reply = _reply(wire)
            if reply == "rules":  # the next claim takes them
                self._store.flowing, reply = True, None
            offer.take(claimed(reply[1:], reply[0], self._worker) if reply else [])
        return found

    def _packed(self, timeout: int, offer: SlotOffer | None) -> bytes:
        """Return what to send: the same as before while nothing happens."""
        same = (timeout, self._seen, self._store.flowing, offer and (offer.wants, self._store.engine_now(offer.now)))
        if self._last[0] != same:
            self._last = same, pack(self._commands(timeout, offer))
        return self._last[1]

    def _commands(self, timeout: int, offer: SlotOffer | None) -> list[tuple[Any, ...]]:
        prefix, worker, seen = self._server.prefix, self._worker, self._seen
        arm = ("EVALSHA", script.load("arm").sha, 1, prefix, worker, seen)
        block = ("BLPOP", f"{prefix}bell:{worker}", f"{timeout / 1000:.3f}")
        if offer is None:
            return [arm, block]
        kind, wanted = packed(offer.wants)
        values = (self._store.engine_now(offer.now), worker, seen, *wanted)
        name = "claim_on_wake" + kind + (script.RULED if self._store.flowing else "")
        return [arm, block, ("EVALSHA", script.load(name).sha, 1, prefix, *values)]

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def close(self) -> None:
        """Disconnect, and remove the marker."""
        self._disconnect()
        try:
            self._server.on_keys([("SREM", "armed", self._worker), ("DEL", f"bell:{self._worker}")])
        except StoreUnavailable:  # the rest expires: with the next notification, and a minute after that
            pass


class Unarmed(Refused):
    """The server does not know a script of the wait: it was restarted, or its script cache was cleared."""


def _reply(wire: Wire) -> Any:
    """Return the next reply; raise it if it is an error."""
    found = wire.read()
    if isinstance(found, Refused):
        raise Unarmed(str(found)) if found.word == "NOSCRIPT" else found
    return found
