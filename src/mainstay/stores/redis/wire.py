"""One connection to a Redis server: a socket, whose commands and replies hiredis packs and parses.

redis-py is not used for it: to import any part of it imports its clients for asyncio, clusters and sentinels, and the SDK of
OpenTelemetry where that is installed: 60 to 110 ms of a command that takes 100.
"""

from __future__ import annotations

import os
import select
import socket
import weakref
from typing import TYPE_CHECKING, Any

import hiredis

from ...core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Command = tuple[Any, ...]

SIZE = 65_536  # bytes read at once
NOTHING = object()  # no whole reply has arrived
# A server that is gone without closing the connection is detected within half a minute.
KEEPALIVE = {"TCP_KEEPIDLE": 15, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}


class Refused(Exception):
    """The server's reply is an error; its first word tells which."""

    def __init__(self, text: str) -> None:
        super().__init__(text.removeprefix("ERR "))

    @property
    def word(self) -> str:
        """Return the word that tells which error it is."""
        return str(self).partition(" ")[0]


class Lost(Exception):
    """The connection has ended, or its server speaks another protocol. Whether a command without a reply ran is unknown."""


LOST = (Lost, OSError)  # a timeout is an OSError


def pack(commands: Iterable[Command]) -> bytes:
    """Return commands as they are sent."""
    try:
        return b"".join([hiredis.pack_command(command) for command in commands])
    except TypeError as error:
        raise UsageError(f"a value cannot be stored: {error}") from error


def connect(host: str, port: int, options: Mapping[str, Any]) -> Wire:
    """Open a connection and log in."""
    plain = socket.create_connection((host, port), options["socket_connect_timeout"])
    try:
        _set_up(plain)
        wire = _secure(plain, host, options) if options.get("ssl") else Wire(plain, options["socket_timeout"])
    except BaseException:
        plain.close()
        raise
    try:
        _log_in(wire, options)
    except BaseException:
        wire.close()
        raise
    return wire


def _set_up(plain: socket.socket) -> None:
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEPALIVE.items():
        if hasattr(socket, name):  # not on every system
            plain.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _secure(plain: socket.socket, host: str, options: Mapping[str, Any]) -> Wire:
    from .tls import SecureWire, secured

    return SecureWire(secured(plain, host, options), options["socket_timeout"])


def _log_in(wire: Wire, options: Mapping[str, Any]) -> None:
    """Give user and password, and choose the database, in one round trip; raise the first refusal."""
    user, password, database = options.get("username"), options.get("password"), options.get("db")
    commands: list[Command] = []
    if user or password:
        commands.append(("AUTH", user, password or "") if user else ("AUTH", password))
    if database:
        commands.append(("SELECT", database))
    if not commands:
        return
    wire.send(pack(commands))
    for found in [wire.read() for _ in commands]:
        if isinstance(found, Refused):
            raise found


class Wire:
    """One connection, for one thread at a time. It is not opened again: after an error, close it."""

    def __init__(self, connected: socket.socket, timeout: float) -> None:
        self._socket = connected
        self.close = weakref.finalize(self, _close, connected, os.getpid())  # at the latest when nobody has it
        self._reader = hiredis.Reader(Lost, Refused, encoding="utf-8", notEnoughData=NOTHING)
        self._next: Any = NOTHING  # a reply that was found while looking whether there is one
        self._poll = select.poll()
        self._poll.register(connected, select.POLLIN)
        connected.settimeout(timeout)

    def send(self, packed: bytes) -> None:
        """Send packed commands."""
        self._socket.sendall(packed)

    def read(self) -> Any:
        """Return the next reply. An error of the server is returned as `Refused`, not raised."""
        found, self._next = self._next, NOTHING
        while found is NOTHING:
            found = self._reader.gets()
            if found is NOTHING:
                self._receive()
        return found

    def _receive(self) -> None:
        data = self._socket.recv(SIZE)
        if not data:
            raise Lost("the server has closed the connection")
        self._reader.feed(data)

    def arrived(self, seconds: float) -> bool:
        """Return whether a reply, a part of one or the end of the connection arrives within some seconds."""
        if self._next is NOTHING:
            self._next = self._reader.gets()
        return self._next is not NOTHING or self._waiting(seconds)

    def _waiting(self, seconds: float) -> bool:
        return bool(self._poll.poll(seconds * 1000))


def _close(connected: socket.socket, opener: int) -> None:
    """Close a connection. A forked child closes only its own end: the connection is its parent's."""
    try:
        if opener == os.getpid():
            connected.shutdown(socket.SHUT_RDWR)  # a child that was forked meanwhile has the socket too
    except OSError:  # it has ended already
        pass
    connected.close()
