"""A verb as steps: a generator that yields statements and receives their answers, so that it runs on any connection.

The engine drives it on its own connection; `outbox` drives the same one on the caller's, sync or async.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


class Step(NamedTuple):
    """One statement: its text in the engine's own spelling (`?` for SQLite, `$1` for PostgreSQL) and what is bound."""

    text: str
    values: Sequence[Any] = ()


class Answer(NamedTuple):
    """What came of a step: the rows, and how many rows it touched."""

    rows: list[tuple[Any, ...]]
    count: int


Steps = Generator[Step, Answer, T]
