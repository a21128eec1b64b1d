"""What a store's reply to an operator's action means: the reply itself, or an exception that says what to do instead."""

from __future__ import annotations

from .core import keys
from .core.change import INVALID
from .core.errors import Conflict, InvalidPayload, NotFound
from .core.review import AGAIN

_DONE = {
    "cancel": ("cancelled", "cancelling"), "retry": ("queued",), "delete": ("deleted",), "decide": ("approved", "rejected"),
    "change": ("changed",),
}  # fmt: skip
_REFUSED = {
    ("cancel", "ended"): "the job has ended: there is nothing to cancel",
    ("retry", "running"): "the job is running: cancel it first, or wait for it to end",
    ("retry", "queued"): "the job is queued already",
    ("retry", "completed"): "the job completed: app.copy(id) enqueues a copy",
    ("delete", "running"): "the job is running: cancel it first",
    ("change", "running"): "the job is running: cancel it first, or wait for it to end",
    ("change", "review"): "the job is in review: approve, reject or retry it",
    ("change", "ended"): "the job has ended: retry it, or enqueue a copy of it",
    ("change", "same"): "the job is so already: nothing has changed",
    ("change", "late"): "the job has to start before that time: give an earlier one, or retry it",
    ("change", "stale"): "the job's arguments have changed meanwhile: look at it again",
}


_INSTEAD = {
    "completed": "app.copy(id) or mainstay retry ID --copy does the work again",
    **dict.fromkeys(("dead", "cancelled"), "app.retry(id) or mainstay retry ID runs it again"),
}


def checked(verb: str, job_id: str, verdict: str) -> str:
    """Return the store's reply, or raise the exception that it means."""
    if verdict == "missing":
        raise NotFound(f"there is no job {job_id}")
    if verdict in _DONE[verb]:
        return verdict
    if verdict == AGAIN:
        raise Conflict(f"job {job_id} has run again and asks anew: look at it again, then decide")
    if verb == "decide":
        then = _INSTEAD.get(verdict, "it may ask for a review when it runs")
        raise Conflict(f"job {job_id} is {verdict}, not in review: there is nothing to decide; {then}")
    if verdict.startswith(keys.DUPLICATE):
        raise Conflict(keys.explained(verdict))
    if verdict.startswith(INVALID):
        raise InvalidPayload(
            verdict.removeprefix(INVALID).removeprefix(": ") or "the payload does not fit the job type"
        )
    raise Conflict(_REFUSED.get((verb, verdict), f"cannot {verb} job {job_id}: it is {verdict}"))


def forgotten(type: str, key: str, job_id: str | None) -> str:
    """Return the job that had a key for ever, or raise: nobody had."""
    if job_id is None:
        raise NotFound(f"the key {key!r} of type {type} is not taken for ever", "mainstay keys ls")
    return job_id
