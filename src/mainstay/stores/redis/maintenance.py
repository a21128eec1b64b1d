"""Maintenance: leases, orphans, retention, types and settings."""

from __future__ import annotations

import json
from collections import Counter
from itertools import starmap
from typing import TYPE_CHECKING

from ...core.errors import refuse_nul
from ...core.job import Attempt, Claimed, Declaration, TypeInfo
from ...core.outcome import DEATHS, INTERRUPTED
from ..results import Expired, Orphan, Pruned, Renewal
from . import header, record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...core.export import TypeRecord
    from ...core.job import WorkerInfo
    from .store import RedisStore

PRUNED = 500  # jobs deleted in one call, which blocks the server
_RETURNED = 2  # see statements/orphans.lua
_ROWS: record.Rows[Claimed] = record.Rows(Claimed, "payload")


def register(store: RedisStore, worker: WorkerInfo, declared: Sequence[Declaration] = ()) -> None:
    """Register a worker; its lease is as long as it says."""
    taken = header.dumps([each[:-1] for each in declared])
    described = header.dumps((worker.host, worker.pid, worker.slots, worker.queues, worker.types))
    lease = worker.expires_at - worker.started_at
    store.local_workers.hold(worker.id)
    try:
        store.server.run("register", [store.engine_now(worker.started_at), worker.id, described, lease, taken])
    except BaseException:
        store.local_workers.release(worker.id)
        raise


def renew(store: RedisStore, worker: str, now: int, lease: int, stopping: bool = False) -> Renewal:
    """Renew a lease; return whether it holds and which jobs were asked to stop."""
    alive, wanted, *found = store.server.run("renew", [store.engine_now(now), worker, lease, int(stopping)])
    return Renewal(alive == 1, list(zip(found[::2], found[1::2], strict=True)), wanted or None)


def ask_worker(store: RedisStore, worker: str, what: str, now: int, actor: str) -> bool:
    """Ask a worker to drain or to stop."""
    refuse_nul(actor=actor, worker=worker)
    line = header.dumps((now, actor, what, None, {"worker": worker}))
    return bool(store.server.run("ask_worker", [store.engine_now(now), worker, what, line]))


def deregister(store: RedisStore, worker: str) -> None:
    """Remove a worker."""
    store.server.run("deregister", [store.engine_now(0), worker, 0])
    store.local_workers.release(worker, keep=bool(store.claimed_by(worker)))


def orphans(store: RedisStore, now: int, grace: int, limit: int) -> list[Orphan]:
    """Remove workers whose lease is over, and return the jobs to take from workers."""

    def find() -> list[Orphan]:
        rows = store.server.run("orphans", [store.engine_now(now), grace, limit, _ROWS.request])
        jobs = [(_ROWS.read(row), gone) for gone, row in rows]
        returned.update(job.id for job, gone in jobs if gone == _RETURNED)
        return [Orphan(job, str(job.worker), gone > 0) for job, gone in jobs]

    def dead(worker: str) -> None:
        store.server.run("deregister", [store.engine_now(now), worker, 1])

    returned: set[str] = set()
    found = store.local_workers.orphans(dead, find, limit)
    # The worker lives, and dropped these jobs because the server stood still: no job is the cause.
    return [orphan._replace(begun=False) if orphan.job.id in returned else orphan for orphan in found]


def retract_crashes(store: RedisStore, jobs: Sequence[Claimed]) -> int:
    """Undo crashes that sweeps have counted; return how many."""
    values: list[object] = []
    for job in jobs:
        for line in store.server.read("LRANGE", f"attempt:{job.id}", 0, -1):
            was = Attempt(*json.loads(line))
            if (was.token, was.worker) == (job.token, job.worker) and was.outcome in DEATHS:
                ended = was._replace(outcome=INTERRUPTED.kind, error=INTERRUPTED.error)
                values += (job.seq, line, header.dumps(ended[:-1]), was.error, ended.error)
    retracted: int = store.server.run("retract_crashes", values) if values else 0
    return retracted


def expired(store: RedisStore, now: int, limit: int, hold: int = 0) -> list[Expired]:
    """Return up to `limit` ended jobs whose retention is over: first by age, then by number."""
    found = store.server.run("expired", [store.engine_now(now), limit, hold])
    return [Expired(seq, seq[record.SEQ :], at, None if until < 0 else until) for seq, at, until in found]


def prune_jobs(store: RedisStore, jobs: Sequence[Expired]) -> Pruned:
    """Delete those of the jobs that are as `expired` has returned them, a chunk at a time."""
    deleted, busy = 0, 0
    for start in range(0, len(jobs), PRUNED):
        some = jobs[start : start + PRUNED]
        marks = ((job.seq, job.finished_at, -1 if job.expires_at is None else job.expires_at) for job in some)
        found, us = store.server.run("prune_jobs", [value for mark in marks for value in mark])
        deleted, busy = deleted + found, busy + us
    return Pruned(deleted, busy / 1_000)


def prune(store: RedisStore, now: int, limit: int) -> int:
    """Delete up to `limit` ended jobs whose retention is over."""
    return prune_jobs(store, expired(store, now, limit)).jobs


def prune_actions(store: RedisStore, now: int, keep: int, limit: int) -> int:
    """Delete old entries of the audit trail, of the `limit` oldest."""
    deleted: int = store.server.run("prune_actions", [store.engine_now(now), keep, limit])
    return deleted


def register_types(store: RedisStore, types: Sequence[TypeInfo]) -> None:
    """Make types known."""
    values = [value for info in types for value in (info.name, info.seen_at, declaration(info))]
    if values:
        store.server.run("register_types", values)


def declaration(info: TypeInfo | TypeRecord) -> str:
    """Return what a type declares, as it is stored: the same text as long as that does not change."""
    policy = json.loads(info.policy) if isinstance(info.policy, str) else info.policy
    found = {"name": info.name, "queue": info.queue, "signature": info.signature, "policy": policy}
    return header.dumps(found | {"description": info.description, "takes": info.takes})


def types(store: RedisStore) -> list[TypeInfo]:
    """Return every type that was ever registered."""
    found: list[str] = store.server.read("HVALS", "type")
    return sorted((TypeInfo(**json.loads(text)) for text in found), key=lambda info: info.name)


def declarations(store: RedisStore, now: int, type: str | None = None, worker: str | None = None) -> list[Declaration]:
    """Return what the live workers that go on claiming take, or one live worker."""
    live = store.server.run("workers", [store.engine_now(now)])
    claiming = Counter(
        taken for id, _, renewals, _, _, taken in live if (id == worker if worker else "stopping" not in renewals)
    )
    found = Counter[Declaration]()
    for text, number in claiming.items():
        for each in starmap(Declaration, json.loads(text)):
            if type in (None, each.type):
                found[each] += number
    return sorted(each._replace(workers=number) for each, number in found.items())


def setting(store: RedisStore, name: str) -> str | None:
    """Return the value of a setting."""
    found: str | None = store.server.read("HGET", "setting", name)
    return found


def set_setting(
    store: RedisStore, name: str, value: str | None, description: str | None = None, now: int | None = None, actor: str = ""
) -> None:  # fmt: skip
    """Change or remove a setting. The hash `setting_note` has when it was changed, and what it is for."""
    audit = ""
    if actor:
        detail = {"name": name, "before": setting(store, name), "after": value}
        audit = header.dumps((now, actor, "setting", None, detail))
    given = ["" if now is None else now, "0" if description is None else "1", description or ""]
    store.server.run("set_setting", [name, value or "", *given, audit, "1" if value is None else "0"])


def seal(store: RedisStore) -> None:
    """Refuse programs without keys from now on, when they connect."""
    store.server.run("seal", [])


def note_of(text: str | None) -> tuple[str | None, int | None]:
    """Return what a setting is for, and when it was changed."""
    at, known, description = (text or " 0 ").split(" ", 2)
    return description if known == "1" else None, int(at) if at else None
