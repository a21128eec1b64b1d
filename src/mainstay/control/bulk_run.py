"""One operation on many jobs: found page by page, changed chunk by chunk, stopped at any time and resumed at its place.

The line of the audit trail is its record: each chunk writes the place that it has reached in its own transaction. A search goes from
the newest job to the oldest, so jobs that are created after the first one it has found are not touched.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.bulk import PLACE, PLAN, Bulk, new_bulk
from ..core.change import CHANGED, INVALID, Wish
from ..core.errors import Conflict, MainstayError, NotFound, refuse_nul
from ..core.states import REVIEW
from .reviews import DENIED, denied

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ..app import Mainstay
    from ..core.change import Edit
    from ..core.job import Job
    from ..core.search_terms import Term
    from .edits import Editor

    Act = Callable[["Run", list[str], Bulk | None], dict[str, str]]

PAGE = 20_000  # ids in memory
CHUNK = 200  # jobs per transaction, so that others get a turn in between
REST, LONGEST_REST = 2.5, 1.0  # after a chunk: so many times as long as it took, and no more seconds than that
END = "~"  # behind an id: a place that is just before that job


class Progress(NamedTuple):
    """How far an operation is, and what became of each job of the last chunk."""

    id: str  # of the operation
    done: int
    matched: int
    jobs: Mapping[str, str]


class Report(NamedTuple):
    """What an operation did. `id` resumes it if it was stopped; "" if there was nothing to resume."""

    id: str
    verb: str
    matched: int
    changed: int = 0
    refused: Mapping[str, int] = {}  # how many jobs were not changed, by reason
    results: Mapping[str, int] = {}  # how many were changed, by result; without those before it was resumed
    why: Mapping[str, str] = {}  # more about a reason, from the first job that was refused for it
    types: Mapping[str, int] = {}  # how many jobs match, by type; of a dry run and a preview
    jobs: Mapping[str, str] = {}  # what became of each job, if they were given by id


class Verb(NamedTuple):
    """An action on many jobs: the results that mean it was done, and how many jobs one transaction takes."""

    name: str
    done: tuple[str, ...]
    act: Act
    chunk: int = CHUNK


def newest(app: Mainstay, terms: Sequence[Term], at: int) -> str:
    """Return the place just before the newest job that matches; "" if none does."""
    page = app.store.search(terms, 1, None, at)
    while not page.ids and page.after is not None:
        page = app.store.search(terms, 1, page.after, at)
    return page.ids[0] + END if page.ids else ""


class Run:
    """One operation, new or resumed."""

    def __init__(
        self, app: Mainstay, verb: Verb, actor: str, arguments: Mapping[str, Any], search: str, terms: Sequence[Term], at: int,
        declared: bool = False,
    ) -> None:  # fmt: skip
        self.note, self.roles = arguments.get("note", ""), arguments.get("roles", ())
        refuse_nul(search=search, actor=actor, note=self.note, roles=" ".join(self.roles))
        self.declared = declared  # nobody has checked who the actor is
        self.app, self.verb, self.actor, self.arguments = app, verb, actor, arguments
        self.search, self.terms, self.at = search, terms, at
        self.id, self.matched, self.changed = new_bulk().id, 0, 0
        self.refused: Counter[str] = Counter()
        self.results: Counter[str] = Counter()
        self.why: dict[str, str] = {}
        self.top = self.place = ""  # the place before the newest job; the one that was reached
        self.was: str | None = None  # the place in the audit trail
        self.told: dict[str, Any] = {}  # what the next chunk tells beside what each of them does
        self.editor: Editor  # of an operation that amends

    @property
    def done(self) -> int:
        """How many jobs were looked at."""
        return self.changed + self.refused.total()

    def report(self, **given: Any) -> Report:
        """Return what was done so far."""
        counts = self.changed, dict(self.refused), dict(self.results)
        return Report(self.id, self.verb.name, self.matched, *counts, self.why, **given)

    # a search -----------------------------------------------------------------------------------------------------
    def whole(self, progress: Callable[[Progress], object] | None) -> Report:
        """Do what is left to be done; an exception of `progress` stops it between two chunks."""
        for ids, last in self._chunks():
            began = time.monotonic()
            results = self._step(ids, last)
            if progress is not None:
                progress(Progress(self.id, self.done, max(self.matched, self.done), results))
            if not last:
                time.sleep(min(REST * (time.monotonic() - began), LONGEST_REST))
        return self.report()

    def _chunks(self) -> Iterator[tuple[list[str], bool]]:
        """Return the ids that are left, and of the last chunk that it is the last.

        A page is found before the end of the one before it is changed: its last job is the place from which to go on, and must be there.
        """
        held: list[str] = []
        place: str | None = self.place
        while place:
            page = self.app.store.search(self.terms, PAGE, place, self.at)
            held += page.ids
            place = page.after
            while len(held) > self.verb.chunk:
                yield held[: self.verb.chunk], False
                held = held[self.verb.chunk :]
        if held or self.was is not None:
            yield held, True

    def _step(self, ids: list[str], last: bool) -> dict[str, str]:
        reached = None if last else ids[-1]
        bulk = Bulk(self.id, self.verb.name, {**self._line(last), **self.told, PLACE: reached}, self.was)
        if ids:
            results = self.verb.act(self, ids, bulk)
        else:  # none is left: the line says so
            results = self.app.store.cancel([], self.app.clock.now(), self.actor, (), bulk)
        self.was, self.told = reached, {}
        self.tally(results)
        return results

    def _line(self, last: bool) -> dict[str, Any]:
        """Return what the line of the operation says; what is needed to resume it is removed at the end."""
        plan = None if last else json.dumps({"at": self.at, "top": self.top})
        given = json.dumps(self.arguments, ensure_ascii=False) if self.arguments else None
        return {"bulk": self.id, "search": self.search, "matched": self.matched, "with": given, PLAN: plan}

    # jobs by id -----------------------------------------------------------------------------------------------------
    def by_ids(self, ids: Sequence[str], progress: Callable[[Progress], object] | None = None) -> Report:
        """Do it to jobs that are given by id. This is not resumed: the caller knows the ids."""
        results: dict[str, str] = {}
        self.matched = len(ids)
        bulk = Bulk(self.id) if len(ids) > 1 else None
        for start in range(0, len(ids), self.verb.chunk):
            found = self.verb.act(self, list(ids[start : start + self.verb.chunk]), bulk)
            results |= found
            self.tally(found)
            if progress is not None:
                progress(Progress(self.id, self.done, self.matched, found))
        return self.report(jobs=results)._replace(id="")

    def tally(self, results: Mapping[str, str]) -> None:
        """Count what became of jobs."""
        for result in results.values():
            word, _, more = result.partition(" ")
            word = word.rstrip(":")
            if word in self.verb.done:
                self.changed += 1
                self.results[word] += 1
            else:
                self.refused[word] += 1
                self.why.setdefault(word, more)

    # what the verbs need --------------------------------------------------------------------------------------------
    def reviewed(self, ids: Sequence[str]) -> list[Job]:
        """Return those of the jobs that are in review. Where the search finds no such jobs, none is read."""
        if not all((REVIEW in term.values) != term.negated for term in self.terms if term.field == "state"):
            return []
        return [job for job in self.app.store.get_many(ids) if job.state == REVIEW]

    def denied(self, jobs: Iterable[Job]) -> dict[str, str]:
        """Return the jobs whose review this actor may not decide, and why."""
        return {job.id: why for job in jobs if (why := denied(job, self.actor, self.roles))}

    def times(self, ids: Sequence[str]) -> list[int]:
        """Return when each of these jobs is to start, the oldest of all first; nothing: now."""
        spread = self.arguments.get("stagger")
        if not spread:
            return []
        places = range(self.matched - 1 - self.done, self.matched - 1 - self.done - len(ids), -1)
        return [self.at + spread * max(place, 0) // max(self.matched, 1) for place in places]

    def edits(self, ids: Sequence[str]) -> tuple[dict[str, Edit], dict[str, str]]:
        """Return the edits of these jobs, and why others have none."""
        found, refused = {}, {}
        for job in self.app.store.get_many(ids):
            try:
                found[job.id] = self.editor.edit(job)
            except MainstayError as error:
                refused[job.id] = f"{INVALID}: {error}"
        return found, refused


# the verbs ------------------------------------------------------------------------------------------------------------
def _plain(name: str) -> Act:
    def act(run: Run, ids: list[str], bulk: Bulk | None) -> dict[str, str]:
        results: dict[str, str] = getattr(run.app.store, name)(ids, run.app.clock.now(), run.actor, run.terms, bulk)
        return _labelled(run.app, results)

    return act


def _labelled(app: Mainstay, results: dict[str, str]) -> dict[str, str]:
    """Return results; of jobs that run, those that are being cancelled say so."""
    running = [job for job, result in results.items() if result == "running"]
    return results | {job.id: job.label for job in app.store.get_many(running) if job.label == "cancelling"}


def _retry(run: Run, ids: list[str], bulk: Bulk | None) -> dict[str, str]:
    refused, times = run.denied(run.reviewed(ids)), dict(zip(ids, run.times(ids), strict=False))
    left = [job for job in ids if job not in refused]
    given = run.note, run.declared, [times[job] for job in left if times]
    found = run.app.store.retry(left, run.app.clock.now(), run.actor, run.terms, _without(bulk, refused), *given)
    return refused | _labelled(run.app, found)


def _without(bulk: Bulk | None, refused: Mapping[str, str]) -> Bulk | None:
    """Return a bulk action whose line counts the jobs that were left alone, because the actor may not decide about them."""
    return bulk and bulk._replace(refused=[DENIED] * len(refused))


def _change(run: Run, ids: list[str], bulk: Bulk | None) -> dict[str, str]:
    wish = Wish(**run.arguments)
    return _labelled(run.app, run.app.store.change(ids, run.app.clock.now(), run.actor, wish, run.terms, bulk))


def _amend(run: Run, ids: list[str], bulk: Bulk | None) -> dict[str, str]:
    edits, refused = run.edits(ids)
    found = run.app.store.change(ids, run.app.clock.now(), run.actor, Wish(edits=edits), run.terms, bulk, run.note)
    return found | {job: why for job, why in refused.items() if found[job] == INVALID}


def _resolve(approve: bool) -> Act:
    def act(run: Run, ids: list[str], bulk: Bulk | None) -> dict[str, str]:
        (job_id,), store, now = ids, run.app.store, run.app.clock.now()
        jobs = run.reviewed(ids)
        if refused := run.denied(jobs):
            store.cancel([], now, run.actor, (), _without(bulk, refused))  # the line says so
            return refused
        given = now, run.actor, run.note, run.terms, bulk
        token, output = jobs[0].token if jobs else None, run.arguments.get("output")
        return {
            job_id: store.resolve_review(job_id, approve, *given, output=output, token=token, declared=run.declared)
        }

    return act


def _copy(run: Run, ids: list[str], _bulk: Bulk | None) -> dict[str, str]:
    return {job: _copied(run.app, job) for job in ids}


def _copied(app: Mainstay, job_id: str) -> str:
    try:
        return f"copied as {app.copy(job_id).id}"
    except NotFound:
        return "missing"
    except Conflict:
        return "alive"


VERBS = {
    verb.name: verb
    for verb in (
        Verb("retry", ("queued", "scheduled"), _retry),
        Verb("copy", ("copied",), _copy),  # leaves no line, so it cannot be resumed
        Verb("cancel", ("cancelled", "cancelling"), _plain("cancel")),
        Verb("delete", ("deleted",), _plain("delete")),
        Verb("approve", ("approved",), _resolve(approve=True), 1),
        Verb("reject", ("rejected",), _resolve(approve=False), 1),
        Verb("reprioritise", (CHANGED,), _change),
        Verb("requeue", (CHANGED,), _change),
        Verb("reschedule", (CHANGED,), _change),
        Verb("amend", (CHANGED,), _amend, 50),
    )
}
