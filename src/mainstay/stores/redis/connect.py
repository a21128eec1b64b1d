"""Connections to a Redis server: a pool of idle ones, each checked before it is used again after a pause.

Nothing is sent again by itself, except what a server certainly did not run. Our scripts may run twice, but the caller decides
when to try again.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from ..fork import ForkGuard
from . import errors, schema, script
from .address import parse_url
from .wire import LOST, Refused, connect, pack

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .places import Place
    from .wire import Wire

TIMEOUT = 4.0  # seconds for a reply, and as much again for each 20,000 values sent: those keep the server busy
HEAVY = 20_000
# Seconds; after the last, a connection that was idle is tested before it is used.
DEFAULTS = {"socket_timeout": TIMEOUT, "socket_connect_timeout": 3.0, "health_check_interval": 30.0}
FRESH = 0.05  # seconds idle up to which a connection is used without a check
IDLE = 16  # idle connections that are kept
MOVES = ("MOVED", "READONLY")  # refused, so nothing was written: the keys have moved to another server


class Server(ForkGuard):
    """One installation on one server, sentinel or cluster; connected when first used, and again after a fork."""

    def __init__(self, url: str) -> None:
        self.address = parse_url(url)
        self.prefix, self.shown = self.address.prefix, self.address.shown
        self.options: dict[str, Any] = DEFAULTS | self.address.options
        super().__init__()

    def _start(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[tuple[Wire, float]] = []
        self._place: Callable[[], Place] | None = None
        self._checked = False

    # what the verbs call ------------------------------------------------------------------------------------------
    def run(self, name: str, arguments: Sequence[Any]) -> Any:
        """Run a script; send its text where the server does not know it."""
        chosen = script.load(name)
        try:
            return self.command("EVALSHA", chosen.sha, 1, self.prefix, *arguments)
        except errors.Unknown:
            return self.command("EVAL", chosen.text, 1, self.prefix, *arguments)

    def command(self, *command: Any) -> Any:
        """Run one command."""
        return self.commands([command])[0]

    def read(self, command: str, key: str, *arguments: Any) -> Any:
        """Run one command on one of our keys."""
        return self.on_keys([(command, key, *arguments)])[0]

    def on_keys(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Run commands, each on one of our keys, in one round trip."""
        return self.commands([(name, self.prefix + key, *rest) for name, key, *rest in commands]) if commands else []

    def commands(self, commands: Sequence[tuple[Any, ...]], checked: bool = True) -> list[Any]:
        """Send commands in one round trip and return their results; raises the first error. Not `checked`: any schema."""
        self.restarted()
        try:
            if checked and not self._checked:
                schema.ensure(self._exchange, self.prefix, self.shown)
                self._checked = True
            return self._exchange(commands)
        except BaseException as error:
            fault = self._failed(error)
            if fault is error:
                raise
            raise fault from error

    # connections --------------------------------------------------------------------------------------------------
    def _exchange(self, commands: Sequence[tuple[Any, ...]], again: bool = True) -> list[Any]:
        wire = self._take()
        try:
            replies = exchange(wire, commands)
        except BaseException:
            wire.close()
            raise
        if len(self._idle) < IDLE and not self.restarted():
            self._idle.append((wire, time.monotonic()))
        else:
            wire.close()
        for found in replies:
            if isinstance(found, Refused):
                if again and self.address.kind and found.word in MOVES:
                    self._drop()
                    return self._exchange(commands, again=False)
                raise found
        return replies

    def _take(self) -> Wire:
        """Return an idle connection that works, or a new one."""
        while self._idle:
            try:
                wire, used = self._idle.pop()
            except IndexError:  # another thread has taken the last one
                break
            if self._usable(wire, time.monotonic() - used):
                return wire
            wire.close()
        return self.connection()

    def _usable(self, wire: Wire, idle: float) -> bool:
        """Return whether a connection works that has been idle for some seconds. What waits to be read is mostly its end."""
        if idle <= FRESH:
            return True
        recent = idle < self.options["health_check_interval"]
        try:
            return not wire.arrived(0) and (recent or exchange(wire, [("PING",)]) == ["PONG"])
        except LOST:
            return False

    def connection(self) -> Wire:
        """Open a new connection to the server that has our keys."""
        with self._lock:
            place = self._place = self._place or self._found()
        return connect(*place(), self.options)

    def _found(self) -> Callable[[], Place]:
        """Return what tells where the server is."""
        if not self.address.kind:
            return lambda: self.address.hosts[0]
        from .places import place

        return place(self.address, {name: self.options[name] for name in ("socket_timeout", "socket_connect_timeout")})

    def _failed(self, error: BaseException) -> BaseException:
        """Return the failure as one of ours. After a connection error drop all connections: a failover moves every key."""
        if isinstance(error, Refused) and error.word == "NOSCRIPT":
            return errors.Unknown()
        if isinstance(error, LOST):
            self._drop()
        return errors.mapped(error, self.shown)

    def _drop(self) -> None:
        idle, self._idle = self._idle, []
        for wire, _ in idle:
            wire.close()
        if self.address.kind:
            self._place = None

    def close(self) -> None:
        """Close every connection of this process that is not in use."""
        self.restarted()
        self._drop()
        self._place, self._checked = None, False


def exchange(wire: Wire, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Send commands and read as many replies; a reply may be an error of the server."""
    wire.send(pack(commands))
    values = len(commands[0])
    if values > HEAVY:
        wire.arrived(TIMEOUT * (1 + values / HEAVY))
    return [wire.read() for _ in commands]
