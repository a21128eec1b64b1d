"""`Kit`: a store in memory and a clock to move, in place of those of an application, for a test."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import timedelta
from inspect import signature
from typing import TYPE_CHECKING, Any

from ..core.clock import ManualClock, SystemClock, milliseconds
from ..core.errors import JobFailed, UsageError
from ..core.states import ENDED
from ..core.suggest import did_you_mean
from ..stores import open_store
from .inline import Drained, InlineWorker

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..app import Mainstay
    from ..handle import Handle
    from ..job import Job
    from ..registry import JobType

OPTIONS = ("delay", "priority", "queue", "key", "tenant", "ref", "tags")
LIMIT = 10_000


class Kit:
    """The fixture `mainstay`: `use` an application, then look at what it enqueued and run it."""

    def __init__(self) -> None:
        self.clock = ManualClock(SystemClock().now())
        self._apps: list[tuple[Mainstay, Any, Any]] = []

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
        """Move the clock: `advance("5m")`, `advance(minutes=5)`."""
        self.clock.advance(milliseconds(duration) / 1000 + timedelta(**units).total_seconds())

    def drain(self, *, retries: bool = True, raises: bool = True) -> Drained:
        """Run what is due, in this thread, with what that enqueues; the clock jumps to each retry.

        At the end, raise `JobFailed` with the traceback if a job has died; with `raises=False` only count it.
        """
        workers = [InlineWorker(app) for app, _, _ in self._used()]
        while True:
            for worker in workers:
                worker.drain()
            due = self._next_retry() if retries else None
            if due is None:
                break
            self.clock.move_to(max(due, self.clock.now()))
        for app, worker in zip(self._apps, workers, strict=True):
            if raises and worker.dead:
                raise _failure(app[0], worker.dead)
        ways = [worker.ways for worker in workers]
        return Drained(**{name: sum(way[name] for way in ways) for name in Drained._fields})

    def check_runs(self, handle: Handle[Any]) -> None:
        """Raise if someone waits for a job that nothing runs: no worker is started, and `drain` has not run it."""
        job = handle.job()
        if (
            job.state not in ENDED
            and job.state != "review"
            and not any(app.store.workers() for app, _, _ in self._apps)
        ):
            raise UsageError(f"{job!r} has not ended, and no worker runs it in this test: call drain() first")

    def run_now(self, ids: list[str]) -> None:
        """Run jobs as they are enqueued: inline mode."""
        if ids:
            self.drain(raises=False)  # an enqueue does not raise what its job raises; result() does

    def _next_retry(self) -> int | None:
        counts = [count for app, _, _ in self._apps for count in app.store.counts(LIMIT)]
        return min((count.oldest for count in counts if count.label == "retrying" and count.oldest), default=None)

    # assertions ---------------------------------------------------------------------------------------------------
    def assert_enqueued(
        self, type: JobType[..., Any, Any] | str, count: int | None = None, **expected: Any
    ) -> list[Job]:
        """Fail unless such a job was enqueued; return those that were. A name that is no parameter is an option."""
        found = self._matching(type, expected)
        if not found or (count is not None and len(found) != count):
            raise self._unmet("a job" if count is None else f"{count} jobs", type, expected, found)
        return found

    def refute_enqueued(self, type: JobType[..., Any, Any] | str, **expected: Any) -> None:
        """Fail if such a job was enqueued. A type or a name that no application in use has is a mistake: `UsageError`."""
        found = self._matching(type, expected)
        if found:
            raise self._unmet("no job", type, expected, found)

    def _matching(self, type: JobType[..., Any, Any] | str, expected: dict[str, Any]) -> list[Job]:
        self._check_names(type, expected)
        return [job for job in self.jobs if job.type == _named(type) and _fits(type, job, expected)]

    def _check_names(self, type: JobType[..., Any, Any] | str, expected: dict[str, Any]) -> None:
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

    def _unmet(
        self, wanted: str, type: JobType[..., Any, Any] | str, expected: dict[str, Any], found: list[Job]
    ) -> AssertionError:
        like = f"with {', '.join(f'{name}={value!r}' for name, value in expected.items())}" if expected else ""
        lines = [f"  {job.type} {job.payload} ({job.label})" for job in self.jobs[:20]]
        seen = "\n".join(["enqueued were:", *lines]) if lines else "nothing was enqueued"
        return AssertionError(f"expected {wanted} {_named(type)} {like}, found {len(found)}; {seen}")


def _check_parameters(type: JobType[..., Any, Any], expected: Iterable[str]) -> None:
    parameters = signature(type.function).parameters.values()
    if any(each.kind == each.VAR_KEYWORD for each in parameters):
        return
    known = [*(each.name for each in parameters), *OPTIONS]
    for name in expected:
        if name not in known:
            near = did_you_mean(name, known)
            raise UsageError(f'{type.schema.signature}: "{name}"{near} is neither a parameter nor an option of the job')


def _failure(app: Mainstay, dead: list[str]) -> JobFailed:
    """Return the error of the first job that died, with its traceback."""
    job = app.get(dead[0])
    attempts = [attempt for attempt in app.attempts(job.id) if attempt.error]
    trace = (attempts[-1].traceback or attempts[-1].error or "") if attempts else job.reason or ""
    more = f" (and {len(dead) - 1} more)" if len(dead) > 1 else ""
    return JobFailed(
        f"{job!r} died{more}: {job.error or job.reason}; drain(raises=False) only counts it\n\n{trace}",
        job.state,
        job.id,
    )


def _named(type: JobType[..., Any, Any] | str) -> str:
    return type if isinstance(type, str) else type.name


def _fits(type: JobType[..., Any, Any] | str, job: Job, expected: dict[str, Any]) -> bool:
    """Return whether a job has these arguments, as the handler gets them or as in JSON, and these options."""
    payload = job.args
    typed = payload if isinstance(type, str) else type.arguments(job.payload, job.version)
    return all(_same(job, (payload, typed), name, value) for name, value in expected.items())


def _same(job: Job, forms: tuple[dict[str, Any], ...], name: str, value: Any) -> bool:
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
    forget = app.events.on("enqueued", kit.run_now) if mode == "inline" else lambda: None
    try:
        yield kit
    finally:
        forget()
        kit.restore()
