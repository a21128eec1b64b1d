"""Texts of a job in another form that says the same: for the rotation of encryption keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..operations import together

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...core.export import Rewrite
    from ..operations import Operations, Statement
    from .dialect import Dialect
    from .store import SqlStore

# The table and the column of each text.
PLACES = {
    "payload": ("body", "payload"), "reason": ("job", "reason"), "result": ("result", "body"), "children": ("result", "children"),
    "checkpoint": ("checkpoint", "body"), "review": ("review", "body"), "error": ("attempt", "error"),
    "traceback": ("attempt", "traceback"), "message": ("log", "message"), "fields": ("log", "fields"),
}  # fmt: skip


def rewrite(store: SqlStore, job_id: str, texts: Sequence[Rewrite]) -> None:
    """Replace texts that are still what they were."""
    store.write(lambda: _rewrite(store.dialect, job_id, texts))


def _rewrite(dialect: Dialect, job_id: str, texts: Sequence[Rewrite]) -> Operations[None]:
    found = (yield dialect.statement("seqs", ids=[job_id])).rows
    yield from together(*(_update(dialect, seq, each) for _, seq in found for each in texts))


def _update(dialect: Dialect, seq: int, text: Rewrite) -> Statement:
    table, column = PLACES[text.column]
    number = "seq" if table == "job" else "job"
    where = {number: seq, column: text.was, "token": text.token, "n": text.n}
    known = {name: value for name, value in where.items() if value is not None}
    conditions = " AND ".join(f"{name} = ?" for name in known)
    return dialect.built((f"UPDATE mainstay.{table} SET {column} = ? WHERE {conditions}", (text.now, *known.values())))  # noqa: S608
