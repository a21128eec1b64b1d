"""What operators do to jobs: cancel, retry, resolve a review, delete. Each checks the state and writes to the audit trail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.bulk import bulk_for
from ...core.draft import unpack_drafts
from ...core.errors import refuse_nul
from . import enqueue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...core.search_terms import Term
    from .store import RedisStore

CHANGED = "changed"
UNMATCHED = "-"  # in place of a digest: fits no job


def cancel(
    store: RedisStore, ids: Sequence[str], now: int, actor: str, terms: Sequence[Term] = (), bulk: str | None = None
) -> dict[str, str]:
    """Cancel waiting jobs, ask running ones to stop."""
    return _changed(store, "cancel", [now, actor, bulk_for(ids, bulk) or ""], actor, ids, now, terms)


def retry(
    store: RedisStore, ids: Sequence[str], now: int, actor: str, terms: Sequence[Term] = (), bulk: str | None = None
) -> dict[str, str]:
    """Queue jobs again, with all attempts."""
    values = [store.engine_now(now), now, actor, bulk_for(ids, bulk) or ""]
    return _changed(store, "retry", values, actor, ids, now, terms)


def delete(
    store: RedisStore, ids: Sequence[str], now: int, actor: str, terms: Sequence[Term] = (), bulk: str | None = None
) -> dict[str, str]:
    """Delete jobs that do not run, with everything that belongs to them."""
    return _changed(store, "delete", [now, actor, bulk_for(ids, bulk) or ""], actor, ids, now, terms)


def resolve_review(
    store: RedisStore, job_id: str, approve: bool, now: int, actor: str, note: str, terms: Sequence[Term] = (),
    bulk: str | None = None,
) -> str:  # fmt: skip
    """End a review. Approved: the children that the job kept are enqueued in the same call."""
    refuse_nul(note=note)
    verb, done, state = ("approve", "approved", "c") if approve else ("reject", "rejected", "d")
    values = [now, store.engine_now(now), actor, state, note or f"{done} by {actor}", verb, note, bulk or ""]
    found = CHANGED
    while found == CHANGED:
        # The script checks that the job still keeps the children that are read here.
        kept = store.server.read("HGET", "children", job_id) if approve else None
        drafts = unpack_drafts(kept)
        enqueue.prepare(store.server, drafts, now)
        children = [kept or "", *enqueue.flat(drafts)]
        found = _changed(store, "resolve_review", values, actor, [job_id], now, terms, children)[job_id]
    return found or done


def _changed(
    store: RedisStore, script: str, values: list[Any], actor: str, ids: Sequence[str], now: int, terms: Sequence[Term],
    last: Sequence[Any] = (),
) -> dict[str, str]:  # fmt: skip
    """Run an action on jobs, each only while it is as it was when `terms` found it. Return what became of each."""
    refuse_nul(actor=actor)
    digests = dict.fromkeys(ids, "")
    outcomes: dict[str, str] = {}
    while digests:
        if terms:
            from .search import matching

            digests = dict.fromkeys(digests, UNMATCHED) | matching(store, list(digests), terms, now)
        pairs = [value for pair in digests.items() for value in pair]
        outcomes |= zip(digests, store.server.run(script, [*values, *pairs, *last]), strict=True)
        # One that changed since it was checked is checked again.
        digests = {job: at for job, at in digests.items() if outcomes[job] == "unmatched" and at != UNMATCHED}
    return {job: outcomes[job] for job in ids}
