"""Follows the jobs of the demo by reading the store, as any other program can."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...core.clock import human
from ...core.states import ENDED

if TYPE_CHECKING:
    from ...app import Mainstay
    from ...core.job import Job

KILL_AT = 0.4  # of the progress of the import


class Event(NamedTuple):
    """One line of the demo: milliseconds since the start, the state, the text."""

    at: int
    label: str
    text: str


class Story:
    """Follows a set of jobs and turns their changes into events."""

    def __init__(self, app: Mainstay, ids: list[str], victim: str) -> None:
        self._app, self._ids, self._victim = app, ids, victim
        self.began = app.clock.now()
        self.jobs: dict[str, Job] = {}
        self.events: list[Event] = []
        self.killed_at: int | None = None
        self.recovered_after: int | None = None
        self.killed_token = 0
        self.failures = 0

    def tell(self, label: str, text: str) -> None:
        """Add an event that no job shows."""
        self.events.append(Event(self._app.clock.now() - self.began, label, text))

    def look(self) -> None:
        """Read the jobs once and add an event for each change."""
        for job in self._app.store.get_many(self._ids):
            before = self.jobs.get(job.id)
            self.jobs[job.id] = job
            if before is None or (before.label, before.attempt, before.token) != (job.label, job.attempt, job.token):
                self._changed(before, job)

    def _changed(self, before: Job | None, job: Job) -> None:
        if job.id == self._victim and self.killed_at is not None and self.recovered_after is None:
            self._recovery(job)
        if job.label == "retrying":
            self.failures += 1
            wait = human(max((job.run_at or 0) - self._app.clock.now(), 0))
            self.tell("retrying", f"{job.type} failed: {job.error}; next attempt in {wait}")
        elif job.label in {"dead", "review"}:
            self.tell(job.label, f"{job.type}: {job.error if job.label == 'dead' else job.reason}")
        elif job.label == "completed":
            self._completed(job)

    def _completed(self, job: Job) -> None:
        """Add an event, except for a plain job that completes at its first attempt."""
        if job.id == self._victim:
            self.tell("completed", f"import_catalog is done: {self._app.store.result(job.id)}")
        elif job.tags or job.key:
            self.tell("completed", f"{job.type} is done" + (", as scheduled" if job.tags else ""))
        elif job.attempt > 1:
            self.tell("completed", f"{job.type} worked at attempt {job.attempt}")

    def _recovery(self, job: Job) -> None:
        if job.token > self.killed_token and job.started_at is not None:
            self.recovered_after = max(job.started_at - (self.killed_at or 0), 0)
            text = f"import_catalog goes on from its checkpoint, on another worker, {human(self.recovered_after)} later"
            self.tell("running", text)

    def killed(self, worker: str, pid: int) -> None:
        """Record that the worker of the long job was killed."""
        job = self.jobs[self._victim]
        self.killed_at, self.killed_token = self._app.clock.now(), job.token
        row = f" at row {job.done:.0f} of {job.total:.0f}" if job.done and job.total else ""
        self.tell("dead", f"worker {worker} (pid {pid}) is killed with SIGKILL while it runs import_catalog{row}")

    @property
    def victim(self) -> Job | None:
        """The long job."""
        return self.jobs.get(self._victim)

    @property
    def ripe(self) -> bool:
        """Whether the long job is far enough for its worker to be killed."""
        job = self.victim
        return bool(self.killed_at is None and job and job.state == "running" and job.done and job.total
                    and job.done / job.total >= KILL_AT)  # fmt: skip

    @property
    def over(self) -> bool:
        """Whether nothing more will happen: the jobs that still wait need a person, or are scheduled for later."""
        return len(self.jobs) == len(self._ids) and all(
            job.state in ENDED or job.state == "review" or "tomorrow" in job.tags for job in self.jobs.values()
        )

    def count(self, label: str) -> int:
        """Return how many jobs have this label."""
        return sum(job.label == label for job in self.jobs.values())
