"""What has ended lately, what is stuck, and what looks like a duplicate."""

from __future__ import annotations

from ...control.records import StuckRecord
from ...core.duplicates import Duplicates
from ...options import past_instant
from ..call import Call
from ..job_records import JobPage, job_records
from ..operations import Query, operation
from .jobs import Limit


class HistoryQuery(Query, frozen=True):
    """Since when (a duration such as 1h, or an instant), and a page."""

    since: str = "1h"
    limit: Limit = 50
    after: str | None = None


class StuckQuery(Query, frozen=True):
    """After which time a running job counts as stuck."""

    after: str = "5m"


class DuplicatesQuery(Query, frozen=True):
    """Within which time jobs were created."""

    within: str = "24h"


@operation("GET", "/api/history")
def list_history(call: Call, query: HistoryQuery) -> JobPage:
    """Return the jobs that have ended since an instant, the last one first, page by page."""
    now, store = call.app.clock.now(), call.app.reader
    ids, after = store.ended(past_instant("since", query.since, now), query.limit, query.after or None)
    return JobPage(jobs=job_records(store.get_many(ids), now), after=after)


@operation("GET", "/api/stuck")
def list_stuck(call: Call, query: StuckQuery) -> list[StuckRecord]:
    """Return running jobs that are stuck: for too long, past their timeout, cancelled and going on, or of a silent worker."""
    return [*call.app.stuck(query.after)]


@operation("GET", "/api/duplicates")
def list_duplicates(call: Call, query: DuplicatesQuery) -> Duplicates:
    """Return jobs with the same type and key, or the same type and arguments, among the newest ones."""
    return call.app.duplicates(query.within)
