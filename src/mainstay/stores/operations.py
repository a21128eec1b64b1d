"""A verb as steps: a generator that yields statements and receives their answers, so that it runs on any connection.

The engine drives it on its own connection; `outbox` drives the same one on the caller's, sync or async. On the cold path
of every producer: nothing is imported that a bare interpreter with `sqlite3` lacks.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any, NamedTuple, TypeVar

    T = TypeVar("T")

    class Statement(NamedTuple):
        """One statement: its text in the engine's own spelling (`?` for SQLite, `$1` for PostgreSQL) and what is bound."""

        text: str
        values: Any = ()  # in order; SQLite takes names too

    class Result(NamedTuple):
        """What came of a step: the rows, and how many rows it touched."""

        rows: list[tuple[Any, ...]]
        count: int  # type: ignore[assignment]

    Operations = Generator[Statement, Result, T]
else:
    from collections import namedtuple

    Statement = namedtuple("Step", "text values", defaults=((),))  # noqa: PYI024  (`typing` is heavy)
    Result = namedtuple("Answer", "rows count")  # noqa: PYI024

    class Operations:
        """Stands for the alias above."""

        def __class_getitem__(cls, item: object) -> type:
            return cls
