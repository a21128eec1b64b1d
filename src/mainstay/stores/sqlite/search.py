"""How SQLite spells a search (`stores/sql/search.py`)."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..sql import search as shared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...core.search_terms import Page, Term
    from .store import SqliteStore

FRAGMENTS = {
    "id": "j.id", "created_at": "j.created_at", "seq": "seq",
    "ids": "mainstay.job INDEXED BY sqlite_autoindex_mainstay_job_1",
    "ids_of": "SELECT id FROM mainstay.job WHERE seq IN ({selected}) ORDER BY seq DESC",
    "seqs": "SELECT value AS seq FROM json_each(?)",
    "join": "CROSS JOIN",  # keeps the order of the tables: the candidates first
    "json_valid": "json_valid(b.payload)", "json_type": "json_type(b.payload, ?)",
    "difference": "mainstay_difference(b.payload, ?, ?)", "json_value": "json_extract(b.payload, ?)", "json_literal": "json_type(b.payload, ?)",
}  # fmt: skip
# What PostgreSQL writes, and SQLite. A value needs a cast only where a number is given as text.
SPELLINGS = (
    ('COLLATE "C" ILIKE', "LIKE"), (r"\?::numeric", "CAST(? AS NUMERIC)"), (r"::\w+", ""), (r"\bmainstay\.", "mainstay_"),
    (r"ANY \(ARRAY\[([\w.]+)\]\)", r"\1"), (r"starts_with\(([\w.]+), \?\)", r"instr(\1, ?) = 1"),
)  # fmt: skip


def search(store: SqliteStore, terms: Sequence[Term], limit: int, after: str | None, now: int) -> Page:
    """Return the ids of the jobs for which every term holds, newest first."""
    return store.read(shared.search(DIALECT, terms, limit, after, now))


@lru_cache(100)  # a text takes 20 to 150 µs
def _spell(text: str) -> str:
    for theirs, ours in SPELLINGS:
        text = re.sub(theirs, ours, text)
    return text


def _bind(value: Any) -> Any:
    return "$" + "".join(f'."{part}"' for part in value) if isinstance(value, tuple) else value


def difference(payload: str, path: str, value: str) -> int:
    """Return -1, 0 or 1: whether the number at a path is below, equal to or above a number. SQLite's own have 64 bits."""
    from decimal import Decimal

    found: Any = json.loads(payload, parse_int=Decimal, parse_float=Decimal)
    for part in re.findall('"([^"]*)"', path):
        found = found[part]
    other = Decimal(value)
    return int(found > other) - int(found < other)


DIALECT = shared.Dialect(FRAGMENTS, _spell, _bind)
