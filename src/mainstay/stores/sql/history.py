"""Jobs with all that belongs to them: out of the store, one by one, and into it as history."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from ...core.export import ActionRecord, AttemptRecord, JobHistory, JobRecord, LogRecord
from ..history import settled
from ..operations import together
from .actions import AUDIT
from .dialect import column_types
from .move import job_statements
from .reads import get_many, log_records

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..operations import Operations
    from .dialect import Dialect
    from .store import SqlStore


def export_jobs(store: SqlStore, ids: Sequence[str]) -> list[JobHistory]:
    """Return the jobs that exist, with their attempts, log lines and the actions of operators."""
    return settled(ids, lambda some: store.read(_histories(store.dialect, some)), lambda some: get_many(store, some))


def _histories(dialect: Dialect, ids: list[str]) -> Operations[list[JobHistory]]:
    rows = (yield dialect.statement("history_jobs", ids=ids)).rows
    seqs, jobs = [row[-1] for row in rows], [JobRecord._make(row[:-1]) for row in rows]
    attempts = _of(AttemptRecord, (yield dialect.statement("history_attempts", seqs=seqs)).rows)
    logs = _of(LogRecord, log_records((yield dialect.statement("history_logs", seqs=seqs)).rows))
    actions = yield from _actions(dialect, jobs)
    return [JobHistory(job, attempts.get(job.id, []), logs.get(job.id, []), actions[job.id]) for job in jobs]


def _of(kind: Any, rows: Sequence[tuple[Any, ...]]) -> dict[str, list[Any]]:
    """Return rows as records, by their job."""
    return {job: list(map(kind._make, some)) for job, some in groupby(rows, key=itemgetter(0))}


def _actions(dialect: Dialect, jobs: Sequence[JobRecord]) -> Operations[dict[str, list[ActionRecord]]]:
    """Return the actions of each job, by itself and with others, in their order."""
    rows = (yield dialect.statement("history_actions", ids=[job.id for job in jobs])).rows
    bulks = sorted({bulk for job in jobs for bulk in (job.bulks or "").split()})
    rows += (yield dialect.statement("actions_bulk", bulks=bulks)).rows if bulks else []
    places: dict[str, list[Any]] = {job.id: [] for job in jobs}
    of_bulk = {row[-2]: row for row in rows if row[-2] is not None}
    for row in rows:
        if row[3] in places:
            places[row[3]].append(row)
    for job in jobs:
        places[job.id] += [of_bulk[bulk] for bulk in (job.bulks or "").split() if bulk in of_bulk]
    return {
        id: [ActionRecord._make(row[:-1]) for row in sorted(some, key=itemgetter(-1))] for id, some in places.items()
    }


def import_jobs(store: SqlStore, histories: Sequence[JobHistory]) -> list[str]:
    """Insert the jobs that do not exist, all or none; return their ids."""
    return store.write(lambda: _import(store.dialect, histories)) if histories else []


def _import(dialect: Dialect, histories: Sequence[JobHistory]) -> Operations[list[str]]:
    ids = [history.job.id for history in histories]
    there = {row[0] for row in (yield dialect.statement("seqs", ids=ids)).rows}
    new = [history for history in histories if history.job.id not in there]
    if not new:
        return []
    yield from together(*(yield from job_statements(dialect, [history.job for history in new])))
    seqs = dict((yield dialect.statement("seqs", ids=[history.job.id for history in new])).rows)
    lines = (yield from _actions(dialect, [history.job for history in new])).values()
    known = {each.bulk or each for some in lines for each in some}
    attempts = [(seqs[job], *row) for history in new for job, *row in history.attempts]
    logs = [(seqs[job], *row) for history in new for job, *row in history.logs]
    actions = {each.bulk or each: each for history in new for each in history.actions}  # a bulk action has one line
    yield from together(
        *dialect.insert("attempt", column_types(AttemptRecord) | {"job": "bigint"}, attempts),
        *dialect.insert("log", column_types(LogRecord) | {"job": "bigint"}, logs),
        *dialect.insert(
            "action", AUDIT, sorted((each for key, each in actions.items() if key not in known), key=itemgetter(0))
        ),
    )
    return [history.job.id for history in new]


def record_action(store: SqlStore, action: ActionRecord) -> None:
    """Add a line to the audit trail."""
    store.single(together(*store.dialect.insert("action", AUDIT, [action])))
