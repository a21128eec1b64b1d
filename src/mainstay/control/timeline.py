"""What happened to one job, in order: its attempts, their stages and warnings, and what operators did. The command line and the API show it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from ..core.clock import human
from ..core.states import RUNNING, SCHEDULED
from ..core.updates import WARNED
from .logs import shown_level

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..core.job import Action, Attempt, Job, LogLine

EVENTS = 5  # stages, warnings and errors of an attempt in the timeline
DECIDED = {"approve": "approved", "reject": "rejected", "expire": "ended"}  # actions that end a review
OUTCOMES = {"review": "asked for a review", "released": "was released", "snoozed": "was snoozed"}


class Event(NamedTuple):
    """One event. Kinds: created, started, stage, log, more, cancel, ended, finished, retried, due."""

    at: int
    kind: str
    what: str
    text: str = ""


class Stage(NamedTuple):
    """A stage of an attempt; `took` is in milliseconds, None while it runs."""

    name: str
    attempt: int
    started_at: int | None
    took: int | None
    failed: bool


def timeline(job: Job, attempts: Sequence[Attempt], actions: Sequence[Action], lines: Sequence[LogLine]) -> list[Event]:
    """Return the events of a job.

    They are in the order in which they happened, not sorted by time: each worker has its own clock, so an attempt may begin in
    the millisecond before the last one ended.
    """
    events = [Event(job.created_at, "created", "created")]
    again = [each for each in reversed(actions) if each.action == "retry"]
    for attempt in attempts:
        events += [_retried(again.pop(0)) for each in list(again) if each.at <= attempt.started_at]
        events += _attempt(job, attempt, lines)
    if job.finished_at is not None and not (attempts and attempts[-1].ended_at == job.finished_at):
        events.append(Event(job.finished_at, "finished", job.state, _decided(job, actions)))
    events += map(_retried, again)
    if job.run_at is not None and job.state == SCHEDULED:
        events.append(Event(job.run_at, "due", "due"))
    return events


def gaps(events: Sequence[Event]) -> list[int]:
    """Return the milliseconds from each event to the next; clocks may differ, so none is negative."""
    return [max(later.at - sooner.at, 0) for sooner, later in pairwise(events)]


def _attempt(job: Job, attempt: Attempt, lines: Sequence[LogLine]) -> list[Event]:
    by = f"on {attempt.worker}" if attempt.worker else ""
    events = [Event(attempt.started_at, "started", f"attempt {attempt.number} started", by)]
    events += _told(lines, attempt.token)
    asked = job.cancel_at if job.cancel_at != job.finished_at else None  # else it did not run when it was cancelled
    if asked is not None and attempt.token == job.token:
        events.append(Event(asked, "cancel", "cancel requested"))
    if attempt.ended_at is not None:
        how = OUTCOMES.get(attempt.outcome, attempt.outcome)
        more = " · ".join(filter(None, (attempt.code, attempt.error)))
        events.append(Event(attempt.ended_at, "ended", f"attempt {attempt.number} {how}", more))
    return events


def _told(lines: Sequence[LogLine], token: int) -> list[Event]:
    """Return the stages, warnings and errors of an attempt as events: the last ones, if there are many."""
    found = [event for line in lines if line.token == token and (event := _event(line)) is not None]
    left = len(found) - EVENTS
    note = [Event(found[left].at, "more", f"… {left:,} earlier in the log")] if left > 0 else []
    return note + found[-EVENTS:]


def _event(line: LogLine) -> Event | None:
    if ended := _stage_end(line):
        return Event(line.at, "stage", f"stage {line.stage} {ended}", f"in {human(line.fields['ms'])}")
    level = shown_level(line)
    return Event(line.at, "log", level, line.message.split("\n")[0]) if level in WARNED else None


def _stage_end(line: LogLine) -> str:
    """Return how a stage ended, if a line says that; "" for any other line."""
    ended = line.message.removeprefix(f"{line.stage} ")
    return ended if line.stage and ended in ("done", "failed") and isinstance(line.fields.get("ms"), int) else ""


def _decided(job: Job, actions: Sequence[Action]) -> str:
    """Return who ended the last review of a job, and why."""
    last = next((each for each in actions if each.action in DECIDED or each.action == "retry"), None)
    if last is None or last.action not in DECIDED:
        return ""
    return f"{DECIDED[last.action]} by {last.actor}: {job.reason}"


def _retried(action: Action) -> Event:
    return Event(action.at, "retried", f"run again by {action.actor}", str(action.detail.get("note") or ""))


def stages(job: Job, attempts: Sequence[Attempt], lines: Sequence[LogLine]) -> list[Stage]:
    """Return the stages of all attempts in the order in which they ended, then the one that runs."""
    numbers = {attempt.token: attempt.number for attempt in attempts}
    found = [
        Stage(line.stage or "", numbers.get(line.token, 0), line.at - line.fields["ms"], line.fields["ms"], ended == "failed")
        for line in lines
        if (ended := _stage_end(line))
    ]  # fmt: skip
    if job.state == RUNNING and job.stage:
        found.append(Stage(job.stage, job.attempt, _since(job, lines), None, failed=False))
    return found


def _since(job: Job, lines: Sequence[LogLine]) -> int | None:
    """Return when the running stage had begun at the latest: stages tell when they end, so its first line is what is known."""
    return next((line.at for line in lines if line.token == job.token and line.stage == job.stage and not _stage_end(line)), None)  # fmt: skip
