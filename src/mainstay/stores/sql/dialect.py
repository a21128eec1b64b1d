"""Statements that SQLite and PostgreSQL share, written once and translated for each engine.

A shared statement is a file in `statements/`; a file of the same name in the engine's own folder wins. It is written in PostgreSQL's form:

- Tables are `mainstay.job`, parameters have a name and a type: `:now::bigint`, `:ids::text[]`.
- A join is `= ANY (ARRAY[x])`, which leaves PostgreSQL one possible plan (docs/decisions/0017-one-plan.md).
- `{keep}` is a column of a job at the table in which the engine keeps it: `j` is `mainstay.job`, `b` is `mainstay.body`.
- `{Job}` is a select list of all fields of that record, `{w.WorkerInfo}` the same with every field at the table `w`.
- `{now}`, `{for_update}` and so on are fragments: below, the engine's own, or a file in its folder `parts`.
- `{admit.state | run_at | now | held}`, `{admit.ord | run_at | now | place}` and `{admit.waits | run_at | now | held | waits}` are the
  admission step (`parts/admit.sql`) over these expressions: no statement makes a job queued or scheduled, or gives it a place in the
  order, in another way.
"""

from __future__ import annotations

import os
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from ..operations import SHARED, admitted, read

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ...core import export
    from ...core.draft import Draft
    from ...core.tally import Counts
    from ..operations import Operations, Statement

# Fields of a job that are no column of their own name; with a record before it, a field of that record only.
COLUMNS = {
    "result": "r.body", "children": "r.children", "checkpoint": "c.body", "done": "p.done", "total": "p.total", "stage": "p.stage",
    "details": "p.details",
    "error": "(SELECT a.error FROM mainstay.attempt a WHERE a.job = j.seq AND a.error IS NOT NULL "
             "ORDER BY a.token DESC LIMIT 1)",
    "code": "(SELECT a.code FROM mainstay.attempt a WHERE a.job = j.seq AND (a.error IS NOT NULL OR a.code IS NOT NULL) "
            "ORDER BY a.token DESC LIMIT 1)",
    "bulks": "(SELECT x.bulks FROM mainstay.acted x WHERE x.job = j.seq)",
    "review": "(SELECT v.body FROM mainstay.review v WHERE v.job = j.seq)",
    "cancelling": "j.cancel_at IS NOT NULL", "rank": "-j.priority", "Orphaned.payload": "''",
    "AttemptRecord.job": "i.id", "LogRecord.job": "i.id",
    "WorkerInfo.running": "(SELECT count(*) FROM mainstay.job j WHERE j.state = 'running' AND j.worker = w.id)",
}  # fmt: skip
FRAGMENTS = {
    "lease_now": "{now}",
    "seq_of_id": "(SELECT {number} FROM {ids} WHERE id = :id::text)",
    "gone": "NOT EXISTS (SELECT 1 FROM mainstay.worker w WHERE w.id = j.worker)",
    "orphaned": "({gone} OR j.started_at + {timeout} + :grace::bigint < {now})",
    "retained": "CASE WHEN j.lock_until > :now::bigint + {kept_for} THEN j.lock_until ELSE :now::bigint + {kept_for} END",
    "kept_for": "CASE :state::text WHEN 'dead' THEN j.keep_dead WHEN 'cancelled' THEN coalesce(j.keep_cancelled, {keep}) ELSE {keep} END",
}
_FRAGMENT = re.compile(r"\{(?:(\w+)\.)?(\w+)\}")
_TYPES = {"int": "bigint", "str": "text", "float": "double precision"}


@cache
def records() -> dict[str, Any]:
    """Return the records that a statement may name, by name. A producer names none, and does not import them."""
    from ...core import change, export, job, updates

    read = (job.Job, job.Claimed, job.Attempt, job.LogLine, job.Action, job.WorkerInfo, change.Standing, updates.Line)
    found: dict[str, Any] = {kind.__name__: kind for kind in (*export.PARTS.values(), *read)}
    return found | {"Orphaned": job.Claimed}  # a sweep needs no payload


class Dialect:
    """One engine's form of the shared statements.

    `body` names the columns of a job that stand in `mainstay.body`; all others stand in `mainstay.job`. Of the `fragments`, `ids`
    is the table that has `id` and `lock`, and `number` its column for a job's seq. `columns` is as COLUMNS, for this engine.
    """

    search_settings: Statement | None = None  # run before a search that has terms
    writers = False  # whether each session has counters of its own
    one_writer = False  # whether a transaction that writes excludes all others that do

    def __init__(
        self, folder: str, body: Collection[str], fragments: Mapping[str, str], columns: Mapping[str, str] | None = None
    ) -> None:
        self.body, self._folder = body, folder
        self._fragments, self._columns = {**FRAGMENTS, **fragments}, {**COLUMNS, **(columns or {})}

    def late_fragments(self) -> Mapping[str, str]:
        """Return fragments that a producer does not need, and that import what it does not need either."""
        return {}

    def statement(self, name: str, /, **values: Any) -> Statement:
        """Return a statement by name, with its parameters bound."""
        raise NotImplementedError

    def built(self, sql: tuple[str, tuple[Any, ...]]) -> Statement:
        """Return a statement made at run time, with `?` for a value; a tuple among the values is a path into a payload."""
        raise NotImplementedError

    def insert(self, table: str, columns: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> list[Statement]:
        """Return the statements that insert rows; `columns` maps names to types."""
        raise NotImplementedError

    def delete(self, table: str, columns: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> list[Statement]:
        """Return the statements that delete rows by their primary key, given as for `insert`."""
        raise NotImplementedError

    def update(
        self, table: str, key: str, columns: Mapping[str, str], rows: Sequence[Sequence[Any]]
    ) -> list[Statement]:
        """Return the statements that change rows; each is given as its key, a number, and the values of the columns."""
        raise NotImplementedError

    def upsert(self, table: str, columns: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> list[Statement]:
        """Return the statements that insert rows, or change the one with the same first column."""
        raise NotImplementedError

    def tally(self, counts: Counts) -> list[Statement]:
        """Return the statements that add to counters."""
        raise NotImplementedError

    def enqueue(self, drafts: Sequence[Draft], now: int) -> Operations[Any]:
        """Enqueue the children of a job that completes: one whose key is taken is left out."""
        raise NotImplementedError

    def stored(self, record: export.JobRecord) -> export.JobRecord:
        """Return a job's record with the values that this engine keeps in its columns."""
        return record

    def template(self, name: str) -> str:
        """Return a statement with its fragments filled in, not yet translated. `remove:log` is `remove`, `{table}` being `log`."""
        name, _, table = name.partition(":")
        return admitted(self.fill(self._read(name).replace("{table}", table)))

    def fill(self, text: str) -> str:
        """Return a text with its fragments filled in."""
        while _FRAGMENT.search(text):
            text = _FRAGMENT.sub(lambda found: self._fragment(*found.groups()), text)
        return text

    def _read(self, name: str) -> str:
        return read(self._folder if self._has(name) else SHARED, name)

    def _has(self, name: str) -> bool:
        return os.path.exists(os.path.join(self._folder, name + ".sql"))

    def _fragment(self, table: str | None, name: str) -> str:
        if name[0].isupper():
            return ", ".join(self._column(field, table, name) for field in records()[name]._fields)
        if name in self._fragments:
            return self._fragments[name]
        part = os.path.join("parts", name)
        return self._read(part) if self._has(part) else self.late_fragments().get(name) or self._column(name, table)

    def _column(self, field: str, table: str | None, record: str = "") -> str:
        special = self._columns.get(f"{record}.{field}")
        if special or table:
            return special or f"{table}.{field}"
        return self._columns.get(field) or f"{'b' if field in self.body else 'j'}.{field}"


def column_types(record: Any, *names: str) -> dict[str, str]:
    """Return the fields of a record, or those named, and the types of their columns."""
    hints = record.__annotations__
    return {name: _TYPES[hints[name].__forward_arg__.split()[0]] for name in names or record._fields}
