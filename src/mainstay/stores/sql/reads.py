"""Jobs, their history, counts and workers: short reads that hold no cursor and count no history."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

from ...core.export import LogRecord
from ...core.history import place_of
from ...core.job import Action, Attempt, Claimed, Count, Job, LogLine, Rule, WorkerInfo, history
from ...core.log_lines import loaded as loaded_fields, unpack
from ...core.updates import WARNED, Line
from .store import rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .store import SqlStore

T = TypeVar("T")
NEWEST = (1 << 63) - 1  # above the number of any action


def _strings(text: str | None) -> tuple[str, ...]:
    return tuple(json.loads(text)) if text else ()


def _mapping(text: str | None) -> dict[str, Any]:
    return json.loads(text) if text else {}


# Fields that are stored in another form.
_LOADED: dict[str, Callable[[Any], Any]] = {
    "tags": _strings, "queues": _strings, "types": _strings, "fields": _mapping, "detail": _mapping, "stopping": bool,
    "cancelling": bool,
}  # fmt: skip


@cache
def _places(record: Any) -> list[tuple[int, Callable[[Any], Any]]]:
    return [(place, _LOADED[field]) for place, field in enumerate(record._fields) if field in _LOADED]


def loaded(record: Any, row: Sequence[Any]) -> Any:
    """Return a row as a record: JSON read, SQLite's 0 and 1 as booleans."""
    values = list(row)
    for place, load in _places(record):
        values[place] = load(values[place])
    return record._make(values)


def _all(store: SqlStore, record: type[T], name: str, /, **values: Any) -> list[T]:
    return [loaded(record, row) for row in store.read(rows(store, name, **values))]


def value(store: SqlStore, name: str, /, **values: Any) -> str | None:
    """Return the only column of the only row of a statement, or None."""
    found = store.read(rows(store, name, **values))
    return found[0][0] if found else None


def get_many(store: SqlStore, ids: Sequence[str]) -> list[Job]:
    """Return those of the jobs that exist, in the order asked."""
    if not ids:
        return []
    found = {job.id: job for job in _all(store, Job, "get", ids=list(dict.fromkeys(ids)))}
    return [found[job] for job in ids if job in found]


def find(store: SqlStore, prefix: str, limit: int) -> list[str]:
    """Return ids that start with a prefix, newest first."""
    return [row[0] for row in store.read(rows(store, "find", prefix=prefix, limit=limit))]


def claimed_by(store: SqlStore, worker: str) -> list[Claimed]:
    """Return the running jobs that a worker holds."""
    found = store.read(rows(store, "claimed_by", worker=worker), by_worker=True)
    return [loaded(Claimed, row) for row in found]


def result(store: SqlStore, job_id: str) -> str | None:
    """Return what a job returned, as JSON."""
    return value(store, "body:result", id=job_id)


def checkpoint(store: SqlStore, job_id: str) -> str | None:
    """Return the last checkpoint of a job, as JSON."""
    return value(store, "body:checkpoint", id=job_id)


def attempts(store: SqlStore, job_id: str) -> list[Attempt]:
    """Return every attempt: the recorded ones, then the one that runs or that completed."""
    found = get_many(store, [job_id])
    return history(found[0], _all(store, Attempt, "attempts", id=job_id)) if found else []


def logs(store: SqlStore, job_id: str, after: int, limit: int) -> list[LogLine]:
    """Return log lines in order, without the first `after`."""
    found = store.read(rows(store, "logs", id=job_id, after=after, limit=limit)) if limit > 0 else []
    lines = [
        LogLine(line.at, token, line.level, line.stage, line.message, loaded_fields(line.fields))
        for *values, token, count, _ in found
        for line in unpack(Line._make(values), count)
    ]
    first = int(found[0][-1]) - (found[0][-2] or 1) if found else 0  # lines before the first row
    return lines[after - first : after - first + limit] if found else []


def log_records(found: Sequence[Sequence[Any]]) -> list[LogRecord]:
    """Return rows of logs, behind each how many lines it has, line by line."""
    return [
        LogRecord(job, token, *line)
        for job, token, *values, count in found
        for line in unpack(Line._make(values), count)
    ]


def warnings(store: SqlStore, since: int, limit: int, after: str | None = None) -> tuple[list[LogRecord], str | None]:
    """Return lines of logs, the newest warnings and errors first, and where the next ones begin."""
    at, job, token, n = map(int, after.split()) if after else (NEWEST,) * 4
    found = store.read(rows(store, "warnings", since=since, limit=limit, at=at, job=job, token=token, n=n))
    lines = [line for line in log_records([row[:-1] for row in found]) if line.level in WARNED and line.at >= since]
    return lines, found[-1][-1] if len(found) == limit else None


def actions(store: SqlStore, job_id: str | None, limit: int) -> list[Action]:
    """Return what operators did, newest first."""
    if job_id is None:
        return [action for _, action in audit(store, limit)]
    found = store.read(rows(store, "actions_job", job=job_id, limit=limit))
    for (bulks,) in store.read(rows(store, "bulks", id=job_id)):
        found += store.read(rows(store, "actions_bulk", bulks=bulks.split()))
    found.sort(key=itemgetter(-1), reverse=True)
    return [loaded(Action, row[: len(Action._fields)]) for row in found[:limit]]


def audit(store: SqlStore, limit: int, before: int | None = None) -> list[tuple[int, Action]]:
    """Return lines of the audit trail before a number, newest first."""
    found = store.read(rows(store, "actions", limit=limit, before=NEWEST if before is None else before))
    return [(row[-1], loaded(Action, row[:-1])) for row in found]


def counts(store: SqlStore, cap: int) -> list[Count]:
    """Return the numbers of jobs by queue, type and label; at most `cap` jobs of each state are read."""
    found, seen = store.read(rows(store, "counts", cap=cap)), Counter[str]()
    for state, *_, jobs, _ in found:
        seen[state] += jobs
    return [Count._make((*row, seen[state] >= cap)) for state, *row in found]  # of such a state there may be more


def ended(store: SqlStore, since: int, limit: int, after: str | None = None) -> tuple[list[str], str | None]:
    """Return the jobs that ended last."""
    at, seq = place_of(after, numbered=True) if after else (NEWEST, NEWEST)
    found = store.read(rows(store, "ended", since=since, limit=limit, at=at, seq=min(int(seq), NEWEST)))
    found.sort(reverse=True)
    return [job for *_, job in found], f"{found[-1][0]}:{found[-1][1]}" if len(found) == limit else None


def workers(store: SqlStore) -> list[WorkerInfo]:
    """Return the registered workers, oldest first; one that died on this machine has no lease left."""
    return store.local_workers.with_deaths(registered(store))


def registered(store: SqlStore) -> list[WorkerInfo]:
    """Return the registered workers as they are stored, oldest first."""
    return _all(store, WorkerInfo, "workers")


def rules(store: SqlStore, kinds: Sequence[str], name: str | None = None) -> list[Rule]:
    """Return the rules of these kinds, or those of one name."""
    if name is None:
        found = store.read(rows(store, "rules", kinds=list(kinds)))
    else:
        found = [row for kind in kinds for row in store.read(rows(store, "rules_named", kind=kind, names=[name]))]
    return [Rule(kind, name, json.loads(value), *who) for kind, name, value, *who in found]
