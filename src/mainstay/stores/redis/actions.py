"""What operators do to jobs: cancel, retry, resolve a review, delete. Each checks the state and writes to the audit trail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.bulk import NOTE, SAME, bulk_for
from ...core.draft import unpack_drafts
from ...core.errors import refuse_nul
from ...core.review import VERDICTS, edit
from . import enqueue, header

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...core.search_terms import Term
    from .store import RedisStore

CHANGED = "changed"
UNMATCHED = "-"  # in place of a digest: fits no job


def _action(script: str) -> Callable[..., dict[str, str]]:
    def act(
        store: RedisStore, ids: Sequence[str], now: int, actor: str, terms: Sequence[Term] = (), bulk: str | None = None,
        note: str = "", declared: bool = False,
    ) -> dict[str, str]:  # fmt: skip
        refuse_nul(note=note)
        detail = {name: value for name, value in zip(SAME, (note, declared), strict=True) if value}
        return _changed(store, script, ids, now, actor, terms, bulk_for(ids, bulk), [header.dumps(detail)])

    return act


cancel, retry, delete = _action("cancel"), _action("retry"), _action("delete")


def resolve_review(
    store: RedisStore, job_id: str, approve: bool | None, now: int, actor: str, note: str, terms: Sequence[Term] = (),
    bulk: str | None = None, *, output: str | None = None, token: int | None = None, declared: bool = False,
) -> str:  # fmt: skip
    """End a review. Approved: the children that the job kept are enqueued in the same call."""
    refuse_nul(note=note)
    verb, done = VERDICTS[approve]
    detail: dict[str, Any] = {NOTE: note} | ({"declared": True} if declared else {})
    if output is not None:
        detail |= edit(store.result(job_id), output)
    edited = ["", ""] if output is None else ["1", output]
    values = [
        "c" if approve else "d",
        note or f"{done} by {actor}",
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
        last = [*values, kept or "", *enqueue.flat(drafts)]
        found = _changed(store, "resolve_review", [job_id], now, actor, terms, bulk, last)[job_id]
    return found or done


def _changed(
    store: RedisStore, script: str, ids: Sequence[str], now: int, actor: str, terms: Sequence[Term], bulk: str | None,
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
        values = [store.engine_now(now), now, actor, bulk or "", len(pairs), *pairs, *last]
        outcomes |= zip(digests, store.server.run(script, values), strict=True)
        # One that changed since it was checked is checked again.
        digests = {job: at for job, at in digests.items() if outcomes[job] == "unmatched" and at != UNMATCHED}
    return {job: outcomes[job] for job in ids}
