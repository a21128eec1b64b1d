"""What operators do to jobs: cancel, retry, judge, delete. Each is guarded by the state and leaves a line in the audit."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ...core import keys
from ...core.states import CANCELLED, DEAD, ENDED, QUEUED, REVIEW, RUNNING, SCHEDULED
from ..operations import Statement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..operations import Operations
    from .connect import Database
    from .sql import Statements

RETRIED = (DEAD, CANCELLED, REVIEW, SCHEDULED)


def cancel(db: Database, ids: Sequence[str], now: int, actor: str) -> dict[str, str]:
    """Cancel what waits, ask what runs to stop."""
    return db.alone(cancel_operations(db.load, ids, now, actor)) if ids else {}


def cancel_operations(load: Statements, ids: Sequence[str], now: int, actor: str) -> Operations[dict[str, str]]:
    """One statement for all; per id what became of it."""
    found = yield Statement(load("cancel"), (list(dict.fromkeys(ids)), now, actor))
    before = dict(found.rows)
    return {job: _cancelled(before.get(job)) for job in ids}


def _cancelled(state: str | None) -> str:
    if state is None:
        return "missing"
    return "ended" if state in ENDED else "cancelling" if state == RUNNING else "cancelled"


def retry(db: Database, ids: Sequence[str], now: int, actor: str) -> dict[str, str]:
    """Queue jobs again, with fresh attempts."""
    return db.run(lambda: _retry(db.load, ids, now, actor)) if ids else {}


def _retry(load: Statements, ids: Sequence[str], now: int, actor: str) -> Operations[dict[str, str]]:
    found = yield Statement(load("standing"), (list(dict.fromkeys(ids)),))
    standing = {row[0]: row[1:] for row in found.rows}
    answers = {job: standing[job][2] if job in standing else "missing" for job in ids}
    chosen = []
    for job, state in list(answers.items()):
        if state in RETRIED:
            free = yield from _take_key(load, standing[job], now)
            answers[job] = QUEUED if free else "duplicate"
            chosen += [job] if free else []
    if chosen:
        yield Statement(load("retry"), ([standing[job][0] for job in chosen], now))
        yield _act(load, now, actor, "retry", [(job, {"from": standing[job][2]}) for job in chosen])
    return answers


def _take_key(load: Statements, standing: tuple[Any, ...], now: int) -> Operations[bool]:
    """Whether the job has the key that it should have while it waits."""
    seq, type, state, lock, until, key = standing
    if lock is not None or key is None or until not in (None, 0, -1) or state == SCHEDULED:
        return True
    wanted, _ = keys.lock(type, key, "alive", None, now)
    return (yield Statement(load("retry_lock"), (seq, wanted))).count == 1


def resolve_review(db: Database, job_id: str, approve: bool, now: int, actor: str, note: str) -> str:
    """End a review."""
    verb, done, state = ("approve", "approved", "completed") if approve else ("reject", "rejected", "dead")
    reason, detail = note or f"{done} by {actor}", json.dumps({"note": note})
    rows = db.execute("resolve_review", job_id, state, now, reason, actor, verb, detail).rows
    before: str = rows[0][0] if rows else "missing"
    return done if before == REVIEW else before


def delete(db: Database, ids: Sequence[str], now: int, actor: str) -> dict[str, str]:
    """Remove jobs that do not run, with all that belongs to them."""
    return db.run(lambda: _delete(db.load, ids, now, actor)) if ids else {}


def _delete(load: Statements, ids: Sequence[str], now: int, actor: str) -> Operations[dict[str, str]]:
    found = yield Statement(load("standing"), (list(dict.fromkeys(ids)),))
    standing = {row[0]: row[1:] for row in found.rows}
    gone = [job for job in dict.fromkeys(ids) if job in standing and standing[job][2] != RUNNING]
    if gone:
        yield Statement(load("remove"), ([standing[job][0] for job in gone],))
        details = [(job, {"type": standing[job][1], "from": standing[job][2]}) for job in gone]
        yield _act(load, now, actor, "delete", details)
    return {job: "missing" if job not in standing else "deleted" if job in gone else RUNNING for job in ids}


def _act(load: Statements, now: int, actor: str, action: str, lines: list[tuple[str, dict[str, Any]]]) -> Statement:
    return Statement(
        load("audit"), (now, actor, action, [job for job, _ in lines], [json.dumps(detail) for _, detail in lines])
    )
