"""`tail`: prints what happens to jobs, one line for each event, until Ctrl-C."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import click

from ..control import json_records
from ..core.clock import SECOND, human, iso
from ..core.search_terms import Term
from ..core.states import REVIEW, RUNNING
from ..query import parse
from . import enqueue_args, exits
from .options import command, on_store
from .output import GLYPHS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..app import Mainstay
    from ..core.job import Job
    from .options import Target
    from .output import Output

    Key = tuple[str, str, int]

POLL = 0.5  # seconds
OVERLAP = 5 * SECOND  # that each look reads again: a transaction may commit late, and clocks differ
MOST = 1_000  # jobs of one kind in one look; the rest is counted
# Jobs that have not ended, and what happened to them.
LIVE = {RUNNING: "started", "retrying": "retrying", REVIEW: "review"}


class Event(NamedTuple):
    """Something that happened to a job."""

    at: int
    name: str
    job: Job

    @property
    def key(self) -> Key:
        """What tells this event from all others: a job is started and ends once under each token."""
        return self.name, self.job.id, 0 if self.name == "enqueued" else self.job.token


@command(
    """
    mainstay tail
    mainstay tail type:mail
    mainstay tail 'tenant:acme -type:ping' --since 5m
    mainstay tail --jsonl
    """
)
@click.argument("query", nargs=-1)
@click.option("--since", metavar="DURATION", help="Begin with what happened since then; default: from now on.")
@on_store("Print only the ids of the jobs.")
def tail(target: Target, output: Output, query: tuple[str, ...], since: str | None) -> int:
    """Print what happens to jobs, as it happens.

    A job is enqueued, started, retrying after a failed attempt, in review, completed, dead or cancelled. The store is read twice a
    second: of a job that starts and ends in between, only the end is printed. A search, as for mainstay ls, says which jobs; Ctrl-C ends it.
    """
    begin = 0 if since is None else round(enqueue_args.duration("--since", since) * 1000)
    with target.reading() as app:
        now = app.clock.now()
        following = Following(app, parse(" ".join(query), now), now - begin)
        try:
            while True:
                output.now = app.clock.now()
                for event in following.look():
                    _print(output, event)
                if following.missed:
                    output.talk(
                        f"{following.missed} kinds of events had more than {MOST:,} jobs: a search, such as type:NAME, shows all"
                    )
                output.flush()
                time.sleep(POLL)
        except KeyboardInterrupt:
            return exits.INTERRUPTED


class Following:
    """What happens to the jobs of a search from an instant on."""

    def __init__(self, app: Mainstay, terms: Sequence[Term], start: int) -> None:
        self._app, self._terms, self._start = app, list(terms), start
        self._since = start  # from when on the next look reads
        self._seen: dict[Key, int] = {}  # the events of the last looks that are in the past, and when they were seen
        self._live: dict[Key, Event] | None = None  # what the last look saw of jobs that have not ended
        self.missed = 0  # events of the last look, at least

    def look(self) -> list[Event]:
        """Return what is new, the oldest first."""
        now, self.missed = self._app.clock.now(), 0
        past = [event for event in self._past() if event.key not in self._seen]
        before, self._live = self._live, {event.key: event for event in self._present(now)}
        new = [event for key, event in self._live.items() if key not in before] if before is not None else self._first()
        self._since = max(self._start, now - OVERLAP)
        self._seen = {key: at for key, at in self._seen.items() if at >= now - 2 * OVERLAP}
        self._seen |= {event.key: now for event in past}
        return sorted([*past, *new], key=lambda event: event.at)

    def _first(self) -> list[Event]:
        """Return what runs now and was started in time. When others began to wait for a retry or a decision, nobody knows."""
        return [event for event in (self._live or {}).values() if event.name == "started" and event.at >= self._start]

    def _past(self) -> Iterator[Event]:
        for job in self._found(Term("created", ">=", (self._since,))):
            yield Event(job.created_at, "enqueued", job)
        for job in self._found(Term("finished", ">=", (self._since,))):
            yield Event(job.finished_at or 0, job.state, job)

    def _present(self, now: int) -> Iterator[Event]:
        for label, name in LIVE.items():
            for job in self._found(Term("state", "=", (label,))):
                yield Event((job.started_at or now) if label == RUNNING else now, name, job)

    def _found(self, term: Term) -> list[Job]:
        page = self._app.store.search([*self._terms, term], MOST, None, self._app.clock.now())
        self.missed += page.after is not None
        return self._app.store.get_many(page.ids)


def _print(output: Output, event: Event) -> None:
    job, took = event.job, json_records.durations(event.job, output.now)["took"]
    if output.shape.machine:
        known = {
            "at": iso(event.at), "event": event.name, "id": job.id, "type": job.type, "queue": job.queue, "attempt": job.attempt,
            "max_attempts": job.max_attempts, "worker": job.worker, "took": took / 1000 if took is not None and job.finished_at else None,
            "next": iso(job.run_at) if event.name == "retrying" and job.run_at else None,
            "error": job.error if event.name in ("retrying", "dead") else None, "reason": job.reason,
        }  # fmt: skip
        output.data(known)
    elif output.shape.quiet:
        output.line(job.id)
    else:
        label = next((label for label, name in LIVE.items() if name == event.name), event.name)
        glyph = (GLYPHS.get(label, "+"), label if label in GLYPHS else "dim")
        told = f"{event.name:9} {job.type} {job.id}"
        output.line(
            (output.moment(event.at), "dim"), " ", glyph, f" {told}", (f"  {_more(event, took, output.now)}", "dim")
        )


def _more(event: Event, took: int | None, now: int) -> str:
    """Return what is worth knowing of an event beside its job."""
    job = event.job
    tries = f"{job.attempt}/{job.max_attempts}"
    if event.name == "started":
        return f"{tries} on {job.worker}"
    if event.name == "retrying":
        return f"{tries} in {human(max((job.run_at or now) - now, 0))}: {job.error or ''}"
    if event.name in ("dead", "review", "cancelled"):
        return f"{tries}  {(job.error if event.name == 'dead' else None) or job.reason or ''}"
    return human(took) if event.name == "completed" and took is not None else ""
