"""Operations: a verb as a generator that yields statements and receives their results, so that it runs on any connection.

The engine drives it on its own connection; `outbox` drives the same one on the caller's, sync or async. On the cold path
of every producer: nothing is imported that a bare interpreter with `sqlite3` lacks.

The texts of SQL statements are read here too, with the admission step in them: the one way by which a job becomes queued or
scheduled.
"""

from __future__ import annotations

import os

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


OLD_WORK = ("checkpoint", "progress", "result")  # the tables with what an attempt at work that is replaced has left


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


# the texts of SQL statements ------------------------------------------------------------------------------------------
SHARED = os.path.join(os.path.dirname(__file__), "sql", "statements")  # of both SQL engines
_step: list[str] = []


def read(folder: str, name: str) -> str:
    """Return the text of a statement's file, without its comments."""
    path = os.path.join(folder, name + ".sql")
    # Not a file object: a signal may come before it is closed, and Python would warn.
    descriptor = os.open(path, os.O_RDONLY)
    try:
        text = os.read(descriptor, os.fstat(descriptor).st_size).decode()
    finally:
        os.close(descriptor)
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("--")).strip()


def statements(text: str) -> list[str]:
    """Return the statements of a migration in SQL, or of one step of it."""
    lines = [line.partition("--")[0] for line in text.splitlines()]
    return [part.strip() for part in "\n".join(lines).split(";") if part.strip()]


def admitted(text: str) -> str:
    """Replace `{admit.state | run_at | now | held}` and so on by the expressions of the admission step."""
    before, mark, after = text.partition("{admit.")
    if not mark:
        return text
    call, _, rest = after.partition("}")
    return before + admission(*call.split(" | ")) + admitted(rest)


_GIVEN = {
    "state": ("run_at", "now", "held"),
    "ord": ("run_at", "now", "place"),
    "waits": ("run_at", "now", "held", "waits"),
}


def admission(column: str, *given: str) -> str:
    """Return the step's expression (`sql/statements/parts/admit.sql`) for a column, over the expressions that `_GIVEN` names."""
    if not _step:
        _step.extend(read(SHARED, "parts/admit").splitlines())
    text = next(line for line in _step if line.startswith(column + " = ")).removeprefix(column + " = ")
    known = dict(zip(_GIVEN[column], given, strict=True))
    for name in ("run_at", "held"):  # no comparison with NULL is true, and SQLite would make it for each row
        if known.get(name, "").startswith("NULL"):
            clause = text.find(f"WHEN {{{name}}}")
            ends = [end for end in (text.find(" WHEN ", clause), text.find(" ELSE ", clause)) if end >= 0]
            text = text if clause < 0 else text[:clause] + text[min(ends) + 1 :]
    if text.startswith("CASE ELSE "):
        text = text.removeprefix("CASE ELSE ").removesuffix(" END")
    for name, expression in known.items():
        text = text.replace(f"{{{name}}}", expression)
    return text
