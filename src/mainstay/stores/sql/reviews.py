"""Reviews: those that wait, and those of which the deadline or a reminder is due."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

from ...core.review import unpack
from ...core.states import REVIEW
from ..results import DueReview
from .store import rows

if TYPE_CHECKING:
    from ..operations import Operations
    from .store import SqlStore


def reviews(store: SqlStore, limit: int, after: str | None = None) -> list[str]:
    """Return the jobs in review, the oldest first."""
    found = store.read(rows(store, "reviews", limit=limit, after=after or ""))
    return [job for job, _ in sorted(found, key=itemgetter(1))]


def due_reviews(store: SqlStore, now: int, limit: int) -> list[DueReview]:
    """Return the reviews of which the deadline or a reminder is due."""
    found = store.read(rows(store, "reviews_due", now=store.engine_now(now), limit=limit), by_worker=True)
    return [
        DueReview(job, body, instant, state == REVIEW and unpack(body).token == token)
        for job, body, instant, state, token in found
    ]


def set_review(store: SqlStore, job_id: str, was: str, body: str, due: int | None) -> bool:
    """Change what a review asks, if it is still what it was."""
    statement = store.dialect.statement("set_review", id=job_id, was=was, body=body, due=due)

    def changed() -> Operations[bool]:
        return (yield statement).count == 1

    return store.single(changed(), by_worker=True)
