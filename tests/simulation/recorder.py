"""Records the history of a simulated world: the commit log after every commit, and the replies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mainstay.core.review import unpack
from mainstay.core.states import ENDED, REVIEW
from mainstay.core.verdict import LOST, STORED
from mainstay.upkeep.sweep import OVERDUE
from mainstay.worker.worker import INTERRUPTED
from tests.simulation import commit_log

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mainstay.core.decide import Transition
    from mainstay.core.draft import Draft
    from mainstay.core.job import Claimed
    from mainstay.core.outcome import Outcome
    from tests.simulation.history import History
    from tests.simulation.scheduler import Process, Scheduler

AT_REST = ENDED | {REVIEW, ""}


class Recorder:
    """The observer of every process's store."""

    def __init__(self, history: History, scheduler: Scheduler, connection: Any, marks: bool = False) -> None:
        self.history, self._scheduler, self._connection = history, scheduler, connection
        self._marks = marks  # a sweep can know which jobs a dead worker had started
        self._started: dict[
            tuple[str, int], tuple[int, int]
        ] = {}  # attempt → when, and its process's pauses until then
        self.fired: Callable[[Process, Any, Any], None] = lambda process, firings, answers: None
        self.stored: Callable[[Process, Transition], None] = lambda process, transition: None
        self.unrest: dict[str, str] = {}  # jobs that are not at rest, and their state
        self._seen = self._commits = 0
        self.moved_at = 0  # when a job changed its state last

    def committed(self, process: Process, verb: str, args: tuple[Any, ...], answer: Any) -> None:
        """Record what a call has done. Outcomes first: they are the cause of the moves."""
        if verb == "register":
            self.add(process, "register", worker=args[0].id)
        if verb == "fire":
            self.fired(process, args[0], answer)
        transitions, verdicts = _outcomes(verb, args, answer)
        self._finished(process, transitions, verdicts)
        self.drain()
        for transition, verdict in zip(transitions, verdicts, strict=True):
            if verdict == STORED:
                self.stored(process, transition)
        if verb == "enqueue":
            self._absorbed(process, args[0], answer)
        elif verb == "resolve_review":
            self.add(process, verb, "ok", args[0], answer=answer, actor=args[3], now=args[2])
        elif verb == "set_review":
            asked = unpack(args[1])
            self.add(process, "remind", "ok", args[0], asked.token, due=asked.remind_at)
        elif verb in ("cancel", "retry", "delete", "change"):
            only = {"only": "dead"} if process.name == "deleter" else {}
            for job, word in answer.items():
                self.add(process, verb, "ok", job, answer=word, **only)

    def _absorbed(self, process: Process, drafts: Sequence[Draft], answers: Sequence[tuple[str, bool]]) -> None:
        for draft, (job, created) in zip(drafts, answers, strict=True):
            if not created:
                mode = mode_of(draft) if draft.on_conflict == "replace" else None
                self.add(process, "enqueue", "absorbed", job, sent=draft.id, mode=mode)

    def _finished(self, process: Process, transitions: Sequence[Transition], verdicts: Sequence[str]) -> None:
        for transition, verdict in zip(transitions, verdicts, strict=True):
            if verdict not in (STORED, LOST):
                continue
            by = _by(transition)
            marks = {"marks": True} if self._marks and by == "sweep" else {}
            self.add(
                process, "finish", "ok" if verdict == STORED else "refused", transition.id, transition.token,
                state=transition.state, outcome=transition.outcome, by=by, **marks, **_deadline(transition),
            )  # fmt: skip

    def drain(self) -> None:
        """Record what was committed since the last time."""
        lines = commit_log.read(self._connection, self._seen)
        if not lines:
            return
        self._seen = lines[-1].n
        self._commits += 1
        for line in lines:
            record = commit_log.record(line, self._commits)
            self.history.add(
                self._scheduler.now, record.process, record.op, "ok", record.job, record.token, **record.args
            )
            if record.op == "move":
                self._follow(line)

    def _follow(self, line: commit_log.Seen) -> None:
        self.moved_at = self._scheduler.now
        if line.after in AT_REST:
            self.unrest.pop(line.job, None)
        else:
            self.unrest[line.job] = line.after

    def add(self, process: Process, op: str, phase: str = "ok", job: str = "", token: int = 0, **args: Any) -> None:
        """Record what a process did or got as a reply."""
        self.history.add(self._scheduler.now, process.name, op, phase, job, token, **args)

    def claimed(self, process: Process, jobs: Sequence[Claimed]) -> None:
        """Record that a worker got jobs."""
        for job in jobs:
            self.add(process, "claim", "ok", job.id, job.token)

    def started(self, process: Process, job: Claimed) -> None:
        """Record that a handler is about to run."""
        self._started[job.id, job.token] = self._scheduler.now, process.paused
        self.add(process, "start", "ok", job.id, job.token, limit=job.timeout, clock=process.now())

    def ended(self, process: Process, job: Claimed, outcome: Outcome) -> None:
        """Record that a handler is through, and for how long it ran while its process was not paused."""
        at, paused = self._started.pop((job.id, job.token), (self._scheduler.now, process.paused))
        ran = self._scheduler.now - at - (process.paused - paused)
        self.add(process, "end", "ok", job.id, job.token, outcome=outcome.kind, ran=ran)

    def struck(self, process: Process, kind: str, verb: str = "") -> None:
        """Record a fault: the process may lose its lease by it."""
        self.add(process, "fault", kind=kind, verb=verb)

    def close(self) -> None:
        """Record how everything stands at the end."""
        self.drain()
        now = self._scheduler.now
        for job, token, state, waits in commit_log.finals(self._connection):
            for_what = {} if waits is None else {"waits": waits}
            self.history.add(now, "engine", "final", "ok", job, token, state=state, **for_what)
        self.history.add(now, "engine", "counted", names=commit_log.counted(self._connection))
        for table in commit_log.strays(self._connection):
            self.history.add(now, "engine", "stray", table=table)


def _deadline(transition: Transition) -> dict[str, Any]:
    """Return by when a review has to be decided, and what happens then."""
    asked = unpack(transition.review) if transition.review else None
    return (
        {} if asked is None or asked.expires_at is None else {"expires": asked.expires_at, "policy": asked.at_deadline}
    )


def mode_of(draft: Draft) -> str:
    """Return how long a draft's key holds: start, alive or period."""
    return "start" if draft.lock_until == 0 else "alive" if draft.lock_until is None else "period"


def _outcomes(verb: str, args: tuple[Any, ...], answer: Any) -> tuple[Sequence[Transition], Sequence[str]]:
    """Return the outcomes that a call has brought, and the verdicts on them."""
    if verb == "finish":
        return args[0], answer
    return (args[4], answer.verdicts) if verb == "claim" and len(args) > 4 else ((), ())


def _by(transition: Transition) -> str:
    """Return who ended an attempt: its worker, its worker without a lease, or a sweep."""
    swept = transition.outcome in ("crashed", "lost_unknown") or transition.error == OVERDUE.error
    if transition.error == INTERRUPTED.error:
        return "lost lease"
    return "sweep" if swept else "worker"
