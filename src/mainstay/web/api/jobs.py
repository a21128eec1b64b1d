"""Jobs: lists and searches, what their values are, and how a search goes on."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from ...control.facets import Facets, facets
from ...control.suggestions import Suggestion, suggestions
from ...query import parse, term
from ..call import Call
from ..job_records import JobPage, job_records
from ..operations import Query, operation

Limit = Annotated[int, msgspec.Meta(ge=1, le=200)]


class SearchQuery(Query, frozen=True):
    """A search, as `mainstay ls` takes it."""

    q: str = ""


class JobQuery(SearchQuery, frozen=True):
    """A search, a page of it, and simple filters, which may come several times: `state=dead&state=retrying`."""

    limit: Limit = 50
    after: str | None = None
    state: list[str] = msgspec.field(default_factory=list)
    type: list[str] = msgspec.field(default_factory=list)
    queue: list[str] = msgspec.field(default_factory=list)
    tenant: list[str] = msgspec.field(default_factory=list)
    ref: list[str] = msgspec.field(default_factory=list)
    tag: list[str] = msgspec.field(default_factory=list)


class Suggestions(msgspec.Struct, kw_only=True):
    """What the last word of a search may become."""

    suggestions: list[Suggestion]


@operation("GET", "/api/jobs", tenants=True)
def list_jobs(call: Call, query: JobQuery) -> JobPage:
    """Return the jobs that match a search and all filters, newest first, page by page."""
    page = call.app.search(call.search(_filtered(call, query)), query.limit, query.after or None)
    jobs = job_records(call.app.reader.get_many(page.ids), call.app.clock.now())
    return JobPage(jobs=jobs, after=page.after, searched=page.searched)


FILTERS = ("state", "type", "queue", "tenant", "ref", "tag")


def _filtered(call: Call, query: JobQuery) -> str:
    """Return a search with its filters as terms. The search is read first, so that a quote it leaves open is its own mistake."""
    parse(query.q, call.app.clock.now())
    given: dict[str, Any] = {name: [value for value in getattr(query, name) if value] for name in FILTERS}
    return " ".join([query.q, *(term(name, *values) for name, values in given.items() if values)])


@operation("GET", "/api/jobs/facets", tenants=True)
def list_facets(call: Call, query: SearchQuery) -> Facets:
    """Return how many jobs there are by state, type, queue, worker, tag and tenant.

    They are those of the newest 1,000 jobs that match; without a search, states, types and queues are of all unfinished and dead jobs.
    """
    return facets(call.app, call.search(query.q))


@operation("GET", "/api/jobs/suggest", tenants=True)
def list_suggestions(call: Call, query: SearchQuery) -> Suggestions:
    """Return how the last word of a search may go on: names of qualifiers, then their values."""
    return Suggestions(suggestions=suggestions(call.app, query.q, call.search("")))
