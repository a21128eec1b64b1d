"""Connections to one PostgreSQL database: a few, opened when needed, shared by all threads, and opened again after a fork.

A single statement is a transaction of its own and costs one round trip. Statements that need no result of each other are sent
as one batch: one transaction as well, because nothing ends it before the batch ends. Nothing here depends on session state,
so a pooler in transaction mode may stand in between. It is detected by the settings that it drops; statements are not
prepared then.

A URL is libpq's, `postgresql://user:password@host,other:5432/database?sslmode=require`, with our own options taken out first:
`schema=mainstay` · `connections=3`, how many a process may open; a worker has its own beside them · `pooler=auto`, else
`transaction` or `no` · `listen=` a URL that goes past the pooler, for the notifier; `no`: it polls · `mode=create`, or
`existing`: a missing schema is an error.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

import psycopg
from psycopg.conninfo import conninfo_to_dict

from ...core.errors import ConfigError, StoreBusy
from ...core.masking import masked, masked_detail
from ..fork import ForkGuard
from ..operations import Statement, drive
from . import errors, schema
from .dialect import SCHEMA, PostgresDialect
from .pool import Checkout, Pool
from .wire import ANSWER, Wire

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..operations import Operations, Result

    Connection = psycopg.Connection[tuple[Any, ...]]

T = TypeVar("T")
WORKER_TIMEOUT = 4.5  # seconds that a worker's own calls wait for a result: its lease lasts no longer
LOCKED = "3s"  # how long a statement waits for a locked row: less than WORKER_TIMEOUT
LIMITED = Statement(f"SELECT set_config('lock_timeout', '{LOCKED}', true)")
BEGIN, COMMIT = Statement("BEGIN"), Statement("COMMIT")
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
# Our own, with their defaults.
OPTIONS = {"schema": SCHEMA, "connections": "3", "pooler": "auto", "listen": "", "mode": "create"}
CHOICES: dict[str, tuple[dict[str, bool | None], str]] = {
    "pooler": ({"auto": None, "transaction": True, "no": False},
               "give auto (it is detected), transaction (pgbouncer and similar) or no"),
    "mode": ({"create": True, "existing": False},
             "give create (the schema is made on first use) or existing (it must be there)"),
}  # fmt: skip
_RETRIED = (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure, psycopg.errors.UniqueViolation)


class Database(ForkGuard):
    """One database, connected to when first used, and again after a fork."""

    def __init__(self, url: str) -> None:
        self.params, options = parse_url(url)
        self.place = f"{self.params.get('host') or 'PostgreSQL'}/{self.params.get('dbname') or ''}".rstrip("/")
        self.dialect = PostgresDialect(options["schema"])
        place = (str(self.params.get(name, "")) for name in ("host", "hostaddr", "port", "dbname"))
        self.identity = ("postgres", *place, options["schema"])  # distinguishes this installation from others
        self.limit = _whole(options["connections"])
        self.pooled: bool | None = _choice(options, "pooler")  # None: not detected yet
        self.create = _choice(options, "mode")
        self.listen = options["listen"]  # a URL that goes past the pooler; "no": poll
        super().__init__()

    def _start(self) -> None:
        # A worker's own calls never wait for a connection: nothing else of the process may use theirs up. Its threads are few.
        self._pool = Pool(self.limit, lambda: self._wire(ANSWER))
        self._workers = Pool(math.inf, lambda: self._wire(WORKER_TIMEOUT))
        self._checked = False

    # use ----------------------------------------------------------------------------------------------------------
    def checkout(self, by_worker: bool = False) -> Checkout:
        """Return one of our connections for a block, `with db.checkout() as wire:`, errors mapped."""
        self.restarted()
        return Checkout(self, self._workers if by_worker else self._pool)

    def execute(self, name: str, by_worker: bool = False, /, **values: Any) -> Result:
        """Execute one statement, by name, as a transaction of its own."""
        result: Result = self.send(self.dialect.statement(name, **values), by_worker)
        return result

    def send(self, statements: Any, by_worker: bool = False) -> Any:
        """Execute a statement, or a list of which none needs a result of another, in one transaction and one round trip."""
        return self._on_wire(lambda wire: wire.run(statements, self._first(by_worker)), by_worker)

    def run(self, operations: Callable[[], Operations[T]], by_worker: bool = False) -> T:
        """Drive operations in one transaction, from the start again if it conflicts with another and is rolled back."""
        return self._on_wire(lambda wire: _transacted(wire, operations(), self._first(by_worker)), by_worker)

    def anew(self, by_worker: bool = False) -> list[Statement]:
        """Return what ends a transaction that BEGIN began and begins the next one, within a list that is sent in one round trip."""
        return [COMMIT, *self._first(by_worker)]

    def _first(self, by_worker: bool) -> list[Statement]:
        """Return what a worker's transaction begins with: behind a pooler, no session has our limit on waits for locks."""
        return [LIMITED] if self.pooled and by_worker else []

    def _on_wire(self, work: Callable[[Wire], T], by_worker: bool) -> T:
        """Do the work of one transaction; try again if it certainly did not happen and may succeed now.

        It was rolled back because it conflicts with another, or its connection is older than a restart or a failover.
        """
        for left in range(TRIES, 0, -1):
            with self.checkout(by_worker) as wire:
                try:
                    return work(wire)
                except _RETRIED:
                    if left == 1:
                        raise
                except psycopg.errors.IdleInTransactionSessionTimeout:
                    # This process was paused: all of it was rolled back.
                    wire.close()
                    if left == 1:
                        raise
                except (psycopg.OperationalError, psycopg.errors.ReadOnlySqlTransaction) as error:
                    unwritten = wire.undone or isinstance(error, psycopg.errors.ReadOnlySqlTransaction)
                    if wire.new or not unwritten:
                        raise
                    wire.close()
        raise StoreBusy(f"{self.place}: every try conflicted with another transaction; try again")

    # connections --------------------------------------------------------------------------------------------------
    def _wire(self, patience: float) -> Wire:
        connection = self.connect()
        try:
            self._check(connection)
            return Wire(connection, not self.pooled, patience)
        except BaseException:
            connection.close()
            raise

    def _check(self, connection: Connection) -> None:
        """Detect a pooler and check the schema, on the first connection and again after a failure."""
        if self._checked:
            return
        scans, versions = schema.glance(connection, self.dialect)
        if self.pooled is None:
            self.pooled = scans != SETTINGS["enable_seqscan"]
        schema.ensure(connection, self, versions)
        self._checked = True

    def connect(self, **given: str) -> Connection:
        """Open a new connection outside the pools."""
        params = self.params | given
        if self.pooled:
            return dial(params)
        settings = " ".join(f"-c {name}={value}" for name, value in SETTINGS.items())
        try:
            return dial(params | {"options": f"{settings} {params.get('options') or ''}"})  # the later ones win
        except psycopg.OperationalError as error:
            if "unsupported startup parameter" not in str(error):
                raise
            self.pooled = True  # pgbouncer says so of settings that it cannot pass on
            return dial(params)

    @contextmanager
    def aside(self) -> Iterator[Connection]:
        """Open a separate connection without checking the schema: for migrations."""
        try:
            with self.connect() as connection:
                yield connection
        except BaseException as error:
            errors.translate(error, self.place)
            raise

    def close(self) -> None:
        """Close every connection of this process that is not in use, and check the schema again with the next."""
        if not self.restarted():
            self._checked = False
            self._pool.close_idle()
            self._workers.close_idle()


def dial(params: dict[str, Any]) -> Connection:
    """Open a connection."""
    # Whatever the URL, the environment or the role asks for: values are sent and read as UTF-8. `Wire` prepares statements itself.
    params = params | {"client_encoding": "UTF8", "autocommit": True, "prepare_threshold": None}
    return psycopg.connect(**params, cursor_factory=psycopg.RawCursor)


def _transacted(wire: Wire, operations: Operations[T], first: list[Statement]) -> T:
    """Drive operations in a transaction, which begins with the first statement."""
    begin = [BEGIN, *first]

    def step(statements: Any) -> Any:
        sent, begin[:] = [*begin], []
        return wire.run(statements, sent)

    try:
        result = drive(operations, step)
    except BaseException:
        if wire.undoable:
            wire.send([Statement("ROLLBACK")])
        raise
    if not begin:
        wire.send([COMMIT])
    return result


# URLs -----------------------------------------------------------------------------------------------------------------


def parse_url(url: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Return libpq's parameters of a URL, and our own options."""
    base, _, query = url.partition("?")
    parts = [part.partition("=") for part in query.split("&") if part]
    ours = {name: unquote(value) for name, _, value in parts if name in OPTIONS}
    rest = "&".join("".join(part) for part in parts if part[0] not in OPTIONS)
    try:
        params = conninfo_to_dict(f"{base}?{rest}" if rest else base)
    except psycopg.Error as error:
        raise ConfigError(
            f"{masked(url)}: {masked_detail(str(error).strip(), url)}. "
            f"Write postgresql://user:password@host:5432/database, then options of libpq or mainstay's own: {', '.join(OPTIONS)}"
        ) from None
    if "," in str(params.get("host", "")):
        params.setdefault("target_session_attrs", "read-write")
    return DEFAULTS | params, OPTIONS | ours


def _whole(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1_000:
        raise ConfigError(f"connections={text!r}: how many connections a process may open at once, from 1 to 1000")
    return int(text)


def _choice(options: dict[str, str], name: str) -> Any:
    choices, advice = CHOICES[name]
    if options[name] not in choices:
        raise ConfigError(f"{name}={options[name]!r}: {advice}")
    return choices[options[name]]
