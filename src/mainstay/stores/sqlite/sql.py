"""SQLite's own statements: one file each in `statements/`, read when first used."""

from __future__ import annotations

import os

from ..operations import Result, drive

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from typing import Any, TypeVar

    from ..operations import Operations

    T = TypeVar("T")

FOLDER = os.path.join(os.path.dirname(__file__), "statements")
PARTS = os.path.join(os.path.dirname(__file__), os.pardir, "sql", "statements", "parts")  # what both SQL engines share
_cache: dict[str, str] = {}


def load(name: str) -> str:
    """Return the text of `statements/<name>.sql`, without its comments and with the admission step filled in."""
    text = _cache.get(name)
    if text is None:
        text = _cache[name] = _admitting(_read(name))
    return text


def _read(name: str, folder: str = FOLDER) -> str:
    with open(os.path.join(folder, name + ".sql"), encoding="utf-8") as file:
        return "".join(line for line in file if not line.startswith("--")).strip()


def _admitting(text: str) -> str:
    """Replace `{admit.state | run_at | now}` and `{admit.ord | run_at | now | place}` by the expressions of the admission step."""
    before, mark, after = text.partition("{admit.")
    if not mark:
        return text
    call, _, rest = after.partition("}")
    return before + admission(*call.split(" | ")) + _admitting(rest)


def admission(column: str, run_at: str, now: str, place: str = "") -> str:
    """Return the admission step's expression (`sql/statements/parts/admit.sql`) for the column `state` or `ord`, over these expressions."""
    lines = _cache.get("admit")
    if lines is None:
        lines = _cache["admit"] = _read("admit", PARTS)
    text = next(line for line in lines.splitlines() if line.startswith(column)).removeprefix(column + " = ")
    if run_at == "NULL":  # no comparison with it is true, and SQLite would make it for each row
        text = text.partition(" ELSE ")[2].removesuffix(" END")
    return text.replace("{run_at}", run_at).replace("{now}", now).replace("{place}", place)


def many(name: str, rows: int) -> str:
    """Return the statement with its one row of VALUES repeated: a batch costs half of what `executemany` does."""
    text = _cache.get(f"{name} {rows}")
    if text is None:
        before, values, after = load(name).partition("VALUES (")
        row, _, rest = after.partition(")")
        text = _cache[f"{name} {rows}"] = before + values + "), (".join([row] * rows) + ")" + rest
    return text


def batches(count: int) -> list[tuple[int, int]]:
    """Return a batch cut into pieces of 100, 10 and 1 rows, as (start, size): few texts for the statement cache."""
    pieces, start = [], 0
    for size in (100, 10, 1):
        while count - start >= size:
            pieces.append((start, size))
            start += size
    return pieces


def run(connection: sqlite3.Connection, operations: Operations[T]) -> T:
    """Drive operations on one of our own connections, inside the transaction that is open."""
    execute = connection.execute

    def step(statement: Any) -> Any:
        if type(statement) is list:
            return [step(each) for each in statement]
        cursor = execute(statement.text, statement.values)
        return Result(cursor.fetchall() if cursor.description else [], cursor.rowcount)

    return drive(operations, step)
