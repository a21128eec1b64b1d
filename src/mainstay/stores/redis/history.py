"""Jobs with all that belongs to them: out of the store, one by one, and into it as history."""

from __future__ import annotations

import json
from itertools import chain
from typing import TYPE_CHECKING, Any

from ...core.export import ActionRecord, JobHistory
from ..history import settled
from .move import attempt_of, packed_action, packed_attempt, packed_job, packed_log, records
from .reads import get_many, log_lines, with_codes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...core.export import JobRecord
    from .store import RedisStore


def export_jobs(store: RedisStore, ids: Sequence[str]) -> list[JobHistory]:
    """Return the jobs that exist, with their attempts, log lines and the actions of operators."""
    return settled(ids, lambda some: _histories(store, some), lambda some: get_many(store, some))


def _histories(store: RedisStore, ids: list[str]) -> list[JobHistory]:
    jobs: list[JobRecord] = []
    while ids:
        looked, found = records(store, ids)
        jobs += found
        ids = ids[looked:]
    asked = [
        (("LRANGE", f"attempt:{job.id}", 0, -1), ("HGETALL", f"codes:{job.id}"), ("ZRANGE", f"log:{job.id}", 0, -1))
        for job in jobs
    ]
    rows = iter(store.server.on_keys(list(chain.from_iterable(asked))))
    actions = _actions(store, jobs)
    return [
        JobHistory(
            job,
            with_codes([attempt_of(job.id, line) for line in attempts], codes),
            [line for member in logs for line in log_lines(job.id, member)],
            actions[job.id],
        )
        for job, attempts, codes, logs in zip(jobs, rows, rows, rows, strict=True)
    ]


def _actions(store: RedisStore, jobs: Sequence[JobRecord]) -> dict[str, list[ActionRecord]]:
    """Return the actions of each job, by itself and with others, in their order."""
    server = store.server
    own = server.on_keys([("ZRANGEBYLEX", "acted", f"[{job.id}\0", f"({job.id}\1") for job in jobs])
    bulks = list({bulk for job in jobs for bulk in (job.bulks or "").split()})
    places = dict(zip(bulks, server.read("HMGET", "bulk", *bulks) if bulks else (), strict=True))
    numbers: dict[str, dict[int, str | None]] = {
        job.id: {int(member[len(job.id) + 1 :], 16): None for member in members}
        | {int(places[bulk]): bulk for bulk in (job.bulks or "").split() if places[bulk] is not None}
        for job, members in zip(jobs, own, strict=True)
    }
    wanted = sorted({number for some in numbers.values() for number in some})
    lines = dict(zip(wanted, server.read("HMGET", "action", *wanted) if wanted else (), strict=True))
    return {
        id: [_action(lines[number], some[number]) for number in sorted(some) if lines[number] is not None]
        for id, some in numbers.items()
    }


def _action(line: str, bulk: str | None) -> ActionRecord:
    at, actor, action, job, detail = json.loads(line)
    return ActionRecord(int(at), actor, action, job, json.dumps(detail), bulk)


def import_jobs(store: RedisStore, histories: Sequence[JobHistory]) -> list[str]:
    """Insert the jobs that do not exist, all or none; return their ids."""
    if not histories:
        return []
    known = {each for some in _actions(store, [history.job for history in histories]).values() for each in some}
    rows: list[Any] = [value for history in histories for value in ("job", *packed_job(*history.job))]
    for job, attempts, logs, actions in histories:
        rows += (value for row in attempts for value in ("attempt", *packed_attempt(*row)))
        rows += (value for row in logs for value in ("log", *packed_log(*row)))
        rows += (value for row in actions if row not in known for value in ("action", job.id, packed_action(*row)[1]))
    imported: list[str] = store.server.run("import_jobs", rows)
    return imported


def record_action(store: RedisStore, action: ActionRecord) -> None:
    """Add a line to the audit trail."""
    store.server.run("record_action", list(packed_action(*action)))
