"""Statistics: how many jobs came, ran and failed, and how long they waited and ran."""

from __future__ import annotations

from typing import Literal

import msgspec

from ...control.stats import Stats
from ..call import Call
from ..operations import Query, operation


class StatsQuery(Query, frozen=True, kw_only=True):
    """Of how long, by what, and of which types."""

    since: str | None = None
    by: Literal["type", "minute", "hour", "day"] = "type"
    type: list[str] = msgspec.field(default_factory=list)


@operation("GET", "/api/stats")
def read_stats(call: Call, query: StatsQuery) -> Stats:
    """Return what happened to jobs in the last time: by type, or by minute, hour or day. Without `since`: 24 hours; by minute 1 hour."""
    return call.app.stats(query.since or ("1h" if query.by == "minute" else "24h"), query.by, query.type)
