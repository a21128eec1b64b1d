"""Follows the jobs of the demo by reading the store, as any other program can, and prints what happens to them."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING

from ...core.clock import human
from ...core.states import ENDED
from ..output import GLYPHS, cut
from ..records import progress
from ..show import bar

if TYPE_CHECKING:
    from ...app import Mainstay
    from ...core.job import Job
    from ..output import Output

KILL_AT = 0.4  # of the progress of the import


class Story:
    """Prints a line for each event. On a terminal, the line below them shows the progress and is drawn over itself."""

    def __init__(self, app: Mainstay, output: Output, ids: list[str]) -> None:
        self._app, self._output, self._ids = app, output, ids  # the first job is the long one
        self._began = app.clock.now()
        self.jobs: dict[str, Job] = {}
        self.failures = 0
        self.killed_at: int | None = None
        self.killed_token = 0
        self.recovered_after: int | None = None

    def tell(self, label: str, text: str) -> None:
        """Print an event."""
        out = self._output
        since = f"{(self._app.clock.now() - self._began) / 1000:5.1f}s  "
        out.live()
        out.paragraph((since, "dim"), (GLYPHS[label], label), " ", text=text, indent=1)

    def look(self) -> None:
        """Read the jobs once, print an event for each change, and draw the progress."""
        for job in self._app.store.get_many(self._ids):
            before = self.jobs.get(job.id)
            self.jobs[job.id] = job
            if before is None or (before.label, before.attempt, before.token) != (job.label, job.attempt, job.token):
                self._changed(job)
        sys.stdout.flush()
        if self.over:
            self._output.live()
        elif self.long is not None:
            counts = ", ".join(f"{number} {label}" for label, number in sorted(self.counts.items()))
            shown = cut(counts, max(self._output.width - 32, 12))
            self._output.live(" ", *bar(self.long.done, self.long.total), f" {progress(self.long)} {shown}")

    def _changed(self, job: Job) -> None:
        if job is self.long and self.killed_at is not None and self.recovered_after is None:
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
        """Print an event, except for a plain job that completes at its first attempt."""
        if job is self.long:
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

    def killed(self, job: Job, worker: str, pid: int) -> None:
        """Print and remember that the worker of the long job was killed."""
        self.killed_at, self.killed_token = self._app.clock.now(), job.token
        row = f" at row {job.done:.0f} of {job.total:.0f}" if job.done and job.total else ""
        self.tell("dead", f"worker {worker} (pid {pid}) is killed with SIGKILL while it runs import_catalog{row}")

    @property
    def long(self) -> Job | None:
        """The long job, whose worker is killed."""
        return self.jobs.get(self._ids[0])

    @property
    def to_kill(self) -> Job | None:
        """The long job, when it is far enough for its worker to be killed."""
        job = self.long
        if self.killed_at is not None or job is None or job.state != "running":
            return None
        return job if job.done and job.total and job.done / job.total >= KILL_AT else None

    @property
    def over(self) -> bool:
        """Whether nothing more will happen: the jobs that still wait need a person, or are scheduled for later."""
        return len(self.jobs) == len(self._ids) and all(
            job.state in ENDED or job.state == "review" or "tomorrow" in job.tags for job in self.jobs.values()
        )

    @property
    def counts(self) -> Counter[str]:
        """How many jobs have each label."""
        return Counter(job.label for job in self.jobs.values())
