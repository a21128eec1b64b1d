"""What operators do to jobs: cancel, retry, resolve a review, delete.

Each verb locks its jobs first and acts by the state that it finds; where a search chose them, only on those that it still
finds. Every change leaves a line in the audit trail.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from ...core import keys
from ...core.bulk import NOTE, bulk_for, tally
from ...core.draft import pack_drafts, unpack_drafts
from ...core.errors import refuse_nul
from ...core.export import ActionRecord
from ...core.states import CANCELLED, DEAD, ENDED, QUEUED, REVIEW, RUNNING, SCHEDULED
from ..operations import Statement, together
from .dialect import column_types

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ...core.decide import Transition
    from ...core.search_terms import Term
    from ..operations import Operations
    from .dialect import Dialect
    from .store import SqlStore

    Action = Callable[[Dialect, Sequence[str], int, str, str | None], Operations[dict[str, str]]]
    Lines = Sequence[tuple["Locked", dict[str, str]]]  # jobs, and what the audit trail says about each

RETRIED = (DEAD, CANCELLED, REVIEW, SCHEDULED)
# Tables whose rows belong to a job.
BELONGINGS = ("body", "attempt", "log", "result", "checkpoint", "progress", "acted")
AUDIT = column_types(ActionRecord)


class Locked(NamedTuple):
    """A job that the transaction has locked."""

    id: str
    seq: int
    type: str
    state: str
    lock: str | None
    lock_until: int | None
    key: str | None


def _locked(dialect: Dialect, ids: Sequence[str]) -> Operations[dict[str, Locked]]:
    """Lock jobs in the order of seq; return them by id, in the order asked."""
    result = yield dialect.statement("lock_jobs", ids=list(dict.fromkeys(ids)))
    found = {row[0]: Locked._make(row) for row in result.rows}
    return {job: found[job] for job in ids if job in found}


def _audit(
    dialect: Dialect, now: int, actor: str, action: str, lines: Lines, bulk: str | None
) -> Operations[list[Statement]]:
    """Return the statements that record an action: a line for each job, or one line for all jobs of a bulk action."""
    if bulk is None:
        single = [(now, actor, action, job.id, json.dumps(detail), None) for job, detail in lines]
        return dialect.insert("action", AUDIT, single)
    found = yield dialect.statement("actions_bulk", bulks=[bulk])
    before = json.loads(found.rows[0][ActionRecord._fields.index("detail")]) if found.rows else {}
    detail = json.dumps(tally(before, (detail for _, detail in lines)))
    if found.rows:
        statements = [dialect.statement("bulk_detail", bulk=bulk, detail=detail)]
    else:
        statements = dialect.insert("action", AUDIT, [(now, actor, action, None, detail, bulk)])
    if action != "delete":
        statements.append(dialect.statement("acted", seqs=[job.seq for job, _ in lines], bulk=bulk))
    return statements


def _unlock(dialect: Dialect, jobs: Iterable[Locked]) -> list[Statement]:
    """Return the statement that releases the keys of ended jobs; a key that is held for a period stays."""
    seqs = [
        job.seq for job in jobs if job.key is not None and not job.lock_until
    ]  # its lock may have changed while we waited
    return [dialect.statement("unlock_keys", seqs=seqs)] if seqs else []


def _changed(
    store: SqlStore, operations: Action, ids: Sequence[str], now: int, actor: str, terms: Sequence[Term],
    bulk: str | None,
) -> dict[str, str]:  # fmt: skip
    """Run an action on the jobs that `terms` still find once they are locked. Return what became of each job."""
    refuse_nul(actor=actor)
    bulk = bulk_for(ids, bulk)

    def guarded() -> Operations[dict[str, str]]:
        unmatched = (yield from _unmatched(store, ids, terms, now)) if terms else set()
        matched = [job for job in ids if job not in unmatched]
        outcomes = yield from operations(store.dialect, matched, now, actor, bulk)
        return {job: outcomes.get(job, "unmatched") for job in ids}

    return store.write(guarded)


def _unmatched(store: SqlStore, ids: Sequence[str], terms: Sequence[Term], now: int) -> Operations[set[str]]:
    from .search import matching  # an enqueue in the caller's transaction loads this module, and needs no search

    found = yield from _locked(store.dialect, ids)
    if not found:
        return set()
    seqs = [job.seq for job in found.values()]
    return found.keys() - (yield from matching(store.dialect, seqs, terms, now))


# cancel ---------------------------------------------------------------------------------------------------------------
def cancel(
    store: SqlStore, ids: Sequence[str], now: int, actor: str, terms: Sequence[Term] = (), bulk: str | None = None
) -> dict[str, str]:
    """Cancel waiting jobs, ask running ones to stop."""
    outcomes = _changed(store, cancel_operations, ids, now, actor, terms, bulk)
    if "cancelling" in outcomes.values():
        store.notify("cancel")
    return outcomes


def cancel_operations(
    dialect: Dialect, ids: Sequence[str], now: int, actor: str, bulk: str | None = None
) -> Operations[dict[str, str]]:
    """As `cancel`, on whichever connection."""
    refuse_nul(actor=actor)
    found = yield from _locked(dialect, ids)
    jobs = [job for job in found.values() if job.state not in ENDED]
    if jobs:
        waiting = [job for job in jobs if job.state != RUNNING]
        running = [job.seq for job in jobs if job.state == RUNNING]
        reason = f"cancelled by {actor}"
        audit = yield from _audit(dialect, now, actor, "cancel", [(job, {}) for job in jobs], bulk_for(ids, bulk))
        statements = _unlock(dialect, waiting) + audit
        if waiting:
            seqs = [job.seq for job in waiting]
            statements.append(dialect.statement("cancel_waiting", seqs=seqs, now=now, reason=reason))
        if running:
            statements.append(dialect.statement("cancel_running", seqs=running, now=now))
        yield from together(*statements)
    return {job: _cancelled(found.get(job)) for job in ids}


def _cancelled(job: Locked | None) -> str:
    if job is None:
        return "missing"
    return "ended" if job.state in ENDED else "cancelling" if job.state == RUNNING else "cancelled"


# retry ----------------------------------------------------------------------------------------------------------------
def retry(
    store: SqlStore, ids: Sequence[str], now: int, actor: str, terms: Sequence[Term] = (), bulk: str | None = None
) -> dict[str, str]:
    """Queue jobs again, with fresh attempts."""
    outcomes = _changed(store, _retry, ids, now, actor, terms, bulk)
    if QUEUED in outcomes.values():
        store.notify()
    return outcomes


def _retry(dialect: Dialect, ids: Sequence[str], now: int, actor: str, bulk: str | None) -> Operations[dict[str, str]]:
    found = yield from _locked(dialect, ids)
    jobs = [job for job in found.values() if job.state in RETRIED]
    wanted = {job.id: keys.lock(job.type, job.key or "", "alive", None, now)[0] for job in jobs if _needs_key(job)}
    taken = yield from _taken(dialect, wanted)
    retried = [job for job in jobs if job.id not in taken]
    if retried:
        seqs = [job.seq for job in retried]
        lines = [(job, {"from": job.state}) for job in retried]
        audit = yield from _audit(dialect, now, actor, "retry", lines, bulk)
        yield from together(
            *(dialect.statement("lock_key", seq=job.seq, lock=wanted[job.id]) for job in retried if job.id in wanted),
            dialect.statement("retry", seqs=seqs, now=now),
            dialect.statement("retry_results", seqs=seqs),
            *audit,
        )
    outcomes = {job.id: QUEUED for job in retried} | dict.fromkeys(taken, "duplicate")
    return {job: outcomes.get(job) or (found[job].state if job in found else "missing") for job in ids}


def _needs_key(job: Locked) -> bool:
    """Whether a job must take its key again; one that waits for its time holds it, one for a period ends with the period."""
    return job.lock is None and job.key is not None and not job.lock_until and job.state != SCHEDULED


def _taken(dialect: Dialect, wanted: dict[str, str]) -> Operations[set[str]]:
    """Return the ids whose key another job holds: one in the store, or one before it in this list."""
    if not wanted:
        return set()
    held = {row[0] for row in (yield dialect.statement("locked_keys", locks=list(wanted.values()))).rows}
    first = {lock: job for job, lock in reversed(wanted.items())}
    return {job for job, lock in wanted.items() if lock in held or first[lock] != job}


# review ---------------------------------------------------------------------------------------------------------------
def resolve_review(
    store: SqlStore, job_id: str, approve: bool, now: int, actor: str, note: str, terms: Sequence[Term] = (),
    bulk: str | None = None,
) -> str:  # fmt: skip
    """End a review; return approved, rejected, missing, unmatched or the state that the job is in."""
    refuse_nul(note=note)
    verb, done, state = ("approve", "approved", "completed") if approve else ("reject", "rejected", "dead")

    def operations(
        dialect: Dialect, ids: Sequence[str], now: int, actor: str, bulk: str | None
    ) -> Operations[dict[str, str]]:
        job = (yield from _locked(dialect, ids)).get(job_id)
        if job is None or job.state != REVIEW:
            return dict.fromkeys(ids, job.state if job else "missing")
        reason = note or f"{done} by {actor}"
        audit = yield from _audit(dialect, now, actor, verb, [(job, {NOTE: note})], bulk)
        yield from together(
            dialect.statement("resolve_review", seqs=[job.seq], state=state, now=now, reason=reason),
            *_unlock(dialect, [job]),
            *audit,
        )
        if approve:
            yield from _enqueue_children(dialect, job, now)
        return {job_id: done}

    verdict = _changed(store, operations, [job_id], now, actor, terms, bulk)[job_id]
    if verdict == "approved":
        store.notify()  # its children may be due
    return verdict


def _enqueue_children(dialect: Dialect, job: Locked, now: int) -> Operations[None]:
    found = yield dialect.statement("children", seqs=[job.seq])
    drafts = [draft for (text,) in found.rows for draft in unpack_drafts(text)]
    if drafts:
        yield from dialect.enqueue(drafts, now)


def keep_children(dialect: Dialect, transitions: Iterable[Transition], now: int) -> Operations[None]:
    """Enqueue the children of jobs that were completed; keep those of jobs in review beside the results that these propose."""
    transitions = [t for t in transitions if t.children]
    for t in transitions:
        if t.state == REVIEW:
            yield dialect.statement("keep_children", seq=t.seq, children=pack_drafts(t.children))
    children = [child for t in transitions if t.state != REVIEW for child in t.children]
    if children:
        yield from dialect.enqueue(children, now)


# delete ---------------------------------------------------------------------------------------------------------------
def delete(
    store: SqlStore, ids: Sequence[str], now: int, actor: str, terms: Sequence[Term] = (), bulk: str | None = None
) -> dict[str, str]:
    """Remove jobs that do not run, with all that belongs to them."""
    return _changed(store, _delete, ids, now, actor, terms, bulk)


def _delete(dialect: Dialect, ids: Sequence[str], now: int, actor: str, bulk: str | None) -> Operations[dict[str, str]]:
    found = yield from _locked(dialect, ids)
    gone = [job for job in found.values() if job.state != RUNNING]
    if gone:
        lines = [(job, {"type": job.type, "from": job.state}) for job in gone]
        audit = yield from _audit(dialect, now, actor, "delete", lines, bulk)
        yield from removal(dialect, [job.seq for job in gone], audit)
    deleted = {job.id for job in gone}
    return {job: "deleted" if job in deleted else RUNNING if job in found else "missing" for job in ids}


def removal(dialect: Dialect, seqs: list[int], also: Sequence[Statement] = ()) -> Operations[None]:
    """Delete jobs that the transaction has locked and all that belongs to them; their bodies name their tags."""
    found = yield dialect.statement("tags_of", seqs=seqs)
    tags = [(tag, seq) for seq, text in found.rows for tag in json.loads(text)]
    yield from together(
        dialect.statement("remove_jobs", seqs=seqs),  # first: it waits for updates that are being written
        *dialect.delete("tag", {"tag": "text", "job": "bigint"}, tags),
        *(dialect.statement(f"remove:{table}", seqs=seqs) for table in BELONGINGS),
        *also,
    )
