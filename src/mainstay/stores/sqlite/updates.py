"""What running attempts report: one statement finds the attempts that may write, a few write for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.updates import Checkpoint, Log, Progress
from .sql import batched, load

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence
    from typing import Any

    from ...core.updates import Update

    Attempt = tuple[int | str, int]  # seq, token

_STATEMENTS: dict[type, str] = {Log: "update_log", Progress: "update_progress", Checkpoint: "update_checkpoint"}


def write_updates(connection: sqlite3.Connection, updates: Sequence[Update]) -> None:
    """Write updates in order; one of an attempt that no longer holds its job changes nothing."""
    attempts = {update[:2] for update in updates}
    known = current(connection, attempts)
    written = updates if len(known) == len(attempts) else [update for update in updates if update[:2] in known]
    for kind, name in _STATEMENTS.items():
        rows: list[Any] = [update for update in written if type(update) is kind]
        for statement in batched(load(name), rows):
            connection.execute(statement.text, statement.values)


def current(connection: sqlite3.Connection, attempts: set[Attempt]) -> set[Attempt]:
    """Return those of the attempts that hold their jobs, or have completed them."""
    seqs = str(sorted({seq for seq, _ in attempts}))  # a list of numbers is JSON
    return attempts.intersection(connection.execute(load("update_current"), {"seqs": seqs}))
