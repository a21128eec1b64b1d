"""Operations: a verb as a generator that yields statements and receives their results, so that it runs on any connection.

The engine drives it on its own connection; `outbox` drives the same one on the caller's, sync or async. On the cold path
of every producer: nothing is imported that a bare interpreter with `sqlite3` lacks.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator
    from typing import Any, NamedTuple, TypeVar

    T = TypeVar("T")

    class Statement(NamedTuple):
        """One statement: its text with the engine's own placeholders (`?` for SQLite, `$1` for PostgreSQL) and its values."""

        text: str
        values: Any = ()  # in order; SQLite takes names too

    class Result(NamedTuple):
        """The rows that a statement returned, and how many rows it touched."""

        rows: list[tuple[Any, ...]]
        count: int  # type: ignore[assignment]

    Operations = Generator[Statement, Result, T]
else:
    from collections import namedtuple

    Statement = namedtuple("Statement", "text values", defaults=((),))  # noqa: PYI024  (`typing` is heavy)
    Result = namedtuple("Result", "rows count")  # noqa: PYI024

    class Operations:
        """Stands for the alias above."""

        def __class_getitem__(cls, item: object) -> type:
            return cls


def together(*statements: Statement) -> Operations[list[Result]]:
    """Yield statements of which none needs the result of another, as one list: PostgreSQL sends them in one round trip."""
    results: Any = (yield list(statements)) if statements else []  # type: ignore[misc]
    return results  # type: ignore[no-any-return]


def drive(operations: Generator[Any, Any, T], execute: Callable[[Any], Any]) -> T:
    """Execute what the operations yield, a statement or a list of statements, until they return.

    An error of `execute` is raised inside the operations, which may put things in order first.
    """
    send, throw = operations.send, operations.throw
    value: Any = None
    error: BaseException | None = None
    try:
        while True:
            statement = send(value) if error is None else throw(error)
            try:
                value, error = execute(statement), None
            except BaseException as failure:  # noqa: BLE001  (the operations raise it again)
                error = failure
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        error = None  # its traceback has this frame: a cycle would keep alive what was interrupted


async def adrive(operations: Generator[Any, Any, T], execute: Callable[[Any], Awaitable[Any]]) -> T:
    """As `drive`, with an async `execute`. The operations of a cancelled task may put things in order too."""
    value: Any = None
    error: BaseException | None = None
    try:
        while True:
            statement = operations.send(value) if error is None else operations.throw(error)
            try:
                value, error = await execute(statement), None
            except BaseException as failure:  # noqa: BLE001  (the operations raise it again)
                error = failure
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        error = None  # its traceback has this frame: a cycle would keep alive what was interrupted
