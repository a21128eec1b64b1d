"""Jobs that wait for a person, with what they propose."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from ...control import json_records
from ...control.reviews import denied, review_of
from ...core.errors import NotFound
from ...core.states import REVIEW
from ..call import Call
from ..operations import Query, operation
from ..roles import OPERATOR
from .jobs import Limit

if TYPE_CHECKING:
    from ...core.job import Job

LOOKED = 1_000  # reviews that are looked at for the page of a tenant, or more if none of them is its own
READ = 200  # of them at once
BEFORE = "before"  # in an object that a job proposes: what it would replace


class ReviewDetail(msgspec.Struct, kw_only=True):
    """A review: what it asks, who may decide, what the job proposes as `output`, and what that would replace, if the job says so."""

    id: str
    type: str
    queue: str
    question: str
    asked_at: datetime | None
    expires_at: datetime | None
    at_deadline: str | None
    deciders: list[str]
    remind: float | None
    tenant: str | None
    args: Any
    output: Any
    before: Any
    may_decide: bool


class ReviewQuery(Query, frozen=True):
    """A page of reviews."""

    limit: Limit = 50
    after: str | None = None


class ReviewPage(msgspec.Struct, kw_only=True):
    """A page of reviews, the oldest job first; `after` fetches the next one."""

    reviews: list[ReviewDetail]
    after: str | None


@operation("GET", "/api/reviews", tenants=True, personal=True)
def list_reviews(call: Call, query: ReviewQuery) -> ReviewPage:
    """Return the jobs in review, the oldest first, page by page. A page of a tenant may be short and have a next one."""
    after = query.after or None
    known = None if after is None else call.app.store.get(after)
    if after is not None and (known is None or not call.sees(known.tenant)):
        raise NotFound(f"there is no job {after:.60} any more: start from the beginning, without after")
    found, last = _page(call, query.limit, after)
    return ReviewPage(reviews=[review_detail(call, job) for job in found], after=last)


def _page(call: Call, limit: int, after: str | None) -> tuple[list[Job], str | None]:
    """Return jobs in review that the caller sees, and the last of them if there may be more: never a job of others."""
    found: list[Job] = []
    size, looked = limit if call.who.tenant is None else max(limit, READ), 0
    while True:
        ids = call.app.store.reviews(size, after)
        found += [job for job in call.app.store.get_many(ids) if job.state == REVIEW and call.sees(job.tenant)]
        looked += size
        if len(ids) < size and len(found) <= limit:
            return found, None
        if len(found) >= limit or (found and looked >= LOOKED):
            return found[:limit], found[:limit][-1].id
        after = ids[-1]


def review_detail(call: Call, job: Job) -> ReviewDetail:
    """Return the review of a job with what it proposes."""
    output = json_records.kept(call.app.store.result, job.id)
    return ReviewDetail(
        **json_records.plain(review_of(job)), tenant=job.tenant, args=json_records.loaded(job.payload), output=output,
        before=output.get(BEFORE) if isinstance(output, dict) else None, may_decide=may_decide(call, job),
    )  # fmt: skip


def may_decide(call: Call, job: Job) -> bool:
    """Whether the caller may decide about a job in review."""
    return call.who.permits(OPERATOR) and denied(job, call.who.actor, call.who.roles) is None
