"""PostgreSQL's form of the statements: its own in `statements/`, and those that it shares with SQLite.

They join with `= ANY (ARRAY[x])` instead of `= x`. Both look up the other table's index for each row. But an equality also
lets the planner scan the whole index of the other table, which seems as cheap while the statistics know of no rows, and a
plan is kept until they change. With the array there is one possible plan. And no statement sorts by a table's column
after a join: the planner would scan the whole index for its order.
"""

from __future__ import annotations

import os
import re
from itertools import count
from typing import TYPE_CHECKING, Any

from ...core.errors import ConfigError
from ...core.tally import ATTEMPTS, BOUNDS
from ..operations import Statement
from ..sql.dialect import Dialect
from . import columns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...core.draft import Draft
    from ...core.export import JobRecord
    from ...core.tally import Counts
    from ..operations import Operations

FOLDER = os.path.join(os.path.dirname(__file__), "statements")
SCHEMA = "mainstay"
# E'…' reads the same whatever standard_conforming_strings says.
FRAGMENTS = {
    "writer": "writer,", "nobody": "0,",
    "bounds": f"ARRAY{list(BOUNDS)}::bigint[]", "buckets": str(len(BOUNDS)), "tries": f"ARRAY{list(ATTEMPTS)}::bigint[]",
    "ids": "mainstay.body", "number": "job", "end_": "{take}", "end_choose": "{choose}", "end_take_free": "{take_free}", "released_": "",
    "admission_lock": "hashtextextended('mainstay.admission', 0)",
    "charged": """(j.rules LIKE '%"rates"%' OR j.rules LIKE '%"fair"%')""",
    "statement_now": "coalesce(:now::bigint, floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint)",
    "now": "(SELECT coalesce(:now::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint))",
    "for_update": "FOR NO KEY UPDATE OF j", "lock_rows": "FOR UPDATE", "free_rows": "FOR UPDATE SKIP LOCKED", "skip_locked": "FOR UPDATE OF j SKIP LOCKED",
    "indexed_ids": "mainstay.body", "join": "JOIN", "look_up_job": "CROSS JOIN LATERAL (SELECT * FROM mainstay.job x WHERE x.seq = c.seq OFFSET 0) j",
    "look_up_body": "CROSS JOIN LATERAL (SELECT * FROM mainstay.body x WHERE x.job = c.seq OFFSET 0) b", "ids_of": "SELECT b.id FROM",
    "newest_first": "s JOIN mainstay.body b ON b.job = ANY (ARRAY[s.seq]) ORDER BY s.seq DESC",
    "json_valid": "b.payload IS JSON AND strpos(b.payload, E'\\\\u0000') = 0",
    "json_type": "json_typeof(b.payload::json #> ?::text[])",
    "seqs": "SELECT value::bigint AS seq FROM json_array_elements_text(?::json)",
    "difference": "(b.payload::json #>> ?::text[])::numeric - ?::numeric",
    "json_value": '((b.payload::json #>> ?::text[]) COLLATE "C")', "json_literal": "(b.payload::json #> ?::text[])::text",
}  # fmt: skip
# -1 stands for a key that is held while its job is alive. SQLite has no NaN and only one zero, so neither has PostgreSQL.
COLUMNS = {
    "lock_until": "nullif(j.lock_until, -1)",
    "done": "nullif(p.done + 0.0, 'NaN')", "total": "nullif(p.total + 0.0, 'NaN')",
}  # fmt: skip
# Searches differ too much for one plan to serve them all, so the planner may use values and statistics here. It still may
# not scan a whole table.
PLANNED = Statement(
    "SELECT set_config(u.name, 'on', true), set_config('plan_cache_mode', 'force_custom_plan', true) FROM unnest($1::text[]) "
    "AS u(name)", (["enable_bitmapscan", "enable_hashjoin", "enable_mergejoin", "enable_sort"],)
)  # fmt: skip
_HINT = re.compile(r" INDEXED BY \S+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}", re.ASCII)
_PREFIX = re.compile(r"\bmainstay\.")
_PARAMETER = re.compile(r"(?<!:):([a-z]\w*)")


class PostgresDialect(Dialect):
    """The statements in one schema. Parameters are numbered in the order in which they come first."""

    search_settings = PLANNED
    writers = True

    def __init__(self, schema: str) -> None:
        if not _NAME.fullmatch(schema):
            raise ConfigError(f"schema={schema!r}: give a plain name of letters, digits and _, such as {SCHEMA}")
        super().__init__(FOLDER, columns.BODY, FRAGMENTS | columns.FRAGMENTS, COLUMNS)
        self.schema = schema
        self._texts: dict[str, tuple[str, list[str]]] = {}

    def late_fragments(self) -> Mapping[str, str]:
        from .outcome_columns import FRAGMENTS

        return FRAGMENTS

    def with_schema(self, text: str) -> str:
        """Return a text that says `mainstay.job` with the name of this schema."""
        return text if self.schema == SCHEMA else _PREFIX.sub(f'"{self.schema}".', text)

    def statement(self, name: str, /, **values: Any) -> Statement:
        text, names = self._texts.get(name) or self.numbered(name)
        return Statement(text, tuple(map(values.__getitem__, names)))

    def numbered(self, name: str) -> tuple[str, list[str]]:
        """Return the text of a statement and the names of its parameters."""
        text = self.with_schema(self.template(name))
        names = list(dict.fromkeys(_PARAMETER.findall(text)))
        text = _PARAMETER.sub(lambda each: f"${names.index(each[1]) + 1}", text)
        self._texts[name] = text, names
        return text, names

    def built(self, sql: tuple[str, tuple[Any, ...]]) -> Statement:
        numbers = count(1)
        text = self.with_schema(_HINT.sub("", self.fill(sql[0])))
        return Statement(re.sub(r"\?", lambda _: f"${next(numbers)}", text), tuple(map(_bound, sql[1])))

    def insert(self, table: str, columns: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> list[Statement]:
        return self._each(f"INSERT INTO mainstay.{table} ({', '.join(columns)}) SELECT * FROM {{}}", columns, rows)  # noqa: S608

    def delete(self, table: str, columns: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> list[Statement]:
        """Return one statement. It looks each row up by itself: joined, PostgreSQL 16 reads all rows that share the first column."""
        names, same = ", ".join(columns), " AND ".join(f"x.{name} = u.{name}" for name in columns)
        found = f"SELECT x.ctid FROM mainstay.{table} x WHERE {same} OFFSET 0"  # noqa: S608
        text = f"DELETE FROM mainstay.{table} t USING {{}} AS u({names}) CROSS JOIN LATERAL ({found}) x WHERE t.ctid = x.ctid"  # noqa: S608
        return self._each(text, columns, rows)

    def update(
        self, table: str, key: str, columns: Mapping[str, str], rows: Sequence[Sequence[Any]]
    ) -> list[Statement]:
        given = ", ".join(f"{name} = u.{name}" for name in columns)
        text = f"UPDATE mainstay.{table} t SET {given} FROM {{}} AS u({key}, {', '.join(columns)}) WHERE t.{key} = ANY (ARRAY[u.{key}])"  # noqa: S608
        return self._each(text, {key: "bigint", **columns}, rows)

    def upsert(self, table: str, columns: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> list[Statement]:
        key, *rest = columns
        changed = ", ".join(f"{name} = excluded.{name}" for name in rest)
        text = f"INSERT INTO mainstay.{table} ({', '.join(columns)}) SELECT * FROM {{}}"  # noqa: S608
        return self._each(f"{text} ON CONFLICT ({key}) DO UPDATE SET {changed}", columns, rows)

    def _each(self, text: str, columns: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> list[Statement]:
        """Return one statement for all rows, which it gets as an array a column."""
        arrays = ", ".join(f"${place}::{kind}[]" for place, kind in enumerate(columns.values(), 1))
        values = tuple(map(list, zip(*rows, strict=True)))
        return [Statement(self.with_schema(text.format(f"unnest({arrays})")), values)] if rows else []

    def tally(self, counts: Counts) -> list[Statement]:
        from .outcome_columns import counts as columns_of

        return [self.statement("tally", **columns_of(counts))] if counts else []

    def enqueue(self, drafts: Sequence[Draft], now: int) -> Operations[Any]:
        from .enqueue import enqueue_operations

        return enqueue_operations(self, drafts, now, ignore_conflicts=True)

    def stored(self, record: JobRecord) -> JobRecord:
        """Return a record with `lock_until` as PostgreSQL keeps it: NULL for no key, -1 for one held while the job is alive."""
        until = None if record.key is None else -1 if record.lock_until is None else record.lock_until
        return record._replace(lock_until=until)


def _bound(value: Any) -> str:
    """Return the value as text: the statement casts it."""
    if isinstance(value, tuple):
        return "{" + ",".join('"' + part.replace("\\", "\\\\") + '"' for part in value) + "}"
    return str(value)
