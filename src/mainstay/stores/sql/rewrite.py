"""Texts of a job in another form that says the same: for the rotation of encryption keys."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ...core.updates import Line
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
    "traceback": ("attempt", "traceback"), "message": ("log", "message"), "fields": ("log", "fields"), "details": ("progress", "details"),
}  # fmt: skip


def rewrite(store: SqlStore, job_id: str, texts: Sequence[Rewrite]) -> None:
    """Replace texts that are still what they were."""
    store.write(lambda: _rewrite(store.dialect, job_id, texts))


def _rewrite(dialect: Dialect, job_id: str, texts: Sequence[Rewrite]) -> Operations[None]:
    for _, seq in (yield dialect.statement("seqs", ids=[job_id])).rows:
        yield from together(*(_update(dialect, seq, each) for each in texts))
        tokens = sorted({each.token for each in texts if each.n is not None and each.token is not None})
        for token in tokens:
            yield from _several(dialect, seq, token, [each for each in texts if each.token == token])


def _several(dialect: Dialect, seq: int, token: int, texts: Sequence[Rewrite]) -> Operations[None]:
    """Replace texts of lines that share a row (`core.log_lines`)."""
    new = {(each.n, each.column, each.was): each.now for each in texts}
    select = "SELECT n, message FROM mainstay.log WHERE job = ? AND token = ? AND lines IS NOT NULL"
    for n, message in (yield dialect.built((select, (seq, token)))).rows:
        lines = [Line._make(each) for each in json.loads(message)]
        made = [
            line._replace(
                message=new.get((line.n, "message", line.message), line.message),
                fields=new.get((line.n, "fields", line.fields or ""), line.fields),
            )
            for line in lines
        ]
        if made != lines:
            text = json.dumps(made, ensure_ascii=False, separators=(",", ":"))
            update = "UPDATE mainstay.log SET message = ? WHERE job = ? AND token = ? AND n = ? AND message = ?"
            yield dialect.built((update, (text, seq, token, n, message)))


def _update(dialect: Dialect, seq: int, text: Rewrite) -> Statement:
    table, column = PLACES[text.column]
    number = "seq" if table == "job" else "job"
    where = {number: seq, column: text.was, "token": text.token, "n": text.n}
    known = {name: value for name, value in where.items() if value is not None}
    conditions = " AND ".join(f"{name} = ?" for name in known)
    return dialect.built((f"UPDATE mainstay.{table} SET {column} = ? WHERE {conditions}", (text.now, *known.values())))  # noqa: S608
