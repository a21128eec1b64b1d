"""The two sides of a joined transaction: the caller's connection, and the engine whose verbs run on it.

There is one class for each driver. None of these packages is imported here: a caller that has a connection has its module. On the
path of cold producers: nothing is imported that a bare interpreter with `sqlite3` lacks.
"""

from __future__ import annotations

import sys

from ..operations import Result, Statement

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

    from ...core.decide import Transition
    from ...core.draft import Draft
    from ..operations import Operations

    T = TypeVar("T")
    Joined = Generator["Statement | OwnWork", "Result", T]

    class OwnWork(NamedTuple):
        """Work on the store's own connections between two statements; it may block, so an async driver does it on a thread."""

        call: Callable[[], Any]

    class Outbox(Protocol):
        """An engine's side: the verbs that can join a caller's transaction, as operations."""

        engine: str
        place: str  # where the store is, without secrets

        def enqueue(self, drafts: Sequence[Draft], now: int) -> Operations[list[tuple[str, bool]]]:
            """As the store's `enqueue`."""

        def cancel(self, ids: Sequence[str], now: int, actor: str) -> Operations[dict[str, str]]:
            """As the store's `cancel`."""

        def finish(self, transition: Transition) -> Operations[bool]:
            """Apply one transition; return False if its token is no longer current."""

        def setting(self, name: str) -> Operations[str | None]:
            """As the store's `setting`."""

        def in_transaction(self, caller: CallerConnection, operations: Operations[T]) -> Joined[T]:
            """Return the operations inside the caller's transaction: in the same database, and whole or not at all."""

        def mapped(self, error: BaseException) -> BaseException:
            """Return a driver's error as one of ours; any other error unchanged."""
else:
    from collections import namedtuple

    OwnWork = namedtuple("OwnWork", "call")  # noqa: PYI024  (`typing` is heavy)

OPEN = "open"  # a transaction is open: join it
IDLE = "idle"  # none is open, and the next statement opens one that the caller ends
AUTOCOMMIT = "autocommit"  # none is open, and each statement would commit by itself
CLOSED = "closed"
BROKEN = "broken"  # the transaction has failed: nothing but a rollback is possible


class CallerConnection:
    """A caller's connection. `raw` is the driver's own; `detect` takes it out of what it is wrapped in."""

    engine: ClassVar[str]
    awaited: ClassVar[bool] = False
    advice: str  # tells the user how to open a transaction

    def __init__(self, raw: Any) -> None:
        self.raw = raw
        self.undo: Callable[[], Any] | None = None  # rolls back what the framework began for us, if we fail

    @property
    def identity(self) -> Any:
        """The object that stays the same while the connection is open."""
        return self.raw

    @property
    def kind(self) -> str:
        """The connection's class, for a message."""
        return named(self.raw)

    @property
    def encoding(self) -> str:
        """How the connection sends and reads text."""
        return "UTF8"

    def tx_status(self) -> str:
        """Return the status of the transaction: one of the constants above."""
        raise NotImplementedError

    async def execute(self, statement: Statement) -> Result:
        """Return the result of a statement. On a sync connection, awaiting this suspends nothing."""
        raise NotImplementedError


def is_awaitable(value: object) -> bool:
    """Whether a driver's call has to be awaited. (`inspect` is heavy.)"""
    return hasattr(value, "__await__")


async def resolved(value: Any) -> Any:
    """Return what a driver's call returned, awaited if the driver is async: one text serves both kinds."""
    return await value if is_awaitable(value) else value


def names(tx: object) -> list[str]:
    """Return the classes of an object, its own first, each with its package: `psycopg.AsyncConnection`."""
    return [f"{kind.__module__.partition('.')[0]}.{kind.__name__}" for kind in type(tx).__mro__]


def named(tx: object) -> str:
    """Return the class of an object, for a message."""
    return names(tx)[0].removeprefix("builtins.")


def undo(error: BaseException, *statements: str) -> Operations[None]:
    """Undo our statements; the error that made it necessary is the one to raise."""
    if isinstance(error, GeneratorExit):
        return
    try:
        for statement in statements:
            yield Statement(statement)
    except Exception as worse:  # noqa: BLE001  (of whichever driver)
        error.add_note(f"… and the rollback failed: {worse}")


# SQLite ---------------------------------------------------------------------------------------------------------------
class Sqlite3(CallerConnection):
    """A `sqlite3.Connection`."""

    engine = "sqlite"
    advice = (
        "run connection.execute('BEGIN IMMEDIATE') first, or connect without isolation_level=None and autocommit=True"
    )

    def tx_status(self) -> str:
        if self.raw.in_transaction:
            return OPEN
        autocommit = getattr(self._inner(), "autocommit", -1)  # from Python 3.12 on; -1: isolation_level decides
        commits = autocommit is True or (autocommit == -1 and self.raw.isolation_level is None)
        return AUTOCOMMIT if commits else IDLE

    def _inner(self) -> Any:
        return self.raw

    async def execute(self, statement: Statement) -> Result:
        texts = self.raw.text_factory  # the caller may read bytes; we read str
        if texts is not str:
            self.raw.text_factory = str
        try:
            cursor = await resolved(self.raw.cursor())
            cursor.row_factory = None
            await resolved(cursor.execute(statement.text, statement.values))
            result = Result(await resolved(cursor.fetchall()) if cursor.description else [], cursor.rowcount)
            await resolved(cursor.close())
            return result
        finally:
            if texts is not str:
                self.raw.text_factory = texts


class Aiosqlite(Sqlite3):
    """An `aiosqlite.Connection`."""

    awaited = True
    advice = "run await connection.execute('BEGIN IMMEDIATE') first, or connect without isolation_level=None"

    def _inner(self) -> Any:
        return getattr(self.raw, "_conn", self.raw)  # it passes everything on but `autocommit`


# PostgreSQL -----------------------------------------------------------------------------------------------------------
_STATUS = {0: IDLE, 1: OPEN, 2: OPEN, 3: BROKEN}  # libpq's: idle, active, in a transaction, in one that failed


class Psycopg(CallerConnection):
    """A `psycopg.Connection`. A raw cursor takes the statements' own `$1`."""

    engine = "postgres"
    advice = "put `with connection.transaction():` around it, or connect without autocommit=True"

    @property
    def encoding(self) -> str:
        return self.raw.info.parameter_status("client_encoding") or ""

    def tx_status(self) -> str:
        if self.raw.closed:
            return CLOSED
        status = _STATUS.get(self.raw.info.transaction_status, BROKEN)
        return AUTOCOMMIT if status == IDLE and self.raw.autocommit else status

    async def execute(self, statement: Statement) -> Result:
        from ..postgres.arrays import register

        psycopg = sys.modules["psycopg"]
        kind = psycopg.AsyncRawCursor if self.awaited else psycopg.RawCursor
        cursor = kind(self.raw, row_factory=psycopg.rows.tuple_row)  # not the caller's row factory and adapters
        register(cursor.adapters)
        await resolved(cursor.execute(statement.text, statement.values or None))
        if cursor.description is None and not self.raw.pgconn.pipeline_status:
            return Result([], cursor.rowcount)
        try:  # in a pipeline it is not known yet whether there are rows: fetching sends the statement
            return Result(await resolved(cursor.fetchall()), cursor.rowcount)
        except psycopg.ProgrammingError as error:
            if error.sqlstate is not None:  # the server's; the driver's own says that a statement has no rows
                raise
            return Result([], cursor.rowcount)


class AsyncPsycopg(Psycopg):
    """A `psycopg.AsyncConnection`."""

    awaited = True
    advice = "put `async with connection.transaction():` around it, or connect without autocommit=True"


class Asyncpg(CallerConnection):
    """An `asyncpg.Connection`, or one from a pool."""

    engine = "postgres"
    awaited = True
    advice = "put `async with connection.transaction():` around it"

    @property
    def encoding(self) -> str:
        return self.raw.get_settings().client_encoding or ""

    def tx_status(self) -> str:
        if self.raw.is_closed():
            return CLOSED
        return OPEN if self.raw.is_in_transaction() else AUTOCOMMIT

    @property
    def identity(self) -> Any:
        return getattr(self.raw, "_con", self.raw)  # a pool wraps it in a new object each time

    async def execute(self, statement: Statement) -> Result:
        if _returns_rows(statement.text):
            rows = [tuple(row) for row in await self.raw.fetch(statement.text, *statement.values)]
            return Result(rows, len(rows))
        words = (await self.raw.execute(statement.text, *statement.values)).split()
        return Result([], int(words[-1]) if words[-1].isdigit() else -1)


def _returns_rows(text: str) -> bool:
    """Return whether a statement of ours returns rows; asyncpg has another method for a count."""
    import re

    heads = re.finditer(r"^(?:SELECT|INSERT|UPDATE|DELETE)\b", text, re.MULTILINE)
    last = list(heads)  # the main statement after a WITH comes last; what is inside is indented
    return bool(last) and (last[-1][0] == "SELECT" or "RETURNING" in text[last[-1].start() :])


class Psycopg2(Psycopg):
    """A psycopg2 connection, which SQLAlchemy and Django may still use."""

    advice = "set connection.autocommit = False"

    @property
    def encoding(self) -> str:
        return self.raw.encoding or ""

    async def execute(self, statement: Statement) -> Result:
        import re

        plain = sys.modules["psycopg2.extensions"].cursor
        with self.raw.cursor(cursor_factory=plain) as cursor:
            text = re.sub(r"\$(\d+)", r"%(p\1)s", statement.text.replace("%", "%%"))
            cursor.execute(text, {f"p{n}": value for n, value in enumerate(statement.values, 1)})
            return Result(cursor.fetchall() if cursor.description else [], cursor.rowcount)


KINDS: dict[str, type[CallerConnection]] = {
    "sqlite3.Connection": Sqlite3,
    "aiosqlite.Connection": Aiosqlite,
    "psycopg.Connection": Psycopg,
    "psycopg.AsyncConnection": AsyncPsycopg,
    "asyncpg.Connection": Asyncpg,
    "asyncpg.PoolConnectionProxy": Asyncpg,
    "psycopg2.connection": Psycopg2,
}


def driver(raw: object) -> CallerConnection | None:
    """Return the `CallerConnection` of a driver's own connection; None for anything else."""
    return next((KINDS[name](raw) for name in names(raw) if name in KINDS), None)
