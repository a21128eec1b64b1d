"""Reviews: those that wait, and those of which the deadline or a reminder is due."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.review import unpack
from ...core.states import REVIEW
from ..results import DueReview
from .record import STATES

if TYPE_CHECKING:
    from .store import RedisStore


def reviews(store: RedisStore, limit: int, after: str | None = None) -> list[str]:
    """Return the jobs in review, the oldest first: their index has the order of ids."""
    found: list[str] = store.server.read(
        "ZRANGEBYLEX", "review", f"({after}" if after else "-", "+", "LIMIT", 0, max(limit, 0)
    )
    return found


def due_reviews(store: RedisStore, now: int, limit: int) -> list[DueReview]:
    """Return the reviews of which the deadline or a reminder is due."""
    instant, *found = store.server.run("reviews_due", [store.engine_now(now), limit])
    return [
        DueReview(job, body, instant, STATES[state] == REVIEW and unpack(body).token == token)
        for job, body, state, token in found
    ]


def set_review(store: RedisStore, job_id: str, was: str, body: str, due: int | None) -> bool:
    """Change what a review asks, if it is still what it was."""
    return bool(store.server.run("set_review", [job_id, was, body, "" if due is None else due]))
