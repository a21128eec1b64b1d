"""`ctx`: what a running handler knows about its job and can report.

An importable proxy to the job that runs in this thread or task. It is not a parameter, so handlers keep their types and
can be called plainly. Outside a job, reports are ignored, and what only a job has (its id, children) raises.
"""

from __future__ import annotations

import json
from _thread import RLock
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

from .core.clock import milliseconds
from .core.decide import decide
from .core.errors import UsageError
from .core.outcome import COMPLETED, Cancelled, Snooze, Stopping
from .core.review import LastReview
from .core.rules import rate_slots, unpack
from .core.updates import LEVELS, Checkpoint, Progress, Update
from .job_log import JobLog, LineTaker, refuse_level
from .log_values import as_text, encode
from .redacting import redactor

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from datetime import datetime
    from typing import NoReturn

    from .core.clock import Duration
    from .core.decide import Transition
    from .core.draft import Draft
    from .core.job import Claimed, Labels
    from .stores.contract import Store

Level = Literal["debug", "info", "warning", "error"]
STAGE = 200  # characters of a stage's name
DETAILS = 10_000  # bytes of JSON that progress may have


class Reporter(LineTaker, Protocol):
    """Takes what a handler reports: to the worker, or to the pipe from a process slot."""

    def report(self, update: Update) -> None:
        """Write an update to the store, soon."""

    def checkpoint(self, job: Claimed) -> str | None:
        """Return what an earlier attempt saved."""

    def labels(self, job: Claimed) -> Labels:
        """Return tenant, reference, key, tags, parent, schedule and tick of the job. Raises `LeaseLost` if another attempt holds it."""
        ...

    @property
    def store(self) -> Store:
        """The store in which a handler completes its job."""


class Context:
    """One attempt at one job."""

    children: tuple[Draft, ...] = ()  # defaults stand on the class: the worker makes one context per job
    completed_in: object = None  # the transaction in which the handler completed its job
    cancelled_because: str | None = None
    stopping = False
    _stage: str | None = None
    _progress: tuple[float | None, float | None, str | None] = (None, None, None)
    lines: JobLog | None = None  # made with the first line
    _checkpoint: dict[str, Any] | None = None
    _known_labels: Labels | None = None
    whole: Context | None = None  # of the batch that the job runs in

    def __init__(self, job: Claimed, reporter: Reporter) -> None:
        self.job, self._reporter = job, reporter

    @property
    def id(self) -> str:
        """The job's id."""
        return self.job.id

    @property
    def title(self) -> str:
        """What runs here, for people."""
        return f"job {self.id}"

    @property
    def attempt(self) -> int:
        """Which attempt this is, from 1."""
        return self.job.attempt

    @property
    def max_attempts(self) -> int:
        """How many attempts the job has in all."""
        return self.job.max_attempts

    @property
    def type(self) -> str:
        """The job's type."""
        return self.job.type

    @property
    def queue(self) -> str:
        """The queue from which the job was claimed."""
        return self.job.queue

    @property
    def priority(self) -> int:
        """The job's priority."""
        return -self.job.rank

    @property
    def created_at(self) -> datetime:
        """When the job was enqueued, in UTC."""
        return _instant(self.job.created_at)

    @property
    def tenant(self) -> str | None:
        """The tenant given to `options`. This, `ref`, `key`, `tags` and `parent` are read from the store at the first use."""
        return self._labels.tenant

    @property
    def ref(self) -> str | None:
        """The reference given to `options`."""
        return self._labels.ref

    @property
    def key(self) -> str | None:
        """The key given to `options`."""
        return self._labels.key

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the type and of the call."""
        return self._labels.tags

    @property
    def parent(self) -> str | None:
        """The id of the job that enqueued this one by `ctx.enqueue`, or of which it is a copy."""
        return self._labels.parent

    @property
    def schedule(self) -> str | None:
        """The name of the schedule whose tick made the job; None for other jobs."""
        return self._labels.schedule

    @property
    def tick(self) -> datetime | None:
        """The instant that the job is for, in UTC: the tick of its schedule; None for other jobs."""
        return None if self._labels.tick is None else _instant(self._labels.tick)

    @property
    def trace(self) -> str | None:
        """The span in which the job was enqueued, as W3C traceparent; None: the producer was not traced."""
        return self._labels.trace

    @property
    def review(self) -> LastReview | None:
        """The last review of the job: the question, and the actor and the note of the one who let it run again. None: there was none."""
        found = self._labels.review
        return None if found is None else LastReview(*found)

    @property
    def _labels(self) -> Labels:
        if self._known_labels is None:
            self._known_labels = self._reporter.labels(self.job)
        return self._known_labels

    @property
    def cancelled(self) -> bool:
        """Whether to stop: the job was cancelled, timed out, lost its lease, or the worker shuts down."""
        return self.cancelled_because is not None or self.stopping

    @property
    def batch(self) -> tuple[Context, ...]:
        """In a batch handler the contexts of the jobs, in the order of the items; in any other that of its only job."""
        return (self,) * plain_items.get()

    def log(self, message: str, *, level: Level = "info", **fields: Any) -> None:
        """Add a line to the job's log."""
        if level not in LEVELS:
            refuse_level(level)
        self._write(level, message, fields)

    def _write(self, level: str, message: str, fields: dict[str, Any]) -> None:
        lines = self.lines
        if lines is None:  # threads of a handler may come here at once
            lines = self.__dict__.setdefault("lines", JobLog(self._reporter, self.job))
        lines.add(level, self._stage, message, fields)

    def end_log(self) -> None:
        """Add how many lines were left out, as the last line of the log."""
        if self.lines is not None:
            self.lines.end()

    def progress(self, done: float | None = None, total: float | None = None, **details: Any) -> None:
        """Report how far the job is, by numbers, by details such as phase="embedding", or by both. The last report counts.

        A `done` from 0.0 to 1.0 without a `total` is a share.
        """
        if total is None and isinstance(done, float) and 0 <= done <= 1:
            total = 1.0
        said = redactor().json(encode(details) or "{}") if details else None
        if said is not None and len(said) > DETAILS:
            raise UsageError(
                f"ctx.progress: the details have {len(said):,} characters of JSON, the limit is {DETAILS:,}: "
                "log them, or keep them with ctx.save"
            )
        self._progress = (None if done is None else float(done), None if total is None else float(total), said)
        self._show()

    def _show(self) -> None:
        done, total, said = self._progress
        job, reporter = self.job, self._reporter
        reporter.report(Progress(job.seq, job.token, reporter.now(), done, total, self._stage, said))

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Name the part of the job that runs inside the `with`; its duration and end are logged."""
        outer, started = self._stage, self._reporter.now()
        name = self._stage = redactor().text(as_text(name, STAGE))
        self._show()
        ended = "failed"
        try:
            yield
            ended = "done"
        finally:
            self._write("info", f"{name} {ended}", {"ms": self._reporter.now() - started})
            self._stage = outer

    @property
    def checkpoint(self) -> dict[str, Any]:
        """What `save` kept in this attempt or an earlier one; empty at first."""
        if self._checkpoint is None:
            text = self._reporter.checkpoint(self.job)
            self._checkpoint = json.loads(text) if text else {}
        return self._checkpoint

    def save(self, **values: Any) -> None:
        """Keep values for the next attempt, then stop here if the job was cancelled or the worker shuts down.

        The values are written with the worker's next transaction, within milliseconds.
        """
        with self.__dict__.setdefault("_saving", RLock()):  # threads of a handler may save at once
            body = {**self.checkpoint, **values}
            text, self._checkpoint = encode(body) or "{}", body
            self._reporter.report(Checkpoint(self.job.seq, self.job.token, self._reporter.now(), text))
        self.check()

    def check(self) -> None:
        """A safe point: stop here if the job was cancelled or the worker shuts down. A batch goes on for its other jobs."""
        context = self.whole or self
        if context.cancelled_because is not None:
            raise Cancelled(context.cancelled_because)
        if context.stopping:
            raise Stopping

    def enqueue(self, *drafts: Draft) -> None:
        """Enqueue prepared jobs as children: they exist if and only if this job completes."""
        parent = self.job.id
        if self.completed_in is not None:
            raise UsageError(
                "ctx.complete_in has completed this job: call ctx.enqueue before it, and both commit together"
            )
        children = tuple(draft.again() for draft in drafts)  # the caller may use the draft again, for another job too
        for child in children:
            child.parent, child.trace = parent, span.get()
        self.children += children

    def rate_limited(self, retry_after: Duration, reason: str = "rate limited") -> NoReturn:
        """Start no job of this job's rates for so long, and run this one again then: no attempt is spent.

        For a service that says "too many requests". Raises `Snooze`, so let it pass. The type needs a `Limit(rate=…)`.
        """
        delay = self._pushed(retry_after)
        self._push(self._rates(), delay)
        raise Snooze(delay / 1000, reason)

    async def arate_limited(self, retry_after: Duration, reason: str = "rate limited") -> NoReturn:
        """As `rate_limited`, for async handlers: the event loop goes on meanwhile."""
        import asyncio

        delay = self._pushed(retry_after)
        await asyncio.to_thread(self._push, self._rates(), delay)
        raise Snooze(delay / 1000, reason)

    def _rates(self) -> list[str]:
        found = rate_slots(unpack(self.job.rules))
        if not found:
            raise UsageError(f'the type {self.job.type} has no rate: give it limit=Limit(rate="10/s"), or raise Snooze')
        return found

    def _push(self, rates: list[str], delay: int) -> None:
        self._reporter.store.push_rate(rates, self._reporter.now(), delay)

    def _pushed(self, retry_after: Duration) -> int:
        self._rates()
        delay = milliseconds(retry_after)
        if delay <= 0:
            raise UsageError("retry_after: give a duration above zero, such as retry_after='30s'")
        return delay

    def complete_in(self, tx: object, result: Any = None) -> None:
        """Complete the job in the caller's transaction: its writes and the completion are one. Raises `LeaseLost`."""
        from .stores import outbox

        outbox.finish(*self._completion(tx, result))
        self.completed_in = tx

    async def acomplete_in(self, tx: object, result: Any = None) -> None:
        """As `complete_in`, for an async connection or session."""
        from .stores import outbox

        await outbox.afinish(*self._completion(tx, result))
        self.completed_in = tx

    def _completion(self, tx: object, result: Any) -> tuple[Store, object, Transition]:
        outcome, job = COMPLETED._replace(result=encode(result), children=self.children), self.job
        transition = decide(job, outcome, self._reporter.now(), random=float)  # 0.0: a completion has no wait to vary
        return self._reporter.store, tx, transition


def _instant(ms: int) -> datetime:
    from datetime import UTC, datetime, timedelta

    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)


current: ContextVar[Context] = ContextVar("mainstay.ctx")
# Of the attempt that runs here, as traceparent.
span: ContextVar[str | None] = ContextVar("mainstay.span", default=None)
plain_items: ContextVar[int] = ContextVar("mainstay.items", default=1)  # of a batch handler that is called plainly


class _Proxy:
    """Passes every attribute on to the context of the job that runs here."""

    def log(self, message: str, *, level: Level = "info", **fields: Any) -> None:  # as `Context.log`, with a call less
        if level not in LEVELS:
            refuse_level(level)
        current.get(_OUTSIDE)._write(level, message, fields)  # noqa: SLF001  (what this is the proxy of)

    # a fraction of the time of __getattr__
    progress = property(lambda self: current.get(_OUTSIDE).progress)
    save = property(lambda self: current.get(_OUTSIDE).save)

    def __getattr__(self, name: str) -> Any:
        return getattr(current.get(_OUTSIDE), name)

    def __repr__(self) -> str:
        context = current.get(None)
        return f"<ctx of {context.title}>" if context else "<ctx: no job runs here>"


class _Outside(Context):
    """What `ctx` is in a plain call: reports are ignored, nothing is saved, and what only a job has raises."""

    def __init__(self) -> None:
        pass

    @property
    def job(self) -> Claimed:  # type: ignore[override]
        raise UsageError(_NOT_HERE)

    def _write(self, level: str, message: str, fields: dict[str, Any]) -> None:
        pass

    def progress(self, done: float | None = None, total: float | None = None, **details: Any) -> None:
        pass

    def stage(self, name: str) -> AbstractContextManager[None]:  # type: ignore[override]
        return nullcontext()

    @property
    def attempt(self) -> int:
        return 1

    @property
    def _labels(self) -> Labels:
        from .core.job import Labels

        return Labels()

    @property
    def checkpoint(self) -> dict[str, Any]:
        return {}

    def save(self, **values: Any) -> None:
        pass


_OUTSIDE: Context = _Outside()
_NOT_HERE = "no job runs here: a plain call. In a test, use mainstay.testing.Trial, or run its job with app.testing()"

ctx = cast("Context", _Proxy())
