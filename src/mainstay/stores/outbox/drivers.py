"""One guest for each driver. None of these packages is imported by us: a caller that has a connection has its module."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

from ..operations import Result
from .caller_connection import AUTOCOMMIT, BROKEN, CLOSED, IDLE, OPEN, CallerConnection, names

if TYPE_CHECKING:
    from ..operations import Statement


# SQLite ---------------------------------------------------------------------------------------------------------------
class Sqlite3(CallerConnection):
    """A `sqlite3.Connection`."""

    engine = "sqlite"
    advice = (
        "run connection.execute('BEGIN IMMEDIATE') first, or connect without isolation_level=None and autocommit=True"
    )

    def standing(self) -> str:
        if self.raw.in_transaction:
            return OPEN
        autocommit = getattr(self._inner(), "autocommit", -1)  # from Python 3.12 on; -1: isolation_level decides
        bare = autocommit is True or (autocommit == -1 and self.raw.isolation_level is None)
        return AUTOCOMMIT if bare else IDLE

    def _inner(self) -> Any:
        return self.raw

    def execute(self, statement: Statement) -> Any:
        texts = self.raw.text_factory  # dicts or bytes are the caller's way to read, not ours
        if texts is not str:
            self.raw.text_factory = str
        try:
            cursor = self.raw.cursor()
            cursor.row_factory = None
            cursor.execute(statement.text, statement.values)
            return Result(cursor.fetchall() if cursor.description else [], cursor.rowcount)
        finally:
            if texts is not str:
                self.raw.text_factory = texts


class Aiosqlite(Sqlite3):
    """An `aiosqlite.Connection`."""

    awaited = True
    advice = "run await connection.execute('BEGIN IMMEDIATE') first, or connect without isolation_level=None"

    def _inner(self) -> Any:
        return getattr(self.raw, "_conn", self.raw)  # it hands on all that matters but `autocommit`

    async def execute(self, statement: Statement) -> Any:
        texts = self.raw.text_factory
        if texts is not str:
            self.raw.text_factory = str
        try:
            async with await self.raw.cursor() as cursor:
                cursor.row_factory = None
                await cursor.execute(statement.text, statement.values)
                return Result(await cursor.fetchall() if cursor.description else [], cursor.rowcount)
        finally:
            if texts is not str:
                self.raw.text_factory = texts


# PostgreSQL -----------------------------------------------------------------------------------------------------------
_STATUS = {0: IDLE, 1: OPEN, 2: OPEN, 3: BROKEN}  # libpq's: idle, active, in a transaction, in one that failed


class Psycopg(CallerConnection):
    """A `psycopg.Connection`, with the statements' own `$1` through a raw cursor."""

    engine = "postgres"
    advice = "put `with connection.transaction():` around it, or connect without autocommit=True"

    def standing(self) -> str:
        return libpq_standing(self.raw)

    def cursor(self) -> Any:
        """A cursor of ours: neither the caller's cursor class, nor kind of rows, nor way to send lists."""
        psycopg = sys.modules["psycopg"]
        return own_adapters(psycopg.RawCursor(self.raw, row_factory=psycopg.rows.tuple_row))

    def execute(self, statement: Statement) -> Any:
        cursor = self.cursor()
        cursor.execute(statement.text, statement.values or None)
        if self.empty(cursor):
            return Result([], cursor.rowcount)
        try:
            return Result(cursor.fetchall(), cursor.rowcount)
        except sys.modules["psycopg"].ProgrammingError as error:
            return no_rows(error, cursor)

    def empty(self, cursor: Any) -> bool:
        """Whether there are no rows to fetch. In a pipeline nobody knows yet: fetching is what sends the statement."""
        return cursor.description is None and not self.raw.pgconn.pipeline_status


def libpq_standing(raw: Any) -> str:
    """How a connection of psycopg or psycopg2 stands."""
    if raw.closed:
        return CLOSED
    status = _STATUS.get(raw.info.transaction_status, BROKEN)
    return AUTOCOMMIT if status == IDLE and raw.autocommit else status


def own_adapters(cursor: Any) -> Any:
    """The cursor with our own connections' way to send numbers and lists."""
    from ..postgres.arrays import register

    register(cursor.adapters)
    return cursor


def no_rows(error: Any, cursor: Any) -> Result:
    """The driver's own complaint that a statement has no rows is an answer; the server's complaints go on."""
    if error.sqlstate is not None:
        raise error
    return Result([], cursor.rowcount)


class AsyncPsycopg(Psycopg):
    """A `psycopg.AsyncConnection`."""

    awaited = True
    advice = "put `async with connection.transaction():` around it, or connect without autocommit=True"

    def cursor(self) -> Any:
        psycopg = sys.modules["psycopg"]
        return own_adapters(psycopg.AsyncRawCursor(self.raw, row_factory=psycopg.rows.tuple_row))

    async def execute(self, statement: Statement) -> Any:
        cursor = self.cursor()
        await cursor.execute(statement.text, statement.values or None)
        if self.empty(cursor):
            return Result([], cursor.rowcount)
        try:
            return Result(await cursor.fetchall(), cursor.rowcount)
        except sys.modules["psycopg"].ProgrammingError as error:
            return no_rows(error, cursor)


_HEAD = re.compile(r"^(?:SELECT|INSERT|UPDATE|DELETE)\b", re.MULTILINE)


class Asyncpg(CallerConnection):
    """An `asyncpg.Connection`, or one that a pool lent."""

    engine = "postgres"
    awaited = True
    advice = "put `async with connection.transaction():` around it"

    def standing(self) -> str:
        if self.raw.is_closed():
            return CLOSED
        return OPEN if self.raw.is_in_transaction() else AUTOCOMMIT

    @property
    def lasting(self) -> Any:
        return getattr(self.raw, "_con", self.raw)  # a pool wraps it anew whenever it lends it

    async def execute(self, statement: Statement) -> Any:
        if _answers_rows(statement.text):
            rows = [tuple(row) for row in await self.raw.fetch(statement.text, *statement.values)]
            return Result(rows, len(rows))
        words = (await self.raw.execute(statement.text, *statement.values)).split()
        return Result([], int(words[-1]) if words[-1].isdigit() else -1)


def _answers_rows(text: str) -> bool:
    """Whether a statement of ours has rows; asyncpg wants to be asked differently for a count."""
    last = list(_HEAD.finditer(text))  # what a WITH is about comes last; all that is inside is indented
    return bool(last) and (last[-1][0] == "SELECT" or "RETURNING" in text[last[-1].start() :])


class Psycopg2(CallerConnection):
    """A psycopg2 connection: what SQLAlchemy and Django may still be set up with."""

    engine = "postgres"
    advice = "set connection.autocommit = False"

    def standing(self) -> str:
        return libpq_standing(self.raw)

    def execute(self, statement: Statement) -> Any:
        plain = sys.modules["psycopg2.extensions"].cursor
        with self.raw.cursor(cursor_factory=plain) as cursor:
            cursor.execute(pyformat(statement.text), {f"p{n}": value for n, value in enumerate(statement.values, 1)})
            return Result(cursor.fetchall() if cursor.description else [], cursor.rowcount)


def pyformat(text: str) -> str:
    """A statement with `$1` as one with `%(p1)s`."""
    return re.sub(r"\$(\d+)", r"%(p\1)s", text.replace("%", "%%"))


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
    """The guest of a driver's own connection; None for anything else."""
    return next((KINDS[name](raw) for name in names(raw) if name in KINDS), None)
