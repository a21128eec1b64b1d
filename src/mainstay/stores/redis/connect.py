"""Connections to a Redis server: a pool of idle ones, each checked before it is used again after a pause.

The driver's own retries are off: it would send a command again that may have run already. Our scripts may run twice, but the
caller decides when to try again. Connections are used directly, without the driver's client around them, which takes a third
of the time of a small call.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Protocol

from redis import exceptions as theirs

from ...core.errors import StoreUnavailable
from ..fork import ForkGuard
from . import errors, schema, script
from .address import parse_url

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TIMEOUT = 4.0  # seconds for a reply, and as much again for each 20,000 values sent: those keep the server busy
CONNECT = 3.0
HEAVY = 20_000
HEALTH = 30.0  # seconds idle after which a connection is tested before it is used
FRESH = 0.05  # seconds idle up to which a connection is used without a check
IDLE = 16  # idle connections that are kept
LOST = (theirs.ConnectionError, theirs.TimeoutError, OSError)


class Wire(Protocol):
    """The part of the driver's connections that is used; they have no types of their own."""

    def connect(self) -> None: ...
    def disconnect(self) -> None: ...
    def can_read(self, timeout: float) -> bool: ...
    def pack_command(self, *command: Any) -> list[bytes]: ...
    def pack_commands(self, commands: Sequence[tuple[Any, ...]]) -> list[bytes]: ...
    def send_packed_command(self, command: list[bytes]) -> None: ...
    def read_response(self) -> Any: ...


class Server(ForkGuard):
    """One installation on one server, sentinel or cluster; connected when first used, and again after a fork."""

    def __init__(self, url: str) -> None:
        self.address = parse_url(url)
        self.prefix, self.shown = self.address.prefix, self.address.shown
        super().__init__()

    def _start(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[tuple[Wire, float]] = []
        self._pool: Any = None
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
        connection = self._take()
        try:
            replies = exchange(connection, commands)
        except BaseException:
            connection.disconnect()
            raise
        if len(self._idle) < IDLE and not self.restarted():
            self._idle.append((connection, time.monotonic()))
        else:
            connection.disconnect()
        for found in replies:
            if again and self.address.kind and isinstance(found, (theirs.MovedError, theirs.ReadOnlyError)):
                self._drop()  # refused, so nothing was written: the keys have moved to another server
                return self._exchange(commands, again=False)
            if isinstance(found, Exception):
                raise found
        return replies

    def _take(self) -> Wire:
        try:
            connection, used = self._idle.pop()
        except IndexError:
            return self.connection()
        if time.monotonic() - used > FRESH and _stale(connection):
            connection.disconnect()
            return self._take()
        return connection

    def connection(self) -> Wire:
        """Open a new connection to the server that has our keys."""
        with self._lock:
            if self._pool is None:
                self._pool = _SOURCES[self.address.kind](self)
            pool = self._pool
        wire: Wire = pool.connection_class(**pool.connection_kwargs)  # the pool itself counts connections for ever
        wire.connect()  # explicitly: a sentinel's connection asks for the primary here only
        return wire

    def _failed(self, error: BaseException) -> BaseException:
        """Return the failure as one of ours. After a connection error drop all connections: a failover moves every key."""
        if isinstance(error, theirs.NoScriptError):
            return errors.Unknown()
        if isinstance(error, LOST):
            self._drop()
        return errors.mapped(error, self.shown)

    def _drop(self) -> None:
        idle, self._idle = self._idle, []
        for connection, _ in idle:
            connection.disconnect()
        if self.address.kind:
            self._pool = None

    def close(self) -> None:
        """Close every connection of this process that is not in use."""
        self.restarted()
        self._drop()
        self._pool, self._checked = None, False

    @property
    def options(self) -> dict[str, Any]:
        """Return the options of every connection."""
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        return {
            "socket_timeout": TIMEOUT, "socket_connect_timeout": CONNECT, "health_check_interval": HEALTH,
            "socket_keepalive": True, "decode_responses": True, "protocol": 2, "retry": Retry(NoBackoff(), 0),
        } | self.address.options  # fmt: skip


def exchange(connection: Wire, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Send commands and read as many replies; a reply may be an error of the server."""
    packed = connection.pack_commands(commands) if len(commands) > 1 else connection.pack_command(*commands[0])
    connection.send_packed_command(packed)
    values = len(commands[0])
    if values > HEAVY:
        connection.can_read(TIMEOUT * (1 + values / HEAVY))
    return [_reply(connection) for _ in commands]


def _reply(connection: Wire) -> Any:
    """Read the next reply. Returns an error of the server, raises one of the connection."""
    try:
        return connection.read_response()
    except theirs.ResponseError as error:
        return error


def _stale(connection: Wire) -> bool:
    """Return whether there is something to read on an idle connection: mostly its end."""
    try:
        return bool(connection.can_read(0))
    except LOST:
        return True


# Where connections come from ------------------------------------------------------------------------------------------
def _standalone(server: Server) -> Any:
    from redis.connection import Connection, ConnectionPool, SSLConnection

    options = server.options
    kind = SSLConnection if options.pop("ssl", False) else Connection
    ((host, port),) = server.address.hosts[:1]
    return ConnectionPool(connection_class=kind, host=host, port=port, **options)


def _sentinel(server: Server) -> Any:
    """The primary, which every connect asks the sentinels for."""
    from redis.sentinel import Sentinel

    options = server.options
    same = ("socket_timeout", "socket_connect_timeout", "retry", "protocol")
    asking = {name: value for name, value in options.items() if name in same or name.startswith("ssl")}
    untyped: Any = Sentinel
    group = untyped(list(server.address.hosts), sentinel_kwargs=asking | {"decode_responses": True})
    return group.master_for(server.address.service, **options).connection_pool


def _cluster(server: Server) -> Any:
    """The node that has our slot: all keys are in one slot."""
    from redis.cluster import ClusterNode, RedisCluster

    untyped: Any = ClusterNode
    nodes = [untyped(host, port) for host, port in server.address.hosts]
    options = server.options
    cluster: Any = RedisCluster(startup_nodes=nodes, **options)
    node = cluster.get_node_from_key(server.prefix)
    if node is None or node.redis_connection is None:
        raise StoreUnavailable(
            f"{server.shown}: no node of the cluster has the slot of {server.prefix}. Check its nodes."
        )
    pool = node.redis_connection.connection_pool
    pool.connection_kwargs["retry"] = options["retry"]
    return pool


_SOURCES: dict[str, Callable[[Server], Any]] = {"": _standalone, "sentinel": _sentinel, "cluster": _cluster}
