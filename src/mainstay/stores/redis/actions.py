"""What operators do to jobs: cancel, retry, resolve a review, delete. Each checks the state and writes to the audit trail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.bulk import BUSY, NOTE, SAME, bulk_for, busy
from ...core.draft import unpack_drafts
from ...core.errors import refuse_nul
from ...core.fingerprint import normalised
from ...core.review import VERDICTS, edit
from . import enqueue, header

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...core.bulk import Bulk
    from ...core.search_terms import Term
    from .store import RedisStore

CHANGED = "changed"
UNMATCHED = "-"  # in place of a digest: fits no job


def _action(script: str) -> Callable[..., dict[str, str]]:
    def act(
        store: RedisStore, ids: Sequence[str], now: int, actor: str, terms: Sequence[Term] = (), bulk: Bulk | None = None,
        note: str = "", declared: bool = False,
    ) -> dict[str, str]:  # fmt: skip
        same = _same(note, declared)
        return changed(store, script, ids, now, actor, terms, bulk_for(ids, bulk), lambda _: [same])

    return act


cancel, delete = _action("cancel"), _action("delete")


def retry(
    store: RedisStore, ids: Sequence[str], now: int, actor: str, terms: Sequence[Term] = (), bulk: Bulk | None = None,
    note: str = "", declared: bool = False, times: Sequence[int] = (),
) -> dict[str, str]:  # fmt: skip
    """Queue ended or waiting jobs, now or each at its time."""
    same, each = _same(note, declared), dict(zip(ids, times, strict=True)) if times else {}
    return changed(
        store, "retry", ids, now, actor, terms, bulk_for(ids, bulk),
        lambda jobs: [same, *(each[job] for job in jobs if each)],
    )  # fmt: skip


def _same(note: str, declared: bool) -> str:
    """Return the details that are the same for all jobs."""
    refuse_nul(note=note)
    return header.dumps({name: value for name, value in zip(SAME, (note, declared), strict=True) if value})


def resolve_review(
    store: RedisStore, job_id: str, approve: bool | None, now: int, actor: str, note: str, terms: Sequence[Term] = (),
    bulk: Bulk | None = None, *, output: str | None = None, token: int | None = None, declared: bool = False,
) -> str:  # fmt: skip
    """End a review. Approved: the children that the job kept are enqueued in the same call."""
    refuse_nul(note=note)
    verb, done = VERDICTS[approve]
    detail: dict[str, Any] = {NOTE: note} | ({"declared": True} if declared else {})
    if output is not None:
        detail |= edit(store.result(job_id), output)
    edited = ["", ""] if output is None else ["1", output]
    reason = note or f"{done} by {actor}"
    values = [
        "c" if approve else "d",
        reason,
        verb,
        header.dumps(detail),
        "" if token is None else token,
        *edited,
    ]
    found = CHANGED
    while found == CHANGED:
        # The script checks that the job still keeps the children that are read here.
        kept = store.server.read("HGET", "children", job_id) if approve else None
        drafts = enqueue.prepared_children(store.server, unpack_drafts(kept), now) if kept else []
        last = [*values, kept or "", normalised(reason), *enqueue.flat(drafts)]
        found = changed(store, "resolve_review", [job_id], now, actor, terms, bulk, lambda _: last)[job_id]  # noqa: B023
        bulk = _again(bulk)
    return found or done


def changed(
    store: RedisStore, script: str, ids: Sequence[str], now: int, actor: str, terms: Sequence[Term], bulk: Bulk | None,
    last: Callable[[dict[str, str]], Sequence[Any]],
) -> dict[str, str]:  # fmt: skip
    """Run an action on jobs, each only while it is as it was when `terms` found it. Return what became of each.

    `last` returns the values behind the jobs. It gets these with the digests that they must have ("": any), and may fill these in.
    """
    refuse_nul(actor=actor)
    digests = dict.fromkeys(ids, "")
    outcomes: dict[str, str] = {}
    untold = bulk is not None and bool(bulk.told)
    while digests or untold:
        if terms:
            from .search import matching

            digests = dict.fromkeys(digests, UNMATCHED) | matching(store, list(digests), terms, now)
        sent = last(digests)
        pairs = [value for pair in digests.items() for value in pair]
        values = [store.engine_now(now), now, actor, _packed(bulk), len(pairs), *pairs, *sent]
        outcomes |= zip(digests, store.server.run(script, values), strict=True)
        if bulk is not None and BUSY in outcomes.values():
            raise busy(bulk.id)
        # One that changed since it was checked is checked again.
        digests = {job: at for job, at in digests.items() if outcomes[job] == "unmatched" and at != UNMATCHED}
        bulk, untold = _again(bulk), False
    return {job: outcomes[job] for job in ids}


def _again(bulk: Bulk | None) -> Bulk | None:
    """Return a bulk action for another call about the same jobs: the operation has reached its place."""
    return bulk and bulk._replace(was=None, refused=())


def _packed(bulk: Bulk | None) -> str:
    """Return a bulk action as the scripts take it."""
    return "" if bulk is None else header.dumps({**bulk._asdict(), "told": dict(bulk.told)})
