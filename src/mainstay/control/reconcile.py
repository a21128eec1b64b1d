"""Reconciliation: does what completed jobs did still hold? It reports, and never mends.

The jobs that ended last come first, so the first job about a thing decides what must hold of it: earlier ones are superseded.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from inspect import iscoroutine
from typing import TYPE_CHECKING

from ..core.clock import span
from ..core.errors import StoreError, UsageError
from ..core.payload import clean
from ..core.search_terms import Term
from ..core.states import CANCELLED, COMPLETED, DEAD, ENDED, STATES
from ..core.verification import problem
from ..job import job_of
from .records import Discrepancy, Reconciliation
from .rules import instant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..app import Mainstay
    from ..core.clock import Duration
    from ..core.job import Job
    from ..core.verification import Verification
    from ..job import Job as UserJob

PAGE = 100  # jobs that are read at once, with their payloads
LISTED = 1_000  # discrepancies that a report has; all are counted
UNFINISHED = 10_000  # jobs that are looked at for one that changes the same thing now
TEXT = 500  # characters
WRONG, CHANGING, UNCHECKED = KINDS = ("wrong", "changing", "unchecked")
ALIVE = Term("state", "=", tuple(state for state in STATES if state not in ENDED))


def reconcile(
    app: Mainstay, types: Sequence[str] = (), since: Duration | None = None, limit: int | None = None,
    going: Callable[[], bool] = lambda: True,
) -> Reconciliation:  # fmt: skip
    """Check completed jobs of these types, or of all that have `verify=`, and return what does not hold.

    It looks at jobs that ended within the time `since`, and at `limit` ended jobs at most. It stops early when `going` returns False.
    """
    return _Check(app, types, going).run(0 if since is None else app.clock.now() - span("since", since), limit)


def verifications(app: Mainstay) -> dict[str, Verification]:
    """Return what the types that have `verify=` declare, by name and alias."""
    found = {name: type.verification for name, type in app.registry.items()}
    return {name: each for name, each in found.items() if each is not None}


class _Check:
    """One reconciliation."""

    def __init__(self, app: Mainstay, types: Sequence[str], going: Callable[[], bool]) -> None:
        self._app, self._going = app, going
        self._declared = verifications(app)  # of all types: one that is not asked for supersedes others, too
        self._chosen = set(app.registry.served(types or None)) & set(self._declared)
        for name in types:
            if name not in self._declared:
                raise UsageError(f"{name} has no verify=: only types that say how to check a job are checked")
        self._seen: set[str] = set()
        self._found: list[Discrepancy] = []
        self._count: Counter[str] = Counter()
        self._looked_at: set[str] = set()  # jobs that ended when the check had begun, or in the same moment
        self._began = app.clock.now()

    def run(self, since: int, limit: int | None) -> Reconciliation:
        for job in self._ended(since, limit) if self._declared else ():
            self._count["looked"] += 1
            if (job.finished_at or 0) >= self._began:
                self._looked_at.add(job.id)
            if job.state == COMPLETED and job.type in self._declared:
                self._look(job)
        complete = not self._count["more"]
        if self._count[WRONG]:
            self._mark_changing()
        report = Reconciliation(
            tuple(self._found), self._count["checked"], self._count["superseded"], self._count["looked"], complete,
            *(self._count[kind] for kind in KINDS),
        )  # fmt: skip
        for found in report.found:
            self._app.events.emit("discrepancy", found=found)
        self._app.events.emit("reconciled", report=report)
        return report

    def _ended(self, since: int, limit: int | None) -> Iterator[Job]:
        """Return ended jobs, the last one first."""
        after, left = None, limit
        while left is None or left > 0:
            size = PAGE if left is None else min(PAGE, left)
            ids, after = self._app.store.ended(since, size, after)
            for job in self._app.store.get_many(ids):
                if not self._going():
                    self._count["more"] = 1
                    return
                yield job
            if after is None:
                return
            left = None if left is None else left - size
        self._count["more"] = len(self._app.store.ended(since, 1, after)[0])

    def _look(self, found: Job) -> None:
        """Check a completed job, unless a later one was about the same thing."""
        subject = found.id
        try:
            subject = self._subject(found)
            if subject in self._seen:
                self._count["superseded"] += 1
                return
            self._seen.add(subject)
            if found.type in self._chosen:
                self._count["checked"] += 1
                self._verify(found, subject)
        except StoreError:
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001  (mostly of the user's code: nothing is known about what the job did)
            self._add(found, subject, UNCHECKED, f"{type(error).__name__}: {error}")

    def _subject(self, found: Job) -> str:
        name = self._app.registry[found.type].name
        return self._declared[found.type].subject_of(name, self._job(found))

    def _verify(self, found: Job, subject: str) -> None:
        returned = self._declared[found.type].holds(self._job(found))
        if iscoroutine(returned):
            import asyncio

            returned = asyncio.run(returned)
        wrong = problem(returned)
        if wrong is not None:
            self._add(found, subject, WRONG, wrong)

    def _job(self, found: Job) -> UserJob:
        """Return a job as the functions of its type read it: its payload has the version of this code."""
        kind = self._app.registry[found.type]
        if found.version != kind.version:
            payload = kind.upgraded(found.payload, found.version)
            found = found._replace(payload=payload, version=kind.version)
        return job_of(found, self._app.store)

    def _add(self, found: Job, subject: str, kind: str, text: str) -> None:
        self._count[kind] += 1
        if len(self._found) < LISTED:
            made = Discrepancy(
                found.id, found.type, clean(subject, TEXT), kind, clean(text, TEXT), instant(found.finished_at)
            )
            self._found.append(made)

    def _mark_changing(self) -> None:
        """Mark what a job changes now, or has changed during the check: what was found may be half of that change."""
        others = self._others()
        for place, each in enumerate(self._found):
            other = others.get(each.subject)
            if each.kind == WRONG and other is not None:
                self._found[place] = each._replace(kind=CHANGING, other=other)
                self._count.update({WRONG: -1, CHANGING: 1})

    def _others(self) -> dict[str, str]:
        """Return the jobs of the verified types that have not ended, or ended since the check began, by subject."""
        found: dict[str, str] = {}
        unfinished = list(self._unfinished())  # first: a job may end in between
        ended = (job for job in self._ended(self._began, UNFINISHED) if job.id not in self._looked_at)
        for job in (*unfinished, *ended):
            if job.type in self._declared and job.state not in (CANCELLED, DEAD):
                with suppress(Exception):  # such a job names nothing
                    found.setdefault(clean(self._subject(job), TEXT), job.id)
        return found

    def _unfinished(self) -> Iterator[Job]:
        terms, after, looked = [Term("type", "=", tuple(self._declared)), ALIVE], None, 0
        while looked < UNFINISHED:
            page = self._app.store.search(terms, PAGE, after, self._app.clock.now())
            yield from self._app.store.get_many(page.ids)
            after, looked = page.after, looked + PAGE
            if after is None:
                return
