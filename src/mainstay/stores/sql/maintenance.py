"""What keeps the store healthy: leases, orphans, retention, registered types, settings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ...core.errors import refuse_nul
from ...core.job import Claimed, Declaration, TypeInfo
from ...core.outcome import INTERRUPTED
from ..contract import Orphan, Renewal
from ..operations import together
from .actions import AUDIT, removal
from .reads import claimed_by, loaded, value
from .store import rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...core.job import WorkerInfo
    from ..operations import Operations
    from .dialect import Dialect
    from .store import SqlStore

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
def prune(store: SqlStore, now: int, limit: int) -> int:
    """Delete up to `limit` ended jobs whose retention is over."""
    engine_now = store.engine_now(now)
    if not store.read(rows(store, "prune", now=engine_now, limit=1), by_worker=True):
        return 0  # nearly always: no need for a write lock
    return store.write(lambda: _prune(store, engine_now, limit), by_worker=True)


def _prune(store: SqlStore, now: int | None, limit: int) -> Operations[int]:
    seqs = sorted(row[0] for row in (yield store.dialect.statement("prune", now=now, limit=limit)).rows)
    if seqs:
        yield from removal(store.dialect, seqs)
    return len(seqs)


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


def set_setting(
    store: SqlStore, name: str, value: str | None, description: str | None = None, now: int | None = None, actor: str = ""
) -> None:  # fmt: skip
    """Change a setting; None removes it."""
    store.write(lambda: _set_setting(store.dialect, name, value, description, now, actor))


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
