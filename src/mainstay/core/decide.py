"""Decides what happens to a job that leaves `running`. Pure, so that every engine and the simulator share it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from . import states
from .job import Claimed, field_getter
from .outcome import COMPLETED, DEATHS
from .retry import CRASHES, wait
from .review import ask

if TYPE_CHECKING:
    from collections.abc import Callable

    from .draft import Draft
    from .outcome import Outcome


class Transition(NamedTuple):
    """A decided change of a running job. The store applies it only where id, state and token still match."""

    seq: int | str
    id: str
    token: int
    state: str
    attempt: int
    crashes: int
    run_at: int | None
    finished_at: int | None
    expires_at: int | None
    reason: str | None
    started_at: int
    number: int  # the attempt's number while it ran; a release lowers `attempt`
    worker: str | None
    at: int
    outcome: str
    error: str | None
    traceback: str | None
    result: str | None
    children: tuple[Draft, ...]  # enqueued if the job completes, kept if it waits for review
    code: str | None = None  # of the error
    rules: str | None = None  # the job's, for the slots that it gives back
    review: str | None = None  # what is asked of a person, see `core.review`
    fingerprint: str | None = None  # of a job that dies: of what (`core.fingerprint`)
    type: str = ""  # the job's; this and the next: for the counters (`core.tally`)
    # How long the job was due when the attempt started; None: it came back to the queue, or that is unknown.
    waited: int | None = None

    @property
    def recorded(self) -> bool:
        """Whether the attempt gets a record of its own. The job row itself tells of one that completed or was released."""
        return self.error is not None or (self.outcome, self.state) not in _UNRECORDED


_UNRECORDED = {("completed", states.COMPLETED), ("released", states.QUEUED), ("released", states.SCHEDULED)}


class Completed(Transition):
    """The transition of a job that completed without a result or children: nearly all of them. Recognised by its class."""

    __slots__ = ()


_KNOWN = field_getter(
    Claimed, "seq", "id", "token", "attempt", "crashes", "keep", "started_at", "worker", "rules", "type", "ord"
)


def decide(job: Claimed, outcome: Outcome, now: int, random: Callable[[], float], crashes: int = CRASHES) -> Transition:
    """Return what happens to a running job after this outcome."""
    if outcome is COMPLETED and not job.cancelling:  # nearly all of them
        return completed(job, now)
    kind = outcome.kind
    if job.cancelling or kind == "cancelled":
        reason = outcome.reason if kind == "cancelled" else None  # whatever else its handler did: it was asked to stop
        return _ended(job, outcome, now, states.CANCELLED, reason or "cancelled on request")
    if kind == "completed":
        return _ended(job, outcome, now, states.COMPLETED, outcome.reason)
    if kind == "released":
        state = states.SCHEDULED if outcome.delay else states.QUEUED
        return _waiting(job, outcome, now, state, now + outcome.delay, job.attempt - 1)
    if kind in ("review", "snoozed"):  # the run came to its end, so the crashes before it say nothing about the job
        job = job._replace(crashes=0)
    if kind == "review":
        return _review(job, outcome, now)
    if kind == "snoozed":
        return _waiting(job, outcome, now, states.SCHEDULED, now + outcome.delay, job.attempt - 1)
    return _failed(job, outcome, now, random, crashes)


def completed(job: Claimed, now: int) -> Completed:
    """Return what happens to a job that returned nothing and enqueued nothing."""
    seq, id, token, attempt, crashes, keep, started_at, worker, rules, type, ord = _KNOWN(job)
    expires = None if keep is None else now + keep
    waited = (started_at - ord if started_at > ord else 0) if token == attempt and not crashes else None
    return tuple.__new__(Completed, (
        seq, id, token, states.COMPLETED, attempt, crashes, None, now, expires, None,
        started_at, attempt, worker, now, "completed", None, None, None, (), None, rules, None, None, type, waited,
    ))  # fmt: skip


def _failed(job: Claimed, outcome: Outcome, now: int, random: Callable[[], float], crashes: int) -> Transition:
    if outcome.kind in DEATHS:
        job = job._replace(crashes=job.crashes + 1)
        if job.crashes >= crashes:
            return _ended(job, outcome, now, states.DEAD, f"poison: {job.crashes} workers died while they ran it")
    if not outcome.retry:
        return _ended(job, outcome, now, states.DEAD, outcome.reason or "permanent")
    if outcome.kind == "lost_unknown":  # it may not have started, so it loses no attempt
        return _waiting(job, outcome, now, states.QUEUED, now, job.attempt - 1)
    if job.attempt >= job.max_attempts:
        return _ended(job, outcome, now, states.DEAD, "attempts used up")
    if outcome.kind == "crashed":  # the job may not be the cause: no wait
        return _waiting(job, outcome, now, states.QUEUED, now, job.attempt)
    pause = max(outcome.delay, wait(job.backoff, job.attempt, random))
    return _waiting(job, outcome, now, states.SCHEDULED, now + pause, job.attempt)


def _ended(job: Claimed, outcome: Outcome, now: int, state: str, reason: str | None) -> Transition:
    expires = None if job.keep is None or state == states.DEAD else now + job.keep
    result, children = (outcome.result, outcome.children) if state == states.COMPLETED else (None, ())
    return Transition(
        job.seq, job.id, job.token, state, job.attempt, job.crashes, None, now, expires, reason,
        job.started_at, job.attempt, job.worker, now, outcome.kind, outcome.error, outcome.traceback, result, children,
        outcome.code, job.rules, None,
        _fingerprint(job, outcome, reason) if state == states.DEAD else None, job.type, _waited(job),
    )  # fmt: skip


def _fingerprint(job: Claimed, outcome: Outcome, reason: str | None) -> str:
    from .fingerprint import fingerprint  # few jobs die

    return fingerprint(job.type, outcome.error, outcome.traceback, reason)


def _review(job: Claimed, outcome: Outcome, now: int) -> Transition:
    """Children wait beside the proposed result until the job is approved, so there is a result where there are children."""
    result = "null" if outcome.children and outcome.result is None else outcome.result
    waiting = _waiting(job, outcome, now, states.REVIEW, None, job.attempt)
    asked = ask(outcome.reason, outcome.review, job.token, now)
    return waiting._replace(result=result, children=outcome.children, review=asked)


def _waiting(job: Claimed, outcome: Outcome, now: int, state: str, run_at: int | None, attempt: int) -> Transition:
    return Transition(
        job.seq, job.id, job.token, state, attempt, job.crashes, run_at, None, None, outcome.reason,
        job.started_at, job.attempt, job.worker, now, outcome.kind, outcome.error, outcome.traceback, outcome.result, (), outcome.code,
        job.rules, None, None, job.type, _waited(job),
    )  # fmt: skip


def _waited(job: Claimed) -> int | None:
    """Return how long the job was due when it started. One that came back to the queue has kept its place there: that tells nothing."""
    return max(0, job.started_at - job.ord) if job.token == job.attempt and not job.crashes else None
