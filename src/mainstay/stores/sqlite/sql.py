"""SQLite's own statements: one file each in `statements/`, read when first used."""

from __future__ import annotations

import os
from itertools import chain

from ..operations import Result, Statement, admitted, drive, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence
    from typing import Any, TypeVar

    from ...core.tally import Counts
    from ..operations import Operations

    T = TypeVar("T")

FOLDER = os.path.join(os.path.dirname(__file__), "statements")
SIZES = (100, 10, 1)  # each is prepared once a process; 500 rows of numbered parameters take 12 times as long as 100
_cache: dict[str, str] = {}
_many: dict[tuple[str, int], str] = {}


def load(name: str) -> str:
    """Return the text of `statements/<name>.sql`, without its comments and with the admission step filled in."""
    text = _cache.get(name)
    if text is None:
        text = _cache[name] = admitted(read(FOLDER, name))
    return text


def many(one: str, rows: int) -> str:
    """Return a statement with its one row of VALUES repeated: a batch costs half of what `executemany` does."""
    text = _many.get((one, rows))
    if text is None:
        before, values, after = one.partition("VALUES (")
        row, _, rest = after.partition(")")
        text = _many[one, rows] = before + values + "), (".join([row] * rows) + ")" + rest
    return text


def batched(one: str, rows: Sequence[Sequence[Any]]) -> list[Statement]:
    """Return the statements for rows, each bound in order, by a statement for one."""
    return [
        Statement(many(one, size), [value for row in rows[start : start + size] for value in row])
        for start, size in batches(len(rows))
    ]


def tally(counts: Counts) -> list[Statement]:
    """Return the statements that add to counters: one for each minute and type."""
    return [
        Statement(load("tally"), (*group, "{" + ",".join(f'"{name}":{n}' for name, n in names.items()) + "}"))
        for group, names in counts.items()
    ]


def batches(count: int) -> list[tuple[int, int]]:
    """Return a batch cut into pieces of round sizes, as (start, size): few texts for the statement cache."""
    pieces, start = [], 0
    for size in SIZES:
        while count - start >= size:
            pieces.append((start, size))
            start += size
    return pieces


def spacious(count: int) -> list[tuple[int, int]]:
    """Return a batch cut as by `batches`, but into few pieces: a last one may be larger than what is left, and is filled with NULL."""
    pieces, start = [], 0
    while start < count:
        size = next(size for size in SIZES if count - start > size // 4)
        pieces.append((start, size))
        start += size
    return pieces


def filled(rows: Iterable[Sequence[Any]], size: int, width: int) -> list[Any]:
    """Return the values of rows, and as many NULLs as make `size` rows of them. A comparison with NULL matches no row."""
    values = [*chain.from_iterable(rows)]
    return values if len(values) == size * width else values + [None] * (size * width - len(values))


def run(connection: sqlite3.Connection, operations: Operations[T]) -> T:
    """Drive operations on one of our own connections, inside the transaction that is open."""
    execute = connection.execute

    def step(statement: Any) -> Any:
        if type(statement) is list:
            return [step(each) for each in statement]
        cursor = execute(statement.text, statement.values)
        return Result(cursor.fetchall() if cursor.description else [], cursor.rowcount)

    return drive(operations, step)
