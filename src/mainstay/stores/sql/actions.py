"""What operators do to jobs: cancel, retry, resolve a review, delete.

Each verb locks its jobs first and acts by the state that it finds; where a search chose them, only on those that it still
finds. Every change leaves a line in the audit trail.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ...core import keys, rules
from ...core.bulk import NOTE, SAME, bulk_for, check_place, tally
from ...core.draft import pack_drafts, unpack_drafts
from ...core.errors import refuse_nul
from ...core.export import ActionRecord
from ...core.review import AGAIN, VERDICTS, due, edit
from ...core.rules import EXAMINE
from ...core.states import CANCELLED, COMPLETED, DEAD, ENDED, QUEUED, REVIEW, RUNNING, SCHEDULED, WAITING
from ...core.tally import of_jobs
from ..operations import Statement, together
from .admission import examine, give_back, wake
from .dialect import column_types
from .store import rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ...core.bulk import Bulk
    from ...core.decide import Transition
    from ...core.search_terms import Term
    from ..operations import Operations
    from .dialect import Dialect
    from .store import SqlStore

    Action = Callable[["Change", dict[str, "Locked"]], Operations[dict[str, str]]]
    Lines = Sequence[tuple["Locked", dict[str, Any]]]  # jobs, and what the audit trail says about each

RETRIED = (DEAD, CANCELLED, REVIEW, SCHEDULED)
# Tables whose rows belong to a job.
BELONGINGS = ("body", "attempt", "log", "result", "checkpoint", "progress", "acted", "review")
AUDIT = column_types(ActionRecord)
ASKED = {"job": "bigint", "due_at": "bigint", "body": "text"}
RESULT = {"job": "bigint", "body": "text"}
PRINT = {"fingerprint": "text"}


class Locked(NamedTuple):
    """A job that the transaction has locked."""

    id: str
    seq: int
    type: str
    state: str
    lock: str | None
    lock_until: int | None
    key: str | None
    rules: str | None
    token: int


class Change(NamedTuple):
    """One call of a verb: on which engine, when, by whom, and what it has done so far."""

    dialect: Dialect
    now: int
    actor: str
    bulk: Bulk | None
    lines: list[tuple[str, Locked, dict[str, Any]]]  # of a bulk action: what was done, to which jobs, and the details
    note: str = ""
    declared: bool = False  # nobody has checked who the actor is

    def statement(self, name: str, /, **values: object) -> Statement:
        return self.dialect.statement(name, **values)

    @property
    def noted(self) -> dict[str, Any]:
        """The details that are the same for all jobs."""
        return {name: value for name, value in zip(SAME, (self.note, self.declared), strict=True) if value}


def change(
    dialect: Dialect, action: Action, ids: Sequence[str], now: int, actor: str, terms: Sequence[Term] = (),
    bulk: Bulk | None = None, note: str = "", declared: bool = False,
) -> Operations[dict[str, str]]:  # fmt: skip
    """Lock jobs in the order of seq, run an action on those that `terms` still find, and return what became of each job."""
    refuse_nul(actor=actor, note=note)
    found_rows = (yield dialect.statement("lock_jobs", ids=list(dict.fromkeys(ids)))).rows
    locked = {row[0]: Locked._make(row) for row in found_rows}
    found = {job: locked[job] for job in ids if job in locked}  # in the order asked
    if terms and found:
        from .search import matching  # an enqueue in the caller's transaction loads this module, and needs no search

        matched = yield from matching(dialect, [job.seq for job in found.values()], terms, now)
        found = {job: found[job] for job in found if job in matched}
    by = Change(dialect, now, actor, bulk_for(ids, bulk), [], note, declared)
    outcomes = yield from action(by, found)
    outcomes = {job: outcomes.get(job, "unmatched" if job in locked else "missing") for job in ids}
    if by.bulk is not None and (by.lines or by.bulk.told):
        yield from _write_line(by, by.bulk, outcomes)
    return outcomes


def verb_of(action: Action, outcome: str = "", what: str = "jobs") -> Callable[..., dict[str, str]]:
    """Return the verb that runs an action in a transaction of its own; after an `outcome` of some job it wakes the workers."""

    def verb(
        store: SqlStore, ids: Sequence[str], now: int, actor: str, terms: Sequence[Term] = (), bulk: Bulk | None = None,
        note: str = "", declared: bool = False,
    ) -> dict[str, str]:  # fmt: skip
        outcomes = store.write(lambda: change(store.dialect, action, ids, now, actor, terms, bulk, note, declared))
        examine_marked(store, now)
        if outcome in outcomes.values():
            store.notify(what)
        return outcomes

    return verb


def audit(by: Change, action: str, lines: Lines) -> list[Statement]:
    """Return the statements that record an action: a line for each job; of a bulk action, the jobs that its one line is about."""
    if by.bulk is None:
        single = [(by.now, by.actor, action, job.id, json.dumps(detail), None) for job, detail in lines]
        return by.dialect.insert("action", AUDIT, single)
    by.lines.extend((action, job, detail) for job, detail in lines)
    seqs = [job.seq for job, _ in lines]
    return [] if action == "delete" else [by.statement("acted", seqs=seqs, bulk=by.bulk.id)]


def _write_line(by: Change, bulk: Bulk, outcomes: dict[str, str]) -> Operations[None]:
    """Write the line of a bulk action, or add to it what this call has done."""
    found = (yield by.statement("bulk_line", bulk=bulk.id)).rows
    before = json.loads(found[0][0]) if found else {}
    check_place(bulk, before)
    changed = {job.id for _, job, _ in by.lines}
    refused = [*bulk.refused, *(result for job, result in outcomes.items() if job not in changed)]
    detail = json.dumps(tally(before, (detail for *_, detail in by.lines), refused, bulk.told))
    if found:
        yield by.statement("bulk_detail", bulk=bulk.id, detail=detail)
    else:
        action = bulk.action or by.lines[0][0]
        yield from together(*by.dialect.insert("action", AUDIT, [(by.now, by.actor, action, None, detail, bulk.id)]))


def _ended(by: Change, jobs: Sequence[Locked], state: str, reason: str) -> list[Statement]:
    """Return the statements that end jobs which do not run. Their keys are released; a key that is held for a period stays."""
    seqs = [job.seq for job in jobs]
    keyed = [job.seq for job in jobs if job.key is not None and not job.lock_until]  # `lock` may be older than our wait
    ended = [by.statement("end", seqs=seqs, state=state, now=by.now, reason=reason)]
    if state == DEAD:
        from ...core.fingerprint import of_reason

        ended += by.dialect.update("job", "seq", PRINT, [(job.seq, of_reason(job.type, reason)) for job in jobs])
    ended += by.dialect.tally(of_jobs((job.type for job in jobs), state, by.now))
    return [by.statement("unlock_keys", seqs=keyed), *ended] if keyed else ended


def _let_go(dialect: Dialect, jobs: Iterable[Locked]) -> Operations[None]:
    """Give back the slots of jobs that end or go, and mark the jobs that wait for one of these slots or for one of these jobs."""
    jobs = list(jobs)
    freed = yield from give_back(dialect, [(job.seq, job.rules) for job in jobs if job.rules])
    yield from wake(dialect, freed)
    yield dialect.statement("admit_children", seqs=[job.seq for job in jobs])
    children = [job.seq for job in jobs if job.rules and '"after"' in job.rules]
    if children:
        yield dialect.statement("after_remove", seqs=children)


def end_jobs(dialect: Dialect, seqs: list[int], state: str, reason: str, now: int) -> Operations[None]:
    """End jobs that wait, because of a rule."""
    found = (yield dialect.statement("lock_seqs", seqs=seqs)).rows
    jobs = [job for job in map(Locked._make, found) if job.state in WAITING]
    if jobs:
        yield from together(*_ended(Change(dialect, now, "", None, []), jobs, state, reason))
        yield from _let_go(dialect, jobs)


def examine_marked(store: SqlStore, now: int, freed: Iterable[str] = ()) -> None:
    """Examine the jobs that a verb has marked, in a transaction of their own: they are marked until then."""
    if set(freed) or bool(store.read(rows(store, "admit_look"))):
        store.write(lambda: examine(store.dialect, store.engine_now(now), freed))
        store.notify()


# cancel: waiting jobs end, running ones are asked to stop -------------------------------------------------------------
def _cancel(by: Change, found: dict[str, Locked]) -> Operations[dict[str, str]]:
    jobs = [job for job in found.values() if job.state not in ENDED]
    if jobs:
        waiting = [job for job in jobs if job.state != RUNNING]
        running = [job.seq for job in jobs if job.state == RUNNING]
        yield from together(
            *(_ended(by, waiting, CANCELLED, f"cancelled by {by.actor}") if waiting else ()),
            *([by.statement("cancel_running", seqs=running, now=by.now)] if running else ()),
            *audit(by, "cancel", [(job, by.noted) for job in jobs]),
        )
        if waiting:
            yield from _let_go(by.dialect, waiting)
    names = {RUNNING: "cancelling"} | dict.fromkeys(ENDED, "ended")
    return {job.id: names.get(job.state, "cancelled") for job in found.values()}


cancel = verb_of(_cancel, "cancelling", "cancel")


def cancel_operations(dialect: Dialect, ids: Sequence[str], now: int, actor: str) -> Operations[dict[str, str]]:
    """As `cancel`, on whichever connection."""
    return change(dialect, _cancel, ids, now, actor)


# retry: jobs are queued again, with fresh attempts --------------------------------------------------------------------
def _retry(
    by: Change, found: dict[str, Locked], times: Mapping[str, int] | None = None
) -> Operations[dict[str, str]]:  # fmt: skip
    jobs = [job for job in found.values() if job.state in RETRIED]
    wanted = {job.id: keys.lock(job.type, job.key or "", "alive", None, by.now)[0] for job in jobs if _needs_key(job)}
    taken = yield from taken_keys(by.dialect, wanted, {job.id: job.key or "" for job in jobs})
    retried = [job for job in jobs if job.id not in taken]
    if retried:
        seqs = [job.seq for job in retried]
        yield from give_back(by.dialect, [(job.seq, job.rules) for job in retried if job.rules])
        late = [
            (job.seq, rules.without(job.rules, "start_by")) for job in retried if job.rules and "start_by" in job.rules
        ]
        yield from together(*by.dialect.update("job", "seq", {"rules": "text"}, late))
        yield from together(
            *(by.statement("lock_key", seq=job.seq, lock=wanted[job.id]) for job in retried if job.id in wanted),
            by.statement("retry", seqs=seqs, now=by.now),
            by.statement("remove:result", seqs=seqs),  # proposed for review: the next attempt may return nothing
            *audit(by, "retry", [(job, {"from": job.state} | by.noted) for job in retried]),
        )
        yield from _schedule(
            by, [(job.seq, times[job.id]) for job in retried if times[job.id] > by.now] if times else []
        )
    outcomes = {job.id: SCHEDULED if times and times[job.id] > by.now else QUEUED for job in retried} | taken
    return {job.id: outcomes.get(job.id, job.state) for job in found.values()}


def _schedule(by: Change, times: list[tuple[int, int]]) -> Operations[None]:
    """Let jobs that were retried wait for their times."""
    if times:
        yield from together(*by.dialect.update("job", "seq", {"run_at": "bigint"}, times))
        yield by.statement("change", seqs=[seq for seq, _ in times], now=by.now, waits=EXAMINE)


_retry_now = verb_of(_retry, QUEUED)


def retry(
    store: SqlStore, ids: Sequence[str], now: int, actor: str, terms: Sequence[Term] = (), bulk: Bulk | None = None,
    note: str = "", declared: bool = False, times: Sequence[int] = (),
) -> dict[str, str]:  # fmt: skip
    """Queue ended or waiting jobs now, or schedule each for its time, with fresh attempts; return what became of each."""
    if not times:
        return _retry_now(store, ids, now, actor, terms, bulk, note, declared)
    action = partial(_retry, times=dict(zip(ids, times, strict=True)))
    outcomes = verb_of(action, QUEUED)(store, ids, now, actor, terms, bulk, note, declared)
    if SCHEDULED in outcomes.values():
        store.notify()  # an idle worker waits for the first of them
    return outcomes


def _needs_key(job: Locked) -> bool:
    """Whether a job must take its key again; one that waits for its time holds it, one for a period ends with the period."""
    return job.lock is None and job.key is not None and not job.lock_until and job.state != SCHEDULED


def taken_keys(dialect: Dialect, wanted: dict[str, str], names: Mapping[str, str]) -> Operations[dict[str, str]]:
    """Return the ids whose key another job has, one in the store or one before it in this list, and what to say about each."""
    if not wanted:
        return {}
    asked = [names[job] for job in wanted]
    rows = (yield dialect.statement("locked_keys", locks=list(wanted.values()), keys=asked)).rows
    first = {lock: job for job, lock in reversed(wanted.items())}
    holders = {job: ({lock: first[lock]} | dict(rows))[lock] for job, lock in wanted.items()}
    return {job: keys.held(holder, names[job]) for job, holder in holders.items() if holder != job}


# review ---------------------------------------------------------------------------------------------------------------
def resolve_review(
    store: SqlStore, job_id: str, approve: bool | None, now: int, actor: str, note: str, terms: Sequence[Term] = (),
    bulk: Bulk | None = None, *, output: str | None = None, token: int | None = None, declared: bool = False,
) -> str:  # fmt: skip
    """End a review; return what became of the job, or why nothing did."""
    verb, done = VERDICTS[approve]

    def action(by: Change, found: dict[str, Locked]) -> Operations[dict[str, str]]:
        job = found.get(job_id)
        if job is None or job.state != REVIEW:
            return {job_id: job.state} if job else {}
        if token not in (None, job.token):
            return {job_id: AGAIN}
        detail = {NOTE: note} | by.noted
        if output is not None:
            before = (yield by.statement("body:result", id=job_id)).rows
            detail |= edit(before[0][0] if before else None, output)
            yield from together(*by.dialect.upsert("result", RESULT, [(job.seq, output)]))
        yield from together(
            *_ended(by, [job], COMPLETED if approve else DEAD, note or f"{done} by {actor}"),
            *audit(by, verb, [(job, detail)]),
        )
        yield from _let_go(by.dialect, [job])
        kept = (yield by.statement("children", seqs=[job.seq])).rows if approve else []
        drafts = [draft for (text,) in kept for draft in unpack_drafts(text)]
        if drafts:
            yield from by.dialect.enqueue(drafts, now)
        return {job_id: done}

    found = verb_of(action, "approved")(store, [job_id], now, actor, terms, bulk, note, declared)
    return found[job_id]  # its children may be due


def keep_children(dialect: Dialect, transitions: Iterable[Transition], now: int) -> Operations[None]:
    """Enqueue the children of jobs that were completed; keep those of jobs in review beside the results that these propose.

    What a review asks is kept too.
    """
    transitions = [t for t in transitions if t.children or t.review]
    asked = [(t.seq, due(t.review), t.review) for t in transitions if t.review]
    yield from together(*dialect.upsert("review", ASKED, asked))
    for t in transitions:
        if t.state == REVIEW and t.children:
            yield dialect.statement("keep_children", seq=t.seq, children=pack_drafts(t.children))
    children = [child for t in transitions if t.state != REVIEW for child in t.children]
    if children:
        yield from dialect.enqueue(children, now)


# delete: jobs that do not run are removed, with all that belongs to them ----------------------------------------------
def _delete(by: Change, found: dict[str, Locked]) -> Operations[dict[str, str]]:
    gone = [job for job in found.values() if job.state != RUNNING]
    if gone:
        lines = [(job, {"type": job.type, "from": job.state} | by.noted) for job in gone]
        yield from _let_go(by.dialect, gone)
        yield from removal(by.dialect, [job.seq for job in gone], audit(by, "delete", lines))
    return {job.id: RUNNING if job.state == RUNNING else "deleted" for job in found.values()}


delete = verb_of(_delete)


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
