"""What running attempts report: one statement finds the attempts that may write, a few write for all of them."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

from ...core.updates import Checkpoint, Log, Progress
from .sql import batched, load

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence, Set as AbstractSet
    from typing import Any

    from ...core.updates import Update

    Attempt = tuple[int | str, int]  # seq, token

_ATTEMPT = itemgetter(0, 1)  # of every kind of update
_STATEMENTS: dict[type, str] = {Log: "update_log", Progress: "update_progress", Checkpoint: "update_checkpoint"}


def write_updates(
    connection: sqlite3.Connection, updates: Sequence[Update], known: AbstractSet[Attempt] = frozenset()
) -> None:
    """Write updates in order; one of an attempt that no longer holds its job changes nothing. Of the `known` it is sure that they do."""
    unsure = set(map(_ATTEMPT, updates)) - known
    refused = unsure - current(connection, unsure) if unsure else unsure
    written = [each for each in updates if each[:2] not in refused] if refused else updates
    kinds = set(map(type, written))
    for kind, name in _STATEMENTS.items():
        if kind in kinds:
            rows: Any = [each for each in written if type(each) is kind] if len(kinds) > 1 else written
            for statement in batched(load(name), rows):
                connection.execute(statement.text, statement.values)


def current(connection: sqlite3.Connection, attempts: set[Attempt]) -> set[Attempt]:
    """Return those of the attempts that hold their jobs, or have completed them."""
    seqs = str(sorted({seq for seq, _ in attempts}))  # a list of numbers is JSON
    return attempts.intersection(connection.execute(load("update_current"), {"seqs": seqs}))
