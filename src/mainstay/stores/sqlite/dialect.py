"""SQLite's form of the shared statements."""

from __future__ import annotations

import json
import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from ..operations import Statement
from ..sql.dialect import Dialect
from .inserts import BODY
from .sql import FOLDER, batched, filled, spacious, tally

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...core.draft import Draft
    from ...core.tally import Counts
    from ..operations import Operations

FRAGMENTS = {
    "writer": "", "nobody": "",
    "ids": "mainstay.job", "number": "seq", "now": ":now", "lease_now": ":lease_now", "for_update": "", "skip_locked": "", "lock_rows": "", "free_rows": "",
    "indexed_ids": "mainstay.job INDEXED BY sqlite_autoindex_mainstay_job_1",
    "ids_of": "SELECT id FROM mainstay.job s WHERE seq IN", "newest_first": "ORDER BY s.seq DESC",
    "join": "CROSS JOIN",  # keeps the order of the tables: the candidates of a search first
    "look_up_job": "CROSS JOIN mainstay.job j ON j.seq = c.seq", "look_up_body": "CROSS JOIN mainstay.body b ON b.job = c.seq",
    "json_valid": "json_valid(b.payload)", "json_type": "json_type(b.payload, ?)",
    "seqs": "SELECT value AS seq FROM json_each(?)",
    "difference": "mainstay_difference(b.payload, ?, ?)", "json_value": "json_extract(b.payload, ?)", "json_literal": "json_type(b.payload, ?)",
}  # fmt: skip
# PostgreSQL's form and SQLite's, in this order.
_FORMS = (
    (re.compile('COLLATE "C" ILIKE'), "LIKE"),
    (re.compile(r"\?::numeric"), "CAST(? AS NUMERIC)"),  # a number given as text; other values need no cast
    (re.compile(r"= ANY \(ARRAY\[([^\]]+)\]\)"), r"= \1"),
    (re.compile(r"= ANY \((:\w+)::\w+\[\]\)"), r"IN (SELECT value FROM json_each(\1))"),
    (re.compile(r"::(?:double precision|\w+)(?:\[\])?"), ""),
    (re.compile(r"\bmainstay\."), "mainstay_"),
    (re.compile(r"starts_with\(([\w.]+), \?\)"), r"instr(\1, ?) = 1"),
)


class SqliteDialect(Dialect):
    """Parameters stay named, lists are bound as JSON, and casts go: a STRICT table knows its types."""

    one_writer = True

    def __init__(self) -> None:
        super().__init__(FOLDER, BODY, FRAGMENTS)
        self._texts: dict[str, str] = {}

    def text(self, name: str) -> str:
        """Return the text of a statement."""
        if name not in self._texts:
            self._texts[name] = translated(self.template(name))
        return self._texts[name]

    def statement(self, name: str, /, **values: Any) -> Statement:
        bound = {key: json.dumps(value) if isinstance(value, list) else value for key, value in values.items()}
        return Statement(self.text(name), bound)

    def built(self, sql: tuple[str, tuple[Any, ...]]) -> Statement:
        values = ("$" + "".join(f'."{part}"' for part in v) if isinstance(v, tuple) else v for v in sql[1])
        return Statement(translated(self.fill(sql[0])), tuple(values))

    def insert(self, table: str, columns: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> list[Statement]:
        binds = ", ".join("?" * len(columns))
        return batched(f"INSERT INTO mainstay_{table} ({', '.join(columns)}) VALUES ({binds})", rows)  # noqa: S608

    def delete(self, table: str, columns: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> list[Statement]:
        """Return statements in which each row is looked up by itself. Given a list, SQLite walks through the whole table."""
        names = tuple(columns)
        return [
            Statement(_deletion(table, names, size), filled(rows[start : start + size], size, len(names)))
            for start, size in spacious(len(rows))
        ]

    def update(
        self, table: str, key: str, columns: Mapping[str, str], rows: Sequence[Sequence[Any]]
    ) -> list[Statement]:
        given = ", ".join(f"{name} = v.column{place}" for place, name in enumerate(columns, 2))
        binds = ", ".join("?" * (len(columns) + 1))
        return batched(
            f"UPDATE mainstay_{table} SET {given} FROM (VALUES ({binds})) AS v WHERE {key} = v.column1",  # noqa: S608
            rows,
        )

    def upsert(self, table: str, columns: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> list[Statement]:
        key, *rest = columns
        changed = ", ".join(f"{name} = excluded.{name}" for name in rest)
        text = f"INSERT INTO mainstay_{table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"  # noqa: S608
        return batched(f"{text} ON CONFLICT ({key}) DO UPDATE SET {changed}", rows)

    def tally(self, counts: Counts) -> list[Statement]:
        return tally(counts)

    def enqueue(self, drafts: Sequence[Draft], now: int) -> Operations[Any]:
        from .enqueue import enqueue_operations

        return enqueue_operations(drafts, now, ignore_conflicts=True)


@cache
def _deletion(table: str, columns: tuple[str, ...], rows: int) -> str:
    one = f"({' AND '.join(f'{name} = ?' for name in columns)})"
    return f"DELETE FROM mainstay_{table} WHERE {' OR '.join([one] * rows)}"  # noqa: S608


@lru_cache(100)  # a search takes 20 to 150 µs
def translated(text: str) -> str:
    """Return a text in PostgreSQL's form as SQLite writes it."""
    for form, ours in _FORMS:
        text = form.sub(ours, text)
    return text


def difference(payload: str, path: str, value: str) -> int:
    """Return -1, 0 or 1: whether the number at a path is below, equal to or above a number. SQLite's own have 64 bits."""
    from decimal import Decimal

    found: Any = json.loads(payload, parse_int=Decimal, parse_float=Decimal)
    for part in re.findall('"([^"]*)"', path):
        found = found[part]
    other = Decimal(value)
    return int(found > other) - int(found < other)


DIALECT = SqliteDialect()
