"""An installation row by row: out of this store, or into it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ...core import rules
from ...core.errors import Conflict
from ...core.export import ANOTHER, PARTS, Batch, JobRecord
from ...core.job import field_getter
from ...core.review import due
from ...core.states import QUEUED, RUNNING
from ..operations import together
from .actions import ASKED
from .dialect import column_types
from .keys import export_keys
from .reads import log_records
from .store import rows
from .tallies import export_tallies, gathered
from .webhooks import export_deliveries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..operations import Operations, Statement
    from .dialect import Dialect
    from .store import SqlStore

    Row = tuple[Any, ...]
    Numbered = list[tuple[int, JobRecord]]

CURSOR = ("after", "after2", "after3")
WHOLE = ("types", "settings", "rules")  # parts of few rows: exported at once
SIZE = 4 << 20  # characters of texts in one batch of jobs; the first job comes however large it is
# Fields of a job that have tables of their own.
BESIDE = ("result", "children", "checkpoint", "done", "total", "stage", "details", "bulks", "review")
PROGRESS = ("done", "total", "stage", "details")


OWN = {"keys": export_keys, "tallies": export_tallies, "deliveries": export_deliveries}
TABLES = {"deliveries": "delivery"}  # of parts that are not called as their table with an s


def export_rows(store: SqlStore, part: str, after: str | None, limit: int) -> Batch:
    """Return the next rows of a part."""
    if part in WHOLE:
        return Batch(store.read(rows(store, part if part == "types" else f"export_{part}")), None)
    if part in OWN:
        return OWN[part](store, after, limit)
    places = [int(number) for number in after.split()] if after else []
    cursor = dict.fromkeys(CURSOR, -1) | dict(zip(CURSOR, places, strict=False))
    found = store.read(rows(store, f"export_{part}", **cursor, limit=limit, size=SIZE))
    exported: list[Row] = [row[:-1] for row in found]
    return Batch(list(log_records(exported)) if part == "logs" else exported, found[-1][-1] if found else None)


def import_rows(store: SqlStore, part: str, rows: Sequence[Row], was: str, mark: str) -> None:
    """Insert rows as they are, with the mark of how far the move is."""
    store.write(lambda: _import(store.dialect, part, rows, was, mark))


def _import(dialect: Dialect, part: str, rows: Sequence[Row], was: str, mark: str) -> Operations[None]:
    if not (yield dialect.statement("import_mark", was=was, mark=mark)).count:
        raise Conflict(ANOTHER)
    table, types = TABLES.get(part, part.removesuffix("s")), column_types(PARTS[part])
    if part == "jobs":
        statements = yield from job_statements(dialect, [JobRecord._make(row) for row in rows])
    elif part in ("attempts", "logs"):
        seqs = dict((yield dialect.statement("seqs", ids=list({row[0] for row in rows}))).rows)
        known = [(seqs[job], *row) for job, *row in rows if job in seqs]
        statements = dialect.insert(table, types | {"job": "bigint"}, known)
    elif part == "tallies":
        statements = dialect.tally(gathered(rows))
    elif part == "after":
        seqs = dict((yield dialect.statement("seqs", ids=list({id for row in rows for id in row}))).rows)
        linked = [(seqs[parent], seqs[child], parent) for parent, child in rows if parent in seqs and child in seqs]
        statements = dialect.insert(table, {"parent": "bigint", "child": "bigint", "id": "text"}, linked)
    else:
        statements = dialect.insert(table, types, rows)
    if statements:
        yield from together(*statements)


def job_statements(dialect: Dialect, records: list[JobRecord]) -> Operations[list[Statement]]:
    """Return the statements for jobs and what stands beside them, numbered in the order given."""
    numbers = yield dialect.statement("import_seqs", ids=[record.id for record in records])
    jobs = list(zip(sorted(row[0] for row in numbers.rows), map(dialect.stored, records), strict=True))
    return [*_columns(dialect, "job", "seq", jobs), *_columns(dialect, "body", "job", jobs), *_beside(dialect, jobs)]


def _columns(dialect: Dialect, table: str, number: str, jobs: Numbered) -> list[Statement]:
    kept = [name for name in JobRecord._fields if name not in BESIDE]
    names = [name for name in kept if (name in dialect.body) == (table == "body")]
    values, columns = field_getter(JobRecord, *names), {number: "bigint"} | column_types(JobRecord, *names)
    return dialect.insert(table, columns, [(seq, *values(record)) for seq, record in jobs])


def _held(job: JobRecord) -> list[str]:
    """Return the slots that a job holds. One that waits for its rate takes its slot again when it is due."""
    carried = rules.unpack(job.rules) if job.state in (QUEUED, RUNNING) else {}
    return rules.limit_slots(carried) + (rules.rate_slots(carried) if job.state == QUEUED else [])


def _beside(dialect: Dialect, jobs: Numbered) -> list[Statement]:
    """Return the statements for results, checkpoints, progress and tags. When the last two were written is not moved."""
    of_job, written = {"job": "bigint"}, {"job": "bigint", "token": "bigint", "at": "bigint"}
    results = [(seq, job.result, job.children) for seq, job in jobs if job.result is not None]
    checkpoints = [(seq, job.token, job.created_at, job.checkpoint) for seq, job in jobs if job.checkpoint is not None]
    progress = [(seq, job.token, job.created_at, *(getattr(job, name) for name in PROGRESS)) for seq, job in jobs]
    said = [row for row in progress if any(value is not None for value in row[3:])]
    tags = [(tag, seq) for seq, job in jobs for tag in dict.fromkeys(json.loads(job.tags or "[]"))]
    return [
        *dialect.insert("result", of_job | {"body": "text", "children": "text"}, results),
        *dialect.insert("checkpoint", written | {"body": "text"}, checkpoints),
        *dialect.insert("progress", written | column_types(JobRecord, *PROGRESS), said),
        *dialect.insert("tag", {"tag": "text"} | of_job, tags),
        *dialect.insert("hold", {"slot": "text"} | of_job, [(slot, seq) for seq, job in jobs for slot in _held(job)]),
        *dialect.insert("review", ASKED, [(seq, due(job.review), job.review) for seq, job in jobs if job.review]),
        *dialect.insert("acted", of_job | {"bulks": "text"}, [(seq, job.bulks) for seq, job in jobs if job.bulks]),
    ]
