"""Connections to one PostgreSQL database: a few, opened when needed, shared by all threads, and opened again after a fork.

A single statement is a transaction of its own and costs one round trip. Statements that need no result of each other are sent
as one batch: one transaction as well, because nothing ends it before the batch ends. Nothing here depends on session state,
so a pooler in transaction mode may stand in between. It is detected by the settings that it drops; statements are not
prepared then.

A URL is libpq's, `postgresql://user:password@host,other:5432/database?sslmode=require`, with our own options taken out first:
`schema=mainstay` · `connections=3`, how many a process may open; a worker's notifier has one more · `pooler=auto`, else
`transaction` or `no` · `listen=` a URL that goes past the pooler, for the notifier; `no`: it polls · `mode=create`, or
`existing`: a missing schema is an error.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict

from ...core.errors import ConfigError, StoreBusy
from ..fork import ForkGuard
from ..operations import Statement, drive
from . import arrays, errors, schema
from .sql import SCHEMA, Statements
from .wire import Wire

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType

    from ..operations import Operations, Result

    Connection = psycopg.Connection[tuple[Any, ...]]

T = TypeVar("T")
CONNECTIONS = 3  # a worker's claims, its renewals, and one for everything else; its notifier has one more
IDLE = 60.0  # seconds after which an idle connection is closed
WAIT = 10.0  # seconds a caller waits for a connection
WORKER_TIMEOUT = 4.5  # seconds that a worker's own calls wait for a result: its lease lasts no longer
LOCKED = "3s"  # how long a statement waits for a locked row: less than WORKER_TIMEOUT
LIMITED = Statement(f"SELECT set_config('lock_timeout', '{LOCKED}', true)")
TRIES = 5  # of a transaction that conflicts with another and is rolled back

# Every statement has one plan: index scans, joined row by row, whatever the statistics say of a table that was empty a
# moment ago. So one generic plan serves for ever, and rows are locked in the order in which they are given.
SETTINGS = {
    "enable_seqscan": "off", "enable_bitmapscan": "off", "enable_hashjoin": "off", "enable_mergejoin": "off",
    "enable_sort": "off", "enable_memoize": "off", "jit": "off", "plan_cache_mode": "force_generic_plan", "lock_timeout": LOCKED,
    "idle_in_transaction_session_timeout": "60s",
}  # fmt: skip
# A server that is gone without closing the connection is detected within about ten seconds.
DEFAULTS = {
    "connect_timeout": "3", "keepalives": "1", "keepalives_idle": "5", "keepalives_interval": "2",
    "keepalives_count": "3", "tcp_user_timeout": "4500", "application_name": "mainstay",
}  # fmt: skip
OURS = ("schema", "connections", "pooler", "listen", "mode")
_RETRIED = (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure, psycopg.errors.UniqueViolation)


class Database(ForkGuard):
    """One database, connected to when first used, and again after a fork."""

    def __init__(self, url: str) -> None:
        self.params, options = parse_url(url)
        self.place = f"{self.params.get('host') or 'PostgreSQL'}/{self.params.get('dbname') or ''}".rstrip("/")
        self.load = Statements(options.get("schema", SCHEMA))
        place = (str(self.params.get(name, "")) for name in ("host", "hostaddr", "port", "dbname"))
        self.identity = ("postgres", *place, self.load.schema)  # distinguishes this installation from others
        self.limit = _whole(options.get("connections", str(CONNECTIONS)))
        self.pooled = _pooled(options.get("pooler", "auto"))  # None: not detected yet
        self.create = _creating(options.get("mode", "create"))
        self.listen = options.get("listen", "")  # a URL that goes past the pooler; "no": poll
        super().__init__()

    def _start(self) -> None:
        self._gate = threading.Condition()
        self._idle: list[tuple[float, Wire]] = []  # the last used comes last
        self._open, self._checked = 0, False

    # use ----------------------------------------------------------------------------------------------------------
    def checkout(self) -> Checkout:
        """Return one of our connections for a block, `with db.checkout() as wire:`, errors mapped."""
        self._same_process()
        return Checkout(self)

    @contextmanager
    def aside(self) -> Iterator[Connection]:
        """Open a separate connection without checking the schema: for migrations."""
        try:
            with self.connect() as connection:
                yield connection
        except BaseException as error:
            errors.translate(error, self.place)
            raise

    def execute(self, name: str, *values: Any) -> Result:
        """Execute one statement, by name, as a transaction of its own."""
        return self.batch([Statement(self.load(name), values)])[0]

    def batch(self, operations: Sequence[Statement], patience: float | None = None) -> list[Result]:
        """Execute statements of which none needs a result of another, in one transaction and one round trip."""
        first = self._first(patience)
        return self._on_wire(lambda wire: wire.send([*first, *operations], patience))[len(first) :]

    def alone(self, operations: Operations[T], patience: float | None = None) -> T:
        """Drive operations of which each statement or list is a transaction of its own: at most one of them writes."""

        def step(statement: Any) -> Any:
            return self.batch(statement, patience) if type(statement) is list else self.batch([statement], patience)[0]

        return drive(operations, step)

    def run(self, operations: Callable[[], Operations[T]], patience: float | None = None) -> T:
        """Drive operations in one transaction, from the start again if it conflicts with another and is rolled back."""
        first = [Statement("BEGIN"), *self._first(patience)]
        return self._on_wire(lambda wire: _transacted(wire, operations(), first, patience))

    def _first(self, patience: float | None) -> list[Statement]:
        """Return what a worker's transaction begins with: behind a pooler, no session has our limit on waits for locks."""
        return [LIMITED] if self.pooled and patience is not None else []

    def _on_wire(self, work: Callable[[Wire], T]) -> T:
        """Do the work of one transaction; try again if it certainly did not happen and may succeed now.

        It was rolled back because it conflicts with another, or its connection is older than a restart or a failover.
        """
        for left in range(TRIES, 0, -1):
            with self.checkout() as wire:
                try:
                    return work(wire)
                except _RETRIED:
                    if left == 1:
                        raise
                except psycopg.OperationalError:
                    if wire.new or not wire.undone:
                        raise
                    wire.close()
                except psycopg.errors.ReadOnlySqlTransaction:
                    if wire.new:
                        raise
                    wire.close()
        raise StoreBusy(f"{self.place}: every try conflicted with another transaction; try again")

    # the pool -----------------------------------------------------------------------------------------------------
    def acquire(self) -> Wire:
        """Return an idle connection that works, or a new one; wait while all are in use."""
        until = time.monotonic() + WAIT
        with self._gate:
            while True:
                if self._idle:
                    _, wire = self._idle.pop()
                    if wire.alive():
                        return wire
                    self._drop(wire)
                elif self._open < self.limit:
                    self._open += 1
                    break
                elif not self._gate.wait(until - time.monotonic()):
                    raise StoreBusy(
                        f"all {self.limit} connections are in use; add &connections={2 * self.limit} to the URL"
                    )
        return self._connected()

    def _connected(self) -> Wire:
        connection = None
        try:
            connection = self.connect()
            self._check(connection)
            return Wire(connection, prepares=not self.pooled)
        except BaseException:
            with self._gate:
                self._open -= 1
                self._gate.notify()
            if connection is not None:
                connection.close()
            raise

    def put_back(self, wire: Wire, fresh: bool) -> None:
        """Take a connection back. `fresh`: close all idle ones; what broke this one broke them too."""
        now = time.monotonic()
        with self._gate:
            if not self._same_process():
                return
            if fresh or (self._idle and now - self._idle[0][0] > IDLE):
                self._close_idle(0.0 if fresh else IDLE, now)
            if wire.rest() and not fresh:
                self._idle.append((now, wire))
            else:
                self._drop(wire)
            self._checked = self._checked and not fresh
            self._gate.notify()

    def _close_idle(self, age: float, now: float) -> None:
        idle, self._idle = self._idle, []
        for at, wire in idle:
            if now - at >= age:
                self._drop(wire)
            else:
                self._idle.append((at, wire))

    def _drop(self, wire: Wire) -> None:
        self._open -= 1
        wire.close()

    def _check(self, connection: Connection) -> None:
        """Detect a pooler and check the schema, on the first connection and again after a failure."""
        if self._checked:
            return
        if self.pooled is None:
            setting = connection.execute("SELECT current_setting('enable_seqscan')", prepare=False).fetchone()
            self.pooled = setting != ("off",)
        schema.ensure(connection, self.load, self.place, self.create)
        self._checked = True

    # connections --------------------------------------------------------------------------------------------------
    def connect(self, **given: str) -> Connection:
        """Open a new connection outside the pool."""
        params = self.params | given
        if self.pooled:
            return self._dial(params)
        try:
            return self._dial(params | {"options": _with_settings(params.get("options"))})
        except psycopg.OperationalError as error:
            if "unsupported startup parameter" not in str(error):
                raise
            self.pooled = True  # pgbouncer says so of settings that it cannot pass on
            return self._dial(params)

    def _dial(self, params: dict[str, Any]) -> Connection:
        connection = psycopg.connect(**params, autocommit=True, cursor_factory=psycopg.RawCursor)
        connection.prepare_threshold = None  # `Wire` prepares statements itself
        arrays.register(connection.adapters)
        return connection

    def close(self) -> None:
        """Close every connection of this process that is not in use."""
        self._same_process()
        with self._gate:
            self._close_idle(0.0, time.monotonic())
            self._checked = False


class Checkout:
    """One connection for the length of a block."""

    __slots__ = ("_db", "_wire")

    def __init__(self, db: Database) -> None:
        self._db = db

    def __enter__(self) -> Wire:
        try:
            self._wire = self._db.acquire()
        except BaseException as error:
            errors.translate(error, self._db.place)
            raise
        return self._wire

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.put_back(self._wire, errors.broken(error))
        if error is not None:
            errors.translate(error, self._db.place)


def _transacted(wire: Wire, operations: Operations[T], first: Sequence[Statement], patience: float | None) -> T:
    """Drive operations in a transaction, which begins with the first statement."""
    begin = list(first)

    def step(statement: Any) -> Any:
        statements = statement if type(statement) is list else [statement]
        sent, begin[:] = [*begin, *statements], []
        results = wire.send(sent, patience)[-len(statements) :]
        return results if type(statement) is list else results[0]

    try:
        result = drive(operations, step)
    except BaseException:
        if wire.undoable:
            wire.send([Statement("ROLLBACK")], patience)
        raise
    if not begin:
        wire.send([Statement("COMMIT")], patience)
    return result


# URLs -----------------------------------------------------------------------------------------------------------------


def parse_url(url: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Return libpq's parameters of a URL, and our own options."""
    base, _, query = url.partition("?")
    parts = [part for part in query.split("&") if part]
    ours = {name: value for name, _, value in (part.partition("=") for part in parts) if name in OURS}
    rest = [part for part in parts if part.partition("=")[0] not in OURS]
    try:
        params = conninfo_to_dict(base + ("?" + "&".join(rest) if rest else ""))
    except psycopg.Error as error:
        from ...core.settings import masked, masked_detail

        raise ConfigError(
            f"{masked(url)}: {masked_detail(str(error).strip(), url)}. Write postgresql://user:password@host:5432/database, then options of "
            f"libpq or mainstay's own: {', '.join(OURS)}"
        ) from None
    if "," in str(params.get("host", "")):
        params.setdefault("target_session_attrs", "read-write")
    from urllib.parse import unquote

    return DEFAULTS | params, {name: unquote(value) for name, value in ours.items()}


def _whole(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1_000:
        raise ConfigError(f"connections={text!r}: how many connections a process may open at once, from 1 to 1000")
    return int(text)


def _pooled(text: str) -> bool | None:
    choices = {"auto": None, "transaction": True, "no": False}
    if text not in choices:
        raise ConfigError(f"pooler={text!r}: give auto (it is detected), transaction (pgbouncer and similar) or no")
    return choices[text]


def _creating(text: str) -> bool:
    if text not in ("create", "existing"):
        raise ConfigError(
            f"mode={text!r}: give create (the schema is made on first use) or existing (it must be there)"
        )
    return text == "create"


def _with_settings(options: str | None) -> str:
    """Return our settings, then the user's: the later ones win."""
    ours = " ".join(f"-c {name}={value}" for name, value in SETTINGS.items())
    return f"{ours} {options}" if options else ours
