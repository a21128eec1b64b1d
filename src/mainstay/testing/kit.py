"""`Kit`: a store in memory and a clock to move, in place of those of an application, for a test.

`InlineWorker` runs its jobs at once in the calling thread: with the worker's own claimer, runner and outcome buffer, without
its threads.
"""

from __future__ import annotations

import random
from contextlib import contextmanager
from datetime import timedelta
from inspect import signature
from typing import TYPE_CHECKING, Any

from ..core.clock import SECOND, ManualClock, SystemClock, milliseconds
from ..core.errors import JobFailed, UsageError
from ..core.rules import SCHEDULE
from ..core.states import ENDED
from ..core.suggest import did_you_mean
from ..stores import open_store
from ..upkeep.reviews import act_on_due
from ..upkeep.schedule import Schedules
from ..worker.batch_claimer import claimer
from ..worker.batches import NEVER
from ..worker.drained import Drained, Tally, count_left, drained
from ..worker.executors import Executor
from ..worker.hook_runner import run_hooks
from ..worker.in_flight import InFlight
from ..worker.outcome_buffer import OutcomeBuffer
from ..worker.registration import Registration
from ..worker.runner import arun, run
from ..worker.slots import Slots
from ..worker.update_buffer import UpdateBuffer
from ..worker.wanted import wanted_by

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ..app import Mainstay
    from ..context import Context
    from ..core.job import Count
    from ..handle import Handle
    from ..job import Job
    from ..registry import JobType
    from ..worker.in_flight import Execution

    TypeOrName = JobType[..., Any, Any] | str

OPTIONS = ("delay", "priority", "queue", "key", "tenant", "ref", "tags")
LIMIT = 10_000
LEASE = 3_600 * SECOND  # by a clock that only the test moves


class InlineExecutor(Executor):
    """Runs each job where it is started, before the next one is claimed. One runs the handlers of every kind."""

    room, stuck, blocked = 1, 0, False

    def start(self, executions: list[Execution]) -> None:
        for execution in executions:
            context = self._begin(execution)
            if context is not None and execution.type.is_async:
                _run_async(execution, context, self._end)
            elif context is not None:
                self._end(execution, run(execution, context))


class InlineWorker:
    """A worker with one slot, which claims when it is told to."""

    def __init__(
        self, app: Mainstay, wants: Mapping[str, Sequence[str]] | None = None, max_jobs: int | None = None
    ) -> None:
        self._app, self.tally = app, Tally()
        self._in_flight = InFlight()
        self._outcomes = OutcomeBuffer(self._in_flight, app.clock, random.random, app.events, UpdateBuffer(pause=0))
        wants = wants or wanted_by(app, None, None)
        self._registration = Registration(app, wants, 1, LEASE)
        executors: Any = InlineExecutor, InlineExecutor, lambda *given: InlineExecutor(*given[:3])
        self._slots = Slots(app, 1, 1, self._registration, self._in_flight, self._outcomes, lambda: None, *executors)
        self._claimer = claimer(app, self._registration, wants, self._slots, self._in_flight, self._outcomes)
        self._claimer.most = max_jobs or self._claimer.most

    def drain(self) -> None:
        """Run everything that is due now, and what that enqueues."""
        forget = self._app.events.on("stored", self.tally.count)
        self._registration.register()
        end_hooks = run_hooks(self._app)
        try:
            self._app.store.expire(self._app.clock.now(), LIMIT)
            act_on_due(self._app.store, self._app.events, self._app.clock.now(), LIMIT)
            self._app.store.admit(self._app.clock.now(), LIMIT)
            before = -1
            while self._in_flight.ended != before or self._outcomes.pending:
                before = self._in_flight.ended
                self._claimer.step(self._app.clock.now())
                self._slots.batches.start_due(early=NEVER)  # no others come by themselves
        finally:
            forget()
            end_hooks()
            self._registration.deregister()


def _run_async(execution: Execution, context: Context, end: object) -> None:
    """Run an async handler on a loop of its own: the test may run inside one."""
    import asyncio
    import threading

    thread = threading.Thread(target=lambda: asyncio.run(arun(execution, context, end)))  # type: ignore[arg-type]
    thread.start()
    thread.join()


class Kit:
    """The fixture `mainstay`: `use` an application, then look at what it enqueued and run it."""

    def __init__(self) -> None:
        self.clock = ManualClock(SystemClock().now())
        self._apps: list[tuple[Mainstay, Any, Any]] = []
        self._firing: dict[int, Schedules] = {}  # what fires the schedules of an application, by its `id`

    def use(self, app: Mainstay) -> Mainstay:
        """Give the application an empty store in memory and this kit's clock until the test ends."""
        if all(used is not app for used, _, _ in self._apps):
            self._apps.append((app, app.store, app.clock))
            app.clock, app.store, app.kit = self.clock, open_store("sqlite:///:memory:", self.clock), self
        return app

    def restore(self) -> None:
        """Restore the store and the clock of every application."""
        while self._apps:
            app, store, clock = self._apps.pop()
            self._firing.pop(id(app), None)
            app.close()
            app.store, app.clock, app.kit = store, clock, None

    @property
    def jobs(self) -> list[Job]:
        """Every job of the applications in use, oldest first."""
        return [job for app, _, _ in self._used() for job in reversed(app.list(limit=LIMIT))]

    def _used(self) -> list[tuple[Mainstay, Any, Any]]:
        if not self._apps:
            raise UsageError(
                "no application is in use: call mainstay.use(app) first, or set mainstay_app in pytest's ini"
            )
        return self._apps

    # time ---------------------------------------------------------------------------------------------------------
    def advance(self, duration: str | float | timedelta = 0, **units: float) -> None:
        """Move the clock: `advance("5m")`, `advance(minutes=5)`. Schedules fire on the way, each tick at its instant.

        `clock.advance` moves it as if no worker ran meanwhile: the next `drain` or `advance` catches up.
        """
        until = self.clock.now() + milliseconds(milliseconds(duration) / 1000 + timedelta(**units).total_seconds())
        for app, _, _ in self._apps:
            if self._schedules(app) is not None:
                app.sync_schedules()
        while (tick := self._fire_due()) is not None and tick <= until:
            self.clock.move_to(tick)
        self.clock.move_to(until)

    def _schedules(self, app: Mainstay) -> Schedules | None:
        """Return what fires the schedules of an application; None if it has none."""
        if id(app) not in self._firing and (app.declared_schedules or app.store.rules([SCHEDULE])):
            self._firing[id(app)] = Schedules(app)
        return self._firing.get(id(app))

    def _fire_due(self) -> int | None:
        """Fire the schedules that are due now; return the instant of the next tick."""
        nexts = [each.catch_up() for app, _, _ in self._apps if (each := self._schedules(app)) is not None]
        return min((at for at in nexts if at is not None), default=None)

    def drain(self, *, retries: bool = True, raises: bool = True) -> Drained:
        """Run what is due, in this thread, with what that enqueues; the clock jumps to each retry, and to what a rate permits.

        At the end, raise `JobFailed` with the traceback if a job has died; with `raises=False` only count it.
        """
        workers = [InlineWorker(app) for app, _, _ in self._used()]
        self.advance()
        while True:
            for worker in workers:
                worker.drain()
            counts = [count for app, _, _ in self._apps if retries for count in app.store.counts(LIMIT)]
            dues = [count.oldest for count in counts if count.label == "retrying" and count.oldest]
            dues += [at for app, _, _ in self._apps if retries for at in _held_until(app, counts)]
            if not dues:
                break
            self.clock.move_to(max(min(dues), self.clock.now()))
        for app, worker in zip(self._apps, workers, strict=True):
            if raises and worker.tally.dead:
                raise _failure(app[0], worker.tally.dead)
        return drained(*(worker.tally for worker in workers))

    def drain_once(self, app: Mainstay, max_jobs: int | None, wants: Mapping[str, Sequence[str]]) -> Drained:
        """Do what `app.drain` does, in this thread and without moving the clock."""
        worker = InlineWorker(app, wants, max_jobs)
        worker.drain()
        left, more = count_left(app.store, wants, app.clock.now())
        return drained(worker.tally)._replace(left=left, more=more)

    def check_runs(self, handle: Handle[Any]) -> None:
        """Raise if someone waits for a job that nothing runs: no worker is started, and `drain` has not run it."""
        job = handle.job()
        waits = job.state not in ENDED and job.state != "review"
        if waits and not any(app.store.workers() for app, _, _ in self._apps):
            raise UsageError(f"{job!r} has not ended, and no worker runs it in this test: call drain() first")

    # assertions ---------------------------------------------------------------------------------------------------
    def assert_enqueued(self, type: TypeOrName, count: int | None = None, **expected: Any) -> list[Job]:
        """Fail unless such a job was enqueued; return those that were. A name that is no parameter is an option."""
        found = self._matching(type, expected)
        if not found or (count is not None and len(found) != count):
            raise self._unmet("a job" if count is None else f"{count} jobs", type, expected, found)
        return found

    def refute_enqueued(self, type: TypeOrName, **expected: Any) -> None:
        """Fail if such a job was enqueued. A type or a name that no application in use has is a mistake: `UsageError`."""
        found = self._matching(type, expected)
        if found:
            raise self._unmet("no job", type, expected, found)

    def _matching(self, type: TypeOrName, expected: dict[str, Any]) -> list[Job]:
        self._check_names(type, expected)
        return [job for job in self.jobs if job.type == _named(type) and _fits(type, job, expected)]

    def _check_names(self, type: TypeOrName, expected: dict[str, Any]) -> None:
        """Raise for a type that no application in use defines, and for a name that is neither parameter nor option."""
        name = _named(type)
        defined = {found.name: found for app, _, _ in self._used() for found in app.registry.values()}
        known = defined.get(name)
        if known is None and not isinstance(type, str):
            raise UsageError(
                f"the job type {name} belongs to an application that is not in use: call mainstay.use(app)"
            )
        if known is None and defined and all(job.type != name for job in self.jobs):
            near = did_you_mean(name, defined)
            raise UsageError(f'no application in use defines a job type "{name}"{near}, and no such job was enqueued')
        if known is not None:
            _check_parameters(known, expected)

    def _unmet(self, wanted: str, type: TypeOrName, expected: dict[str, Any], found: list[Job]) -> AssertionError:
        like = f"with {', '.join(f'{name}={value!r}' for name, value in expected.items())}" if expected else ""
        lines = [f"  {job.type} {job.payload} ({job.label})" for job in self.jobs[:20]]
        seen = "\n".join(["enqueued were:", *lines]) if lines else "nothing was enqueued"
        return AssertionError(f"expected {wanted} {_named(type)} {like}, found {len(found)}; {seen}")


def _check_parameters(type: JobType[..., Any, Any], expected: Iterable[str]) -> None:
    parameters = signature(type.function if type.batch is None else type.batch.one).parameters.values()
    if any(each.kind == each.VAR_KEYWORD for each in parameters):
        return
    known = [*(each.name for each in parameters), *OPTIONS]
    for name in expected:
        if name not in known:
            near = did_you_mean(name, known)
            raise UsageError(f'{type.schema.signature}: "{name}"{near} is neither a parameter nor an option of the job')


def _held_until(app: Mainstay, counts: Iterable[Count]) -> Iterator[int]:
    """Yield when the next jobs may start that a rate or an open breaker holds back."""
    starts = [slot.next_start for limit in app.limits() for slot in limit.slots]
    queued = {count.type for count in counts if count.label == "queued"}
    rests = [breaker.until for breaker in app.breakers() if breaker.state == "open" and breaker.type in queued]
    for at in (*starts, *rests):
        if at is not None:
            yield round(at.timestamp() * 1000)


def _failure(app: Mainstay, dead: list[str]) -> JobFailed:
    """Return the error of the first job that died, with its traceback."""
    job = app.get(dead[0])
    attempts = [attempt for attempt in app.attempts(job.id) if attempt.error]
    trace = (attempts[-1].traceback or attempts[-1].error or "") if attempts else job.reason or ""
    more = f" (and {len(dead) - 1} more)" if len(dead) > 1 else ""
    text = f"{job!r} died{more}: {job.error or job.reason}; drain(raises=False) only counts it\n\n{trace}"
    return JobFailed(text, job.state, job.id)


def _named(type: TypeOrName) -> str:
    return type if isinstance(type, str) else type.name


def _fits(type: TypeOrName, job: Job, expected: dict[str, Any]) -> bool:
    """Return whether a job has these arguments, as the handler gets them or as in JSON, and these options."""
    forms = [job.args, *([] if isinstance(type, str) else [type.arguments(job.payload, job.version)])]
    return all(_same(job, forms, name, value) for name, value in expected.items())


def _same(job: Job, forms: list[dict[str, Any]], name: str, value: Any) -> bool:
    if name in forms[0] or name not in OPTIONS:
        return any(name in form and bool(form[name] == value) for form in forms)
    if name == "delay":
        return job.run_at is not None and job.run_at - job.created_at == timedelta(milliseconds=milliseconds(value))
    return bool(getattr(job, name) == (tuple(value) if name == "tags" else value))


@contextmanager
def testing(app: Mainstay, mode: str) -> Iterator[Kit]:
    """Use a kit for one application; in `inline` mode every enqueue runs its job at once."""
    if mode not in ("manual", "inline"):
        raise UsageError(f"testing({mode!r}): 'manual' (jobs wait for drain) or 'inline' (an enqueue runs its job)")
    kit = Kit()
    kit.use(app)

    def run_now(ids: list[str]) -> None:
        if ids and mode == "inline":
            kit.drain(raises=False)  # an enqueue does not raise what its job raises; result() does

    forget = app.events.on("enqueued", run_now)
    try:
        yield kit
    finally:
        forget()
        kit.restore()
