"""How PostgreSQL spells a search (`stores/sql/search.py`)."""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING, Any

from ..operations import Statement
from ..sql import search as shared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...core.search_terms import Page, Term
    from .dialect import PostgresDialect
    from .store import PostgresStore

# E'…' reads the same whatever standard_conforming_strings says.
FRAGMENTS = {
    "id": "b.id", "created_at": "b.created_at", "seq": "job", "ids": "mainstay.body", "join": "JOIN",
    "ids_of": "SELECT b.id FROM ({selected}) s JOIN mainstay.body b ON b.job = ANY (ARRAY[s.seq]) ORDER BY s.seq DESC",
    "json_valid": "b.payload IS JSON AND strpos(b.payload, E'\\\\u0000') = 0",
    "json_type": "json_typeof(b.payload::json #> ?::text[])",
    "json_value": '((b.payload::json #>> ?::text[]) COLLATE "C")', "json_literal": "(b.payload::json #> ?::text[])::text",
}  # fmt: skip
# Searches differ too much for one plan to serve them all, so the planner may use values and statistics here. It still may
# not scan a whole table.
PLANNED = Statement(
    "SELECT set_config(u.name, 'on', true), set_config('plan_cache_mode', 'force_custom_plan', true) FROM unnest($1::text[]) "
    "AS u(name)", (["enable_bitmapscan", "enable_hashjoin", "enable_mergejoin", "enable_sort"],)
)  # fmt: skip
_HINT = re.compile(r" INDEXED BY \S+")


def search(store: PostgresStore, terms: Sequence[Term], limit: int, after: str | None, now: int) -> Page:
    """Return the ids of the jobs for which every term holds, newest first."""
    return store.write(lambda: shared.search(dialect(store.dialect), terms, limit, after, now))


def dialect(own: PostgresDialect) -> shared.Dialect:
    """Return the dialect of one schema."""

    def spell(text: str) -> str:
        numbers = count(1)
        return re.sub(r"\?", lambda _: f"${next(numbers)}", own.with_schema(_HINT.sub("", text)))

    return shared.Dialect(FRAGMENTS, spell, _bind, PLANNED)


def _bind(value: Any) -> str:
    """Return the value as text: the statement casts it."""
    if isinstance(value, tuple):
        return "{" + ",".join('"' + part.replace("\\", "\\\\") + '"' for part in value) + "}"
    return str(value)
