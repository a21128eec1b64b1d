"""Reviews whose deadline or reminder has come. Any process does this; the store lets each be decided, or reminded of, once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.review import DEADLINE, VERDICTS, pack, unpack

if TYPE_CHECKING:
    from ..core.events import Events
    from ..stores.contract import Store
    from ..stores.results import DueReview

_APPROVES = {"approve": True, "reject": False, "dead": None}


def act_on_due(store: Store, events: Events, now: int, limit: int) -> int:
    """Decide the reviews whose deadline has passed, emit the reminders that are due; return how many reviews were looked at."""
    found = store.due_reviews(now, limit)
    for each in found:
        _act(store, events, each, now)
    return len(found)


def _act(store: Store, events: Events, found: DueReview, now: int) -> None:
    asked = unpack(found.body)
    if not found.open:  # it was decided, or its job runs again
        store.set_review(found.id, found.body, found.body, None)
    elif asked.over(found.now):
        approve = _APPROVES[asked.at_deadline]
        note = asked.expired() if approve is None else f"{VERDICTS[approve][1]}: {asked.expired()}"
        verdict = store.resolve_review(found.id, approve, now, DEADLINE, note, token=asked.token)
        store.set_review(found.id, found.body, found.body, None)
        if verdict == VERDICTS[approve][1]:
            events.emit("review_expired", job=found.id, question=asked.question, verdict=verdict)
    else:
        then = asked.reminded(found.now)
        if store.set_review(found.id, found.body, pack(then), then.due):
            events.emit(
                "review_reminder", job=found.id, question=asked.question, deciders=asked.deciders, asked_at=asked.at
            )
