"""The audit after a campaign: the checker over the history, the user's rows against the jobs, and the times of recovery."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from mainstay.core.retry import CRASHES
from mainstay.core.verdict import STORED
from tests.simulation.checker import check

from .evidence import history

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from mainstay import Mainstay
    from mainstay.core.job import Attempt, Job
    from tests.simulation.checker import Violation

    from .engines import Engine

    Line = dict[str, Any]

LOST, TWICE = ("I1",), ("I5",)
PAGE = 500


class Standing(NamedTuple):
    """A job at the end: itself, the item it was about, what it returned, how its attempts ended."""

    job: Job
    item: str
    result: Any
    attempts: list[Attempt]


class Audit:
    """All findings, sorted into those that break a promise outright and those that merely should not be."""

    def __init__(self, lines: list[Line], engine: Engine, app: Mainstay) -> None:
        self.lines, self.engine = lines, engine
        self.jobs = list(standing(app))
        self.violations = check(history(lines, engine.account(), (s.job for s in self.jobs)), live=True, ordered=False)
        self.acked = {answer for line in lines if line["op"] == "acked" for answer in line["answers"]}
        self.begun = {(line["job"], line["token"]) for line in lines if line["op"] == "start"}
        self.lost = self._broken(LOST) + list(self._never_begun())
        self.twice = self._broken(TWICE) + list(self._rows_twice())
        others = {violation.invariant for violation in self.violations}.difference(LOST, TWICE)
        self.unexpected = self._broken(others) + list(self._unexpected())

    def _broken(self, invariants: Container[str]) -> list[str]:
        return [str(violation) for violation in self.violations if violation.invariant in invariants]

    def _never_begun(self) -> Iterator[str]:
        """I1: an accepted job that was given up before any handler had seen it."""
        begun = {job for job, _ in self.begun}
        for s in self.jobs:
            if s.job.state == "dead" and s.job.id not in begun:
                yield f"I1: job {s.job.id} ({s.job.type} {s.item}) is dead ({s.job.reason}) and was never started"

    def _rows_twice(self) -> Iterator[str]:
        """Rows that were written together with a completion, more than once for one job, or by a stale attempt."""
        tokens = {s.job.id: s.job.token for s in self.jobs}
        for job, count in Counter(job for _, job, _ in self.engine.ledger()).items():
            if count > 1:
                yield f"I10: job {job} has {count} rows in the ledger"
        for _, job, token in self.engine.ledger():
            if tokens.get(job) != token:
                yield f"I10: the row of job {job} was written by token {token}, the job ended with {tokens.get(job)}"

    def _unexpected(self) -> Iterator[str]:
        yield from self._rows_apart()
        for item, count in Counter(s.item for s in self.jobs).items():
            if count > 1:
                yield f"I12: {count} jobs for {item}"
        asked = {line["job"] for line in self.lines if line["op"] == "cancel"}
        for s in self.jobs:
            wrong = astray(s, s.job.id in asked, self.begun)
            if wrong:
                yield f"job {s.job.id} ({s.job.type} {s.item}) {wrong}"
        yield from self.engine.damage()

    def _rows_apart(self) -> Iterator[str]:
        """I10: a row and its job, or a row and its completion, of which only one is there."""
        orders = set(self.engine.orders())
        for item in sorted(orders ^ {s.item for s in self.jobs if s.job.type == "order"}):
            yield f"I10: {item} has {'a row but no job' if item in orders else 'a job but no row'}"
        written = {job for _, job, _ in self.engine.ledger()}
        completed = {s.job.id for s in self.jobs if s.job.type == "ledger" and s.job.state == "completed"}
        for job in sorted(written ^ completed):
            yield f"I10: job {job} has {'a row but did not complete' if job in written else 'completed without its row'}"

    @property
    def again(self) -> int:
        """How many jobs were started again after the process that ran them was killed or counted out."""
        return sum(any(attempt.outcome == "crashed" for attempt in s.attempts) for s in self.jobs)

    def count(self, op: str) -> int:
        """How many lines of the journal are of this kind."""
        return sum(line["op"] == op for line in self.lines)

    def states(self) -> dict[str, int]:
        """How many jobs ended in each state."""
        return dict(Counter(s.job.state for s in self.jobs))

    def recoveries(self) -> list[float]:
        """For each job that a killed process held: the seconds from the kill to its next start."""
        crashed = {(s.job.id, a.token) for s in self.jobs for a in s.attempts if a.outcome == "crashed"}
        return sorted(recoveries(self.lines, crashed | set(freed(self.lines))))


def standing(app: Mainstay) -> Iterator[Standing]:
    """Every job in the store."""
    after = None
    while True:
        page = app.search("", PAGE, after)
        for job in app.store.get_many(page.ids):
            text = app.store.result(job.id)
            attempts = app.store.attempts(job.id)
            yield Standing(job, json.loads(job.payload).get("item", "?"), json.loads(text) if text else None, attempts)
        after = page.after
        if after is None:
            return


def astray(s: Standing, cancelled: bool, begun: Container[tuple[str, int]]) -> str:
    """What is wrong with the way a job ended; empty when it ended as it should."""
    job = s.job
    if job.state == "completed":
        return "" if s.result == {"token": job.token} else f"returned {s.result} with token {job.token}"
    if job.state == "cancelled":
        return "" if cancelled else "is cancelled, and nobody asked for that"
    if job.state == "dead" and (job.reason or "").startswith("poison"):
        crashes = sum(attempt.outcome == "crashed" and (job.id, attempt.token) in begun for attempt in s.attempts)
        return "" if crashes >= CRASHES else f"is poison, and ran in only {crashes} of the crashes it is blamed for"
    return "" if job.type == "hopeless" and job.state == "dead" else f"is {job.state}: {job.reason}, {job.error}"


def freed(lines: Iterable[Line]) -> Iterator[tuple[str, int]]:
    """The attempts that someone else than their holder ended, as far as that was written down."""
    holders = {(job, token): line["pid"] for line in lines if line["op"] == "claimed" for job, token in line["jobs"]}
    for line in lines:
        for job, token, _, _, verdict in line["jobs"] if line["op"] == "verdicts" else ():
            if verdict == STORED and holders.get((job, token)) != line["pid"]:
                yield job, token


def recoveries(lines: Iterable[Line], taken: set[tuple[str, int]]) -> Iterator[float]:
    """The seconds from each kill of a process that was awake to the next start of each job that it held."""
    holders: dict[str, tuple[int, int]] = {}  # job → who claimed it last, and with which token
    killed: dict[str, tuple[int, int]] = {}  # job → the token that was lost, and when
    for line in lines:
        if line["op"] == "claimed":
            holders |= {job: (line["pid"], token) for job, token in line["jobs"]}
        elif line["op"] == "kill" and not line["asleep"]:
            held = {job: token for job, (pid, token) in holders.items() if pid == line["victim"]}
            killed |= {job: (token, line["when"]) for job, token in held.items() if (job, token) in taken}
        elif line["op"] == "start" and line["job"] in killed and line["token"] > killed[line["job"]][0]:
            yield (line["at"] - killed.pop(line["job"])[1]) / 1e9


def percentile(values: list[float], share: float) -> float:
    """The value below which this share lies; `values` must be sorted."""
    return values[min(len(values) - 1, int(share * len(values)))] if values else 0.0


def worst(violations: list[Violation]) -> str:
    """The invariants that were broken, and how often."""
    return ", ".join(f"{name} ×{count}" for name, count in sorted(Counter(v.invariant for v in violations).items()))
