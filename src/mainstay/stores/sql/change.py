"""Changes of jobs that wait or have ended: another queue, priority, time or payload. `core/change.py` decides what follows."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

from ...core.change import CHANGED, STALE, Altered, Edit, Standing, altered, refusal
from ...core.export import KeyRecord
from ...core.limits import effective
from ...core.rules import EXAMINE, EXAMINE_NEW
from ...core.states import WAITING
from ..operations import OLD_WORK, together
from .actions import audit, taken_keys, verb_of
from .admission import give_back, wake
from .dialect import column_types
from .enqueue import count_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from ...core.bulk import Bulk
    from ...core.change import Wish
    from ...core.search_terms import Term
    from ..operations import Operations, Statement
    from .actions import Change, Locked
    from .dialect import Dialect
    from .store import SqlStore

ROW = column_types(Standing, "queue", "priority", "ord", "run_at", "rules")
BODY, KEY = {"payload": "text", "key": "text"}, column_types(KeyRecord)


def change(
    store: SqlStore, ids: Sequence[str], now: int, actor: str, wish: Wish, terms: Sequence[Term] = (),
    bulk: Bulk | None = None, note: str = "",
) -> dict[str, str]:  # fmt: skip
    """Change jobs that do not run; return what became of each."""
    return verb_of(partial(_change, wish), CHANGED)(store, ids, now, actor, terms, bulk, note)


def _change(wish: Wish, by: Change, found: dict[str, Locked]) -> Operations[dict[str, str]]:
    refused = {job.id: why for job in found.values() if (why := refusal(wish, job.id, job.state))}
    jobs = {job.id: job for job in found.values() if job.id not in refused}
    if not jobs:
        return refused
    standing = yield from _standing(by.dialect, jobs.values())
    stale = yield from _stale(by.dialect, wish.edits or {}, jobs)
    of_queues = yield from _queue_rules(by.dialect, wish, standing.values())
    made: dict[str, Altered] = {}
    for job in jobs.values():
        before, edit = standing[job.seq], (wish.edits or {}).get(job.id)
        of_queue = of_queues.get(wish.queue or before.queue, {})
        result = altered(wish, before, job.type, job.state, edit, of_queue, by.now)
        if job.id in stale or isinstance(result, str):
            refused[job.id] = STALE if job.id in stale else str(result)
        else:
            made[job.id] = result
    refused |= yield from _change_keys(by, wish.edits or {}, {job: jobs[job] for job in made})
    changed = {jobs[job]: result for job, result in made.items() if job not in refused}
    if changed:
        yield from _write(by, wish, changed)
    return {job.id: refused.get(job.id, CHANGED) for job in found.values()}


# what has to be known -------------------------------------------------------------------------------------------------
def _standing(dialect: Dialect, jobs: Iterable[Locked]) -> Operations[dict[int, Standing]]:
    rows = (yield dialect.statement("standing", seqs=[job.seq for job in jobs])).rows
    return {seq: Standing(*row) for seq, *row in rows}


def _stale(dialect: Dialect, edits: Mapping[str, Edit], jobs: Mapping[str, Locked]) -> Operations[set[str]]:
    """Return the jobs whose payload is another than the one that was edited."""
    if not edits:
        return set()
    rows = (yield dialect.statement("payloads", seqs=[job.seq for job in jobs.values()])).rows
    payloads = dict(rows)
    return {job.id for job in jobs.values() if payloads[job.seq] != edits[job.id].was}


def _queue_rules(dialect: Dialect, wish: Wish, jobs: Iterable[Standing]) -> Operations[dict[str, dict[str, Any]]]:
    """Return the rules of the queues that jobs enter, or in which they get another priority."""
    if wish.queue is None and wish.priority is None:
        return {}
    names = sorted({wish.queue} if wish.queue is not None else {job.queue for job in jobs})
    rows = (yield dialect.statement("rules_named", kind="queue", names=names)).rows
    return {name: effective(json.loads(value)) for _, name, value, *_ in rows}


# keys that follow from the payload ------------------------------------------------------------------------------------
def _change_keys(by: Change, edits: Mapping[str, Edit], jobs: Mapping[str, Locked]) -> Operations[dict[str, str]]:
    """Let jobs hold the keys of their edited payloads; return those whose key another job has, and what to say about each.

    A key that was taken for ever stays taken; the new one is taken for ever too.
    """
    names = {job: key for job, each in jobs.items() if job in edits and (key := edits[job].key) and key != each.key}
    forever = yield from _forever(by, [jobs[job] for job in names])
    wanted = {job: _lock(jobs[job], key) for job, key in names.items() if jobs[job].lock is not None or job in forever}
    taken = yield from taken_keys(by.dialect, wanted, names)
    free = {job: lock for job, lock in wanted.items() if job not in taken}
    kept = [(names[job], jobs[job].type, job, by.now) for job in free if job in forever]
    yield from together(
        *(
            by.statement("lock_key", seq=jobs[job].seq, lock=lock)
            for job, lock in free.items()
            if jobs[job].lock is not None
        ),
        *by.dialect.insert("key", KEY, kept),
    )
    return taken


def _forever(by: Change, jobs: Iterable[Locked]) -> Operations[set[str]]:
    """Return the jobs that have taken their key for ever."""
    found = set()
    for job in jobs:
        held = (yield by.statement("held_key", key=job.key, type=job.type)).rows
        if held and held[0][0] == job.id:
            found.add(job.id)
    return found


def _lock(job: Locked, key: str) -> str:
    """Return the lock for another key: as long as the one that the job holds."""
    return f"{job.type}:{key}{(job.lock or '').removeprefix(f'{job.type}:{job.key}')}"


# writing --------------------------------------------------------------------------------------------------------------
def _write(by: Change, wish: Wish, changed: Mapping[Locked, Altered]) -> Operations[None]:
    waiting = {job: each for job, each in changed.items() if job.state in WAITING}
    freed = yield from give_back(by.dialect, [(job.seq, job.rules) for job in waiting if job.rules])
    rows = [(job.seq, *(getattr(each.now, name) for name in ROW)) for job, each in changed.items()]
    yield from together(
        *by.dialect.update("job", "seq", ROW, rows),
        *_payloads(by, wish.edits or {}, changed),
        *audit(by, wish.action, [(job, each.detail | by.noted) for job, each in changed.items()]),
    )
    for waits in (EXAMINE, EXAMINE_NEW):
        seqs = [job.seq for job, each in waiting.items() if each.waits == waits]
        if seqs:
            yield by.statement("change", seqs=seqs, now=by.now, waits=waits)
    if wish.queue is not None and waiting:
        yield from count_in(by.dialect, wish.queue, len(waiting))
    yield from wake(by.dialect, freed)


def _payloads(by: Change, edits: Mapping[str, Edit], jobs: Iterable[Locked]) -> list[Statement]:
    """Return the statements that write payloads, and remove what attempts at the old work have left."""
    edited = [(job.seq, edits[job.id].payload, edits[job.id].key or job.key) for job in jobs if job.id in edits]
    if not edited:
        return []
    seqs = [seq for seq, *_ in edited]
    old = [by.statement(f"remove:{table}", seqs=seqs) for table in OLD_WORK]
    return [*by.dialect.update("body", "job", BODY, edited), *old]
