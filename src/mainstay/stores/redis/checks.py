"""Checks of a search: the conditions of the SQL engines, on a table in memory that holds some candidates.

So a term is written once (`stores/sql/search.py`) and has the same meaning on every engine.
"""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING, Any

from ...core.export import JobRecord
from ...core.job import Attempt
from ..sql import search as sql
from ..sqlite.dialect import DIALECT, difference
from . import header, record
from .record import LETTERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...core.search_terms import Term

_WORKER, _ERROR = Attempt._fields.index("worker"), Attempt._fields.index("error")
_TABLES = f"""
CREATE TABLE candidate (seq INTEGER PRIMARY KEY, attempts, codes, {", ".join(JobRecord._fields)});
CREATE VIEW mainstay_tag AS SELECT seq AS job, t.value AS tag FROM candidate, json_each(tags) t;
CREATE VIEW mainstay_attempt AS SELECT seq AS job, json_extract(a.value, '$[{_WORKER}]') AS worker,
json_extract(a.value, '$[{_ERROR}]') AS error, NULL AS code FROM candidate, json_each(attempts) a
UNION ALL SELECT seq, NULL, NULL, c.value FROM candidate, json_each(codes) c;
"""  # noqa: S608
_INSERT = f"INSERT INTO candidate VALUES (?, ?, ?{', ?' * len(JobRecord._fields)})"  # noqa: S608
_PASSED = "SELECT j.id FROM candidate j JOIN candidate b ON b.seq = j.seq WHERE {} ORDER BY j.seq"
UNSEEN = ("result", "children", "checkpoint", "bulks", "details", *record.PROGRESS)  # no term asks for these
_WITH_PAYLOAD: record.Rows[JobRecord] = record.Rows(JobRecord, *UNSEEN)
_WITHOUT_PAYLOAD: record.Rows[JobRecord] = record.Rows(JobRecord, "payload", *UNSEEN)
_STATES = {"retrying": "scheduled", "cancelling": "running"}


class Checks:
    """The terms that candidates have to pass; `request` says what the script `candidates` returns of them."""

    def __init__(self, terms: Sequence[Term], now: int, digests: bool = False) -> None:
        where, values = sql.joined(" AND ", [sql.check(term, now) for term in terms])
        self._passed = DIALECT.built((_PASSED.format(where), values))
        fields = {term.field for term in terms}
        self._rows = _WITH_PAYLOAD if "args" in fields else _WITHOUT_PAYLOAD
        asked = {term.field: [str(value) for value in term.values] for term in terms if not term.negated}
        self.request = header.dumps(self._rows.shape | {
            "digests": digests, "attempts": bool(fields & {"worker", "error", "text"}),
            "codes": "code" in fields, "types": asked.get("type", []),
            "states": "".join({LETTERS[_STATES.get(label, label)] for label in asked.get("state", ())}),
        })  # fmt: skip
        self._table = sqlite3.connect(":memory:", isolation_level=None)
        self._table.executescript(_TABLES)
        self._table.create_function("mainstay_difference", 3, difference, deterministic=True)
        self.close = self._table.close

    def passed(self, found: Sequence[Sequence[Any]]) -> list[str]:
        """Return the ids of the candidates that pass, in their order."""
        self._table.execute("DELETE FROM candidate")
        self._table.executemany(_INSERT, (self._row(n, *row) for n, row in enumerate(found)))
        return [row[0] for row in self._table.execute(*self._passed)]

    def _row(self, n: int, *row: Any) -> tuple[Any, ...]:
        *values, attempts, codes = row
        job = self._rows.read(values)
        return n, f"[{','.join(attempts)}]", json.dumps(codes), *job._replace(tags=json.dumps(job.tags))
