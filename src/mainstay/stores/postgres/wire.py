"""Statements over one connection, by libpq's pipeline mode: all statements of a round are sent at once and read at once.

psycopg's cursors need a system call and several objects for every statement: five times the work of a small claim. Rows
are still converted by psycopg, with its `Transformer`.
"""

from __future__ import annotations

import select
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import pq
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result

from ..operations import Result
from .arrays import encoded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from psycopg.pq.abc import PGresult

    from ..operations import Statement

    Connection = psycopg.Connection[tuple[Any, ...]]

ANSWER = 30  # seconds until a silent server counts as gone; it waits for locks no longer than 10
PREPARED = 200  # statements a connection; ours are fewer, those that searches make may be more
_READ, _WRITE = select.POLLIN, select.POLLIN | select.POLLOUT
_ROWS = pq.ExecStatus.TUPLES_OK
_AWAY = (psycopg.errors.AdminShutdown, psycopg.errors.CrashShutdown, psycopg.errors.CannotConnectNow)
_FINE = (_ROWS, pq.ExecStatus.COMMAND_OK, pq.ExecStatus.PIPELINE_SYNC)


class Wire:
    """One of our connections, for one thread at a time."""

    def __init__(self, connection: Connection, prepares: bool, patience: float) -> None:
        self.connection, self._pgconn = connection, connection.pgconn
        self._prepares, self._patience = prepares, patience
        self._values = Transformer(connection)
        self._names: dict[str, bytes] = {}  # of prepared statements, by text
        self._seen: set[str] = set()  # texts that were sent once: the second time they are prepared
        self.new = True  # it has not been used before
        self.undone = False  # the server shut down before it did anything of the last batch
        self._poll = select.poll()
        self._poll.register(self._pgconn.socket, _READ)

    def run(self, statements: Any, first: list[Statement]) -> Any:
        """Run `first`, and then a statement or a list of them, whose result or list of results is returned."""
        if type(statements) is list:
            return self.send([*first, *statements])[len(first) :]
        return self.send([*first, statements])[-1]

    def send(self, operations: Sequence[Statement]) -> list[Result]:
        """Run statements in one round trip, and in one transaction unless they say otherwise; raise the first error.

        A server that sends nothing for the connection's `patience` counts as gone. A thread that is interrupted in here leaves a busy
        connection, which must not be used again.
        """
        self._pgconn.enter_pipeline_mode()
        preparing = [self._queue(statement) for statement in operations]
        self._pgconn.pipeline_sync()
        self._flush()
        results, failure = self._read(operations, preparing)
        if failure is not None:
            raise failure
        self._pgconn.exit_pipeline_mode()
        return results

    def _queue(self, statement: Statement) -> bytes | None:
        """Queue one statement; return the name under which it is being prepared, or None."""
        params, formats = encoded(statement.values)
        name, new = self._names.get(statement.text), None
        if name is None and self._worth_preparing(statement.text):
            name = new = b"m%d" % len(self._names)
            self._pgconn.send_prepare(new, statement.text.encode())
            self._names[statement.text] = new
        if name is None:
            self._pgconn.send_query_params(statement.text.encode(), params, None, formats, pq.Format.BINARY)
        else:
            self._pgconn.send_query_prepared(name, params, formats, pq.Format.BINARY)
        return new

    def _worth_preparing(self, text: str) -> bool:
        if text in self._seen:
            return True
        if self._prepares and len(self._seen) < PREPARED:
            self._seen.add(text)
        return False

    def _read(
        self, operations: Sequence[Statement], preparing: list[bytes | None]
    ) -> tuple[list[Result], psycopg.Error | None]:
        """Return the results and the first error: statements after it were not run. Leaves the pipeline unless the server is gone."""
        results: list[Result] = []
        failure: psycopg.Error | None = None
        try:
            for statement, name in zip(operations, preparing, strict=True):
                if name is not None and (refused := self._result()).status not in _FINE:
                    del self._names[statement.text]
                    failure = failure or _failed(refused)
                result = self._result()
                if result.status in _FINE:
                    results.append(self._converted(result))
                else:
                    failure = failure or _failed(result)
            self._result(last=True)
            if failure is not None:
                self._pgconn.exit_pipeline_mode()
        except psycopg.OperationalError as gone:
            failure = failure or gone  # an error that the server sent before tells more
        self.undone = isinstance(failure, _AWAY) and not results and operations[0].text != "COMMIT"
        return results, failure

    def _converted(self, result: PGresult) -> Result:
        rows: list[tuple[Any, ...]] = []
        if result.status == _ROWS:
            self._values.set_pgresult(result)
            rows = self._values.load_rows(0, result.ntuples, tuple)
        return Result(rows, result.command_tuples or 0)

    def _result(self, last: bool = False) -> PGresult:
        """Return the next result; every one but the last is followed by an empty one."""
        result = self._next()
        if result is None:
            raise psycopg.OperationalError("the connection was closed by the server")
        if not last:
            self._next()
        return result

    def _next(self) -> PGresult | None:
        pgconn = self._pgconn
        while pgconn.is_busy():
            self._await()
            pgconn.consume_input()
        return pgconn.get_result()

    def _await(self) -> None:
        """Wait until the server sends something. A server that hangs, or a proxy that loses packets, counts as gone in the end."""
        if not self._poll.poll(self._patience * 1000):
            self.connection.close()
            raise psycopg.OperationalError(f"no answer within {self._patience} s; whether it was done is not known")

    def _flush(self) -> None:
        """Send everything; read meanwhile, because a server whose results are not read stops reading."""
        while self._pgconn.flush():
            self._poll.modify(self._pgconn.socket, _WRITE)
            self._await()
            self._poll.modify(self._pgconn.socket, _READ)
            self._pgconn.consume_input()

    # life ---------------------------------------------------------------------------------------------------------
    def alive(self) -> bool:
        """Whether an idle connection may be used. If its server is gone, an error waits to be read."""
        try:
            if self._poll.poll(0):  # an error, or a notice that a setting changed: only a statement shows which
                self.connection.execute("SELECT 1", prepare=False)
        except (psycopg.Error, OSError):
            return False
        return self._pgconn.status == pq.ConnStatus.OK

    def rest(self) -> bool:
        """Mark it as used; return whether it may be used again: it is neither in a transaction nor in the middle of a result."""
        self.new = False
        idle = self._pgconn.transaction_status == pq.TransactionStatus.IDLE
        return idle and not self._pgconn.pipeline_status and not self.connection.closed

    @property
    def undoable(self) -> bool:
        """Whether a transaction is open that can be rolled back."""
        open_ = self._pgconn.transaction_status in (pq.TransactionStatus.INTRANS, pq.TransactionStatus.INERROR)
        return open_ and not self._pgconn.pipeline_status

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


def _failed(result: PGresult) -> psycopg.Error:
    if result.status == pq.ExecStatus.PIPELINE_ABORTED:
        return psycopg.OperationalError("an earlier statement failed")
    return error_from_result(result)
