"""What keeps the store healthy: leases, orphans, retention, registered types, settings."""

from __future__ import annotations

import json
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ...core.errors import refuse_nul
from ...core.job import Claimed, Declaration, TypeInfo
from ...core.outcome import INTERRUPTED
from ...core.states import DEAD
from ..operations import together
from ..results import Expired, Orphan, Pruned, Renewal
from .actions import AUDIT, removal
from .reads import claimed_by, loaded, value
from .store import rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...core.job import WorkerInfo
    from ..operations import Operations
    from .dialect import Dialect
    from .store import SqlStore

LAST = "\U0010ffff"  # sorts behind every type and state
DECLARATION = {"worker": "text", "type": "text", "version": "bigint", "signature": "text", "takes": "text"}


def _single(store: SqlStore, name: str, /, **values: object) -> None:
    store.single(rows(store, name, **values))


# workers --------------------------------------------------------------------------------------------------------------
def register(store: SqlStore, worker: WorkerInfo, declared: Sequence[Declaration] = ()) -> None:
    """Register a worker; its lease begins now. Removes what workers declared that are gone."""
    taken = [(worker.id, *each[:-1]) for each in declared]
    store.local_workers.hold(worker.id)  # before the row: a sweep that sees the row tries the lock
    try:
        statement = store.dialect.statement(
            "register", id=worker.id, host=worker.host, pid=worker.pid, slots=worker.slots,
            queues=json.dumps(worker.queues), types=json.dumps(worker.types), now=store.engine_now(worker.started_at),
            beat=store.engine_now(worker.beat_at), lease=worker.expires_at - worker.started_at,
        )  # fmt: skip
        gone = store.dialect.statement("forget_declarations", worker=worker.id)
        store.single(together(gone, statement, *store.dialect.insert("declaration", DECLARATION, taken)))
    except BaseException:
        store.local_workers.release(worker.id)
        raise


def renew(store: SqlStore, worker: str, now: int, lease: int, stopping: bool = False) -> Renewal:
    """Renew a lease; return whether it holds and which jobs were asked to stop."""
    bound = {"worker": worker, "now": store.engine_now(now), "lease": lease, "stopping": stopping}
    renewal = store.dialect.statement("renew", **bound, lease_now=store.lease_now(now))
    cancelling = store.dialect.statement("renew_cancelling", worker=worker)
    renewed, found = store.single(together(renewal, cancelling), by_worker=True)
    return Renewal(bool(renewed.rows), found.rows, *(renewed.rows[0] if renewed.rows else ()))


def ask_worker(store: SqlStore, worker: str, what: str, now: int, actor: str) -> bool:
    """Ask a worker to drain or to stop."""
    refuse_nul(actor=actor, worker=worker)
    asked = store.write(lambda: _ask(store, worker, what, now, actor))
    if asked:
        store.notify("cancel")
    return asked


def _ask(store: SqlStore, worker: str, what: str, now: int, actor: str) -> Operations[bool]:
    bound = {"worker": worker, "what": what, "now": store.engine_now(now), "lease_now": store.lease_now(now)}
    if not (yield store.dialect.statement("ask_worker", **bound)).count:
        return False
    line = (now, actor, what, None, json.dumps({"worker": worker}), None)
    yield from together(*store.dialect.insert("action", AUDIT, [line]))
    return True


def deregister(store: SqlStore, worker: str) -> None:
    """Remove a worker; the jobs it still holds are orphans from now on."""
    _single(store, "deregister", worker=worker)
    store.local_workers.release(worker, keep=bool(claimed_by(store, worker)))


def orphans(store: SqlStore, now: int, grace: int, limit: int) -> list[Orphan]:
    """Return running jobs whose worker is gone or that are far past their timeout. Removes workers whose lease has expired."""

    def find() -> list[Orphan]:
        bound = {"now": store.engine_now(now), "grace": grace, "lease_now": now - store.stalled()}
        if not store.read(rows(store, "orphans_look", **bound), by_worker=True):
            return []  # nearly always: no need for a write lock
        return store.write(lambda: _find(store, now, {**bound, "limit": limit}), by_worker=True)

    return store.local_workers.orphans(lambda worker: _single(store, "deregister", worker=worker), find, limit)


def _find(store: SqlStore, now: int, bound: dict[str, int | None]) -> Operations[list[Orphan]]:
    statement = store.dialect.statement
    late = (yield statement("late_workers", **bound)).rows
    spared = store.spared(late, now) if late else []
    yield statement("deregister_expired", **bound, spared=spared)
    found = [(loaded(Claimed, columns), gone) for *columns, gone in (yield statement("orphans", **bound)).rows]
    return [Orphan(job, job.worker or "", bool(gone)) for job, gone in found]


def retract_crashes(store: SqlStore, jobs: Sequence[Claimed]) -> int:
    """Undo crashes that sweeps have counted; return how many."""
    return store.write(lambda: _retract(store, sorted(jobs)), by_worker=True)


def _retract(store: SqlStore, jobs: list[Claimed]) -> Operations[int]:
    retracted = 0
    for job in jobs:
        bound = {"seq": job.seq, "token": job.token}
        if (yield store.dialect.statement("retract_crash", **bound, worker=job.worker)).count:
            ended = {"outcome": INTERRUPTED.kind, "error": INTERRUPTED.error}
            yield store.dialect.statement("retract_attempt", **bound, **ended)
            retracted += 1
    return retracted


# retention ------------------------------------------------------------------------------------------------------------
def expired(store: SqlStore, now: int, limit: int, hold: int = 0) -> list[Expired]:
    """Return up to `limit` ended jobs whose retention is over: first by age, then by number. Selects without a write lock."""
    engine_now = store.engine_now(now)
    found = store.read(_expired(store.dialect, engine_now, limit), by_worker=True)
    if not hold or not found:
        return found
    return store.write(lambda: _held(store.dialect, found, engine_now, hold), by_worker=True)


def _expired(dialect: Dialect, now: int | None, limit: int) -> Operations[list[Expired]]:
    found = (yield dialect.statement("expired", now=now, limit=limit)).rows
    type = state = LAST
    while len(found) < limit:
        groups = (yield dialect.statement("kept_group", type=type, state=state)).rows
        if not groups:
            break
        type, state, last, keep_dead = groups[0]
        if state != DEAD or keep_dead is not None:
            group: dict[str, Any] = {"type": type, "state": state, "last": last}
            found += (yield dialect.statement("kept_beyond", **group, now=now, limit=limit - len(found))).rows
    return list({row[0]: Expired._make(row) for row in found}.values())  # a job may be over by both


def _held(dialect: Dialect, jobs: list[Expired], now: int | None, hold: int) -> Operations[list[Expired]]:
    same, at = yield from _same(dialect, jobs, now)
    if same:
        yield dialect.statement("prune_hold", seqs=[job.seq for job in same], until=at + hold)
    return [job._replace(expires_at=at + hold) for job in same]


def _same(dialect: Dialect, jobs: Sequence[Expired], now: int | None) -> Operations[tuple[list[Expired], int]]:
    """Lock jobs; return those that are as they were and that no other process has locked, and the present."""
    rows = (yield dialect.statement("prune_lock", seqs=sorted(job.seq for job in jobs), now=now)).rows
    marks = {seq: mark for seq, *mark, _ in rows}
    return [job for job in jobs if marks.get(job.seq) == [*job[2:]]], rows[0][-1] if rows else 0


def prune_jobs(store: SqlStore, jobs: Sequence[Expired]) -> Pruned:
    """Delete those of the jobs that are as `expired` has returned them. The wait for SQLite's write lock is not counted."""
    if not jobs:
        return Pruned(0, 0.0)
    removed, begun = store.write(lambda: _prune(store.dialect, jobs), by_worker=True)
    return Pruned(removed, (perf_counter() - begun) * 1_000)


def _prune(dialect: Dialect, jobs: Sequence[Expired]) -> Operations[tuple[int, float]]:
    """Delete jobs; return how many, and when the transaction had begun."""
    begun = perf_counter()
    same, _ = yield from _same(dialect, jobs, None)
    seqs = sorted(int(job.seq) for job in same)
    if seqs:
        yield from removal(dialect, seqs)
    return len(seqs), begun


def prune(store: SqlStore, now: int, limit: int) -> int:
    """Delete up to `limit` ended jobs whose retention is over."""
    return prune_jobs(store, expired(store, now, limit)).jobs


def prune_actions(store: SqlStore, now: int, keep: int, limit: int) -> int:
    """Delete old lines of the audit trail, of the `limit` oldest."""
    found = store.read(rows(store, "prune_actions", now=store.engine_now(now), keep=keep, limit=limit), by_worker=True)
    if found:  # a line never changes its age: no lock is needed
        store.single(rows(store, "remove_actions", ns=[n for (n,) in found]), by_worker=True)
    return len(found)


# types and settings ---------------------------------------------------------------------------------------------------
def register_types(store: SqlStore, types: Sequence[TypeInfo]) -> None:
    """Make types known; of one that is named twice the last counts."""
    found = [info._asdict() | {"policy": json.dumps(info.policy)} for info in sorted(types, key=lambda info: info.name)]
    store.single(together(*(store.dialect.statement("register_types", **each) for each in found)))


def types(store: SqlStore) -> list[TypeInfo]:
    """Return every type that was ever registered."""
    found = map(TypeInfo._make, store.read(rows(store, "types")))
    return [info._replace(policy=json.loads(info.policy)) for info in found]  # type: ignore[arg-type]


def declarations(store: SqlStore, now: int, type: str | None = None, worker: str | None = None) -> list[Declaration]:
    """Return what the live workers that go on claiming take, or one live worker."""
    found = store.read(rows(store, "declarations", now=store.engine_now(now), type=type, worker=worker))
    return list(map(Declaration._make, found))


def setting(store: SqlStore, name: str) -> str | None:
    """Return one setting, or None."""
    return value(store, "setting", name=name)


def setting_operations(dialect: Dialect, name: str) -> Operations[str | None]:
    """Return one setting, or None, as operations on any connection."""
    found = (yield dialect.statement("setting", name=name)).rows
    return found[0][0] if found else None


def set_setting(
    store: SqlStore, name: str, value: str | None, description: str | None = None, now: int | None = None, actor: str = ""
) -> None:  # fmt: skip
    """Change a setting; None removes it."""
    store.write(lambda: _set_setting(store.dialect, name, value, description, now, actor))


def seal(store: SqlStore) -> None:
    """Refuse programs without keys from now on, when they connect."""
    store.write(lambda: rows(store, "seal"))


def _set_setting(
    dialect: Dialect, name: str, value: str | None, description: str | None, now: int | None, actor: str
) -> Operations[None]:  # fmt: skip
    if actor:
        found = (yield dialect.statement("setting", name=name)).rows
        detail = {"name": name, "before": found[0][0] if found else None, "after": value}
        yield from together(*dialect.insert("action", AUDIT, [(now, actor, "setting", None, json.dumps(detail), None)]))
    if value is None:
        yield dialect.statement("set_setting_none", name=name)
    else:
        yield dialect.statement("set_setting", name=name, value=value, description=description, now=now)
