"""Reviews as an application sees them: who may decide, and what a decision does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.errors import Conflict, InvalidPayload, NotAllowed, NotFound
from ..core.review import Asked, unpack
from ..core.search_terms import Term
from ..core.states import REVIEW
from ..redacting import redactor
from ..refusals import checked
from .records import ReviewRecord
from .rules import instant

if TYPE_CHECKING:
    from collections.abc import Collection

    from ..app import Mainstay
    from ..core.job import Job

PROPOSED: Any = ...  # in place of an output: the one that the handler proposed
DENIED = "denied"  # why a job was not changed: another is to decide
IN_REVIEW = Term("state", "=", (REVIEW,))


def asked(job: Job) -> Asked:
    """Return what a job in review asks. A worker with older code has stored the question alone."""
    found = unpack(job.review) if job.review else None
    return found if found and found.token == job.token else Asked(job.reason or "", job.token, job.created_at)


def denied(job: Job, actor: str, roles: Collection[str]) -> str | None:
    """Return why this actor may not decide about a job in review; None: it may."""
    try:
        asked(job).check(actor, roles)
    except NotAllowed as error:
        return f"{DENIED}: {error}"
    return None


def resolve(
    app: Mainstay, job: Job, approve: bool, note: str, actor: str, roles: Collection[str] = (), output: Any = PROPOSED,
    *, declared: bool = False,
) -> str:  # fmt: skip
    """Approve or reject a job as it was read in review, if this actor may; return approved or rejected.

    The note becomes the reason for the job's state, so it is stored without secrets, as errors are.
    """
    in_review(job)
    asked(job).check(actor, roles)
    text = None if output is PROPOSED else encoded(app, job.type, output)
    found = app.store.resolve_review(
        job.id, approve, app.clock.now(), actor, redactor().text(note), output=text, token=job.token, declared=declared
    )
    return checked("decide", job.id, found)


def retry(app: Mainstay, job: Job, note: str, actor: str, roles: Collection[str] = ()) -> str:
    """Run a job again; one in review only if this actor may decide about it."""
    if job.state == REVIEW:
        asked(job).check(actor, roles)
    terms = [IN_REVIEW] if job.state == REVIEW else []
    found = app.store.retry([job.id], app.clock.now(), actor, terms, note=note)[job.id]
    if found == "unmatched":
        raise Conflict(f"job {job.id} is not in review any more: look at it again")
    return checked("retry", job.id, found)


def in_review(job: Job) -> None:
    """Raise `Conflict` unless a job is in review."""
    if job.state != REVIEW:
        checked("decide", job.id, job.label)


def encoded(app: Mainstay, type: str, output: Any) -> str:
    """Return an output as JSON. If the handler's code is here, it must fit the return type that it declares."""
    from ..core.codec import encode_result

    text = encode_result(output) or "null"
    known = app.registry.get(type)
    if known is not None:
        try:
            known.schema.check_result(text)
        except InvalidPayload as error:
            place = str(error).replace("payload", "output", 1).replace("[...]", " (one of its values)", 1)
            raise InvalidPayload(f"the output does not fit what {type} returns: {place}") from None
    return text


def reviews(app: Mainstay, limit: int, after: str | None) -> list[ReviewRecord]:
    """Return the jobs in review, the oldest first."""
    if after is not None and app.store.get(after) is None:
        raise NotFound(f"there is no job {after} any more: start from the beginning, without after=")
    found = app.store.get_many(app.store.reviews(limit, after))
    return [review_of(job) for job in found if job.state == REVIEW]


def review_of(job: Job) -> ReviewRecord:
    """Return the review of a job as data."""
    from datetime import timedelta

    found = asked(job)
    remind = None if found.remind is None else timedelta(milliseconds=found.remind)
    return ReviewRecord(
        job.id, job.type, job.queue, found.question, instant(found.at), instant(found.expires_at),
        None if found.expires_at is None else found.at_deadline, found.deciders, remind,
    )  # fmt: skip
