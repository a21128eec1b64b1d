"""What keeps the store healthy: leases, orphans, promotion, retention, types."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ...core.job import Claimed, TypeInfo
from ..contract import Orphan, Renewal
from ..operations import Statement
from .connect import WORKER_TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...core.job import WorkerInfo
    from ..operations import Operations
    from .connect import Database
    from .sql import Statements


def register(db: Database, worker: WorkerInfo, judged: bool) -> None:
    """Register a worker; `judged` by the instants it names, or by the engine's clock."""
    started, beat = (worker.started_at, worker.beat_at) if judged else (None, None)
    db.execute(
        "register", worker.id, worker.host, worker.pid, worker.slots, json.dumps(worker.queues), json.dumps(worker.types),
        started, beat, worker.expires_at - worker.started_at,
    )  # fmt: skip


def renew(db: Database, worker: str, judged: int | None, lease: int, stopping: bool = False) -> Renewal:
    """Renew a lease; return whether it holds and which jobs were asked to stop."""
    rows = db.batch([Statement(db.load("renew"), (worker, judged, lease, stopping))], WORKER_TIMEOUT)[0].rows
    jobs = [(job, token) for job, token in rows if job is not None]
    return Renewal(len(jobs) < len(rows), jobs)


def deregister(db: Database, worker: str) -> None:
    """Unregister a worker."""
    db.execute("deregister", worker)


def orphans(db: Database, judged: int | None, grace: int, limit: int) -> list[Orphan]:
    """Jobs to be taken away, after burying the workers whose lease ran out."""
    bury, find = (
        Statement(db.load("orphans_deregister"), (judged,)),
        Statement(db.load("orphans"), (judged, grace, limit)),
    )
    _, found = db.batch([bury, find], WORKER_TIMEOUT)
    return [Orphan(Claimed._make(row[:18]), row[17], row[18]) for row in found.rows]


def prune(db: Database, judged: int | None, limit: int) -> int:
    """Delete what retention has released."""
    if not db.execute("prune", judged, 1).rows:  # nearly always: no need for a transaction
        return 0
    return db.run(lambda: _prune(db.load, judged, limit))


def _prune(load: Statements, judged: int | None, limit: int) -> Operations[int]:
    found = yield Statement(load("prune"), (judged, limit))
    seqs = sorted(row[0] for row in found.rows)
    if seqs:
        yield Statement(load("remove"), (seqs,))
    return len(seqs)


def register_types(db: Database, types: Sequence[TypeInfo]) -> None:
    """Make types known; of one that is named twice the last counts."""
    chosen = {info.name: info for info in types}.values()
    if not chosen:
        return
    db.execute(
        "register_types", [info.name for info in chosen], [info.queue for info in chosen], [info.signature for info in chosen],
        [json.dumps(info.policy) for info in chosen], [info.seen_at for info in chosen],
    )  # fmt: skip


def types(db: Database) -> list[TypeInfo]:
    """Every type ever declared."""
    rows = db.execute("types").rows
    return [TypeInfo(name, queue, signature, json.loads(policy), seen) for name, queue, signature, policy, seen in rows]
