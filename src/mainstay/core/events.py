"""Events of a worker or an application, for logs, metrics, alerts and tests; and hooks. Without a listener they cost nothing."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from typing import Any, TypeVar

    from .job_event import JobEvent

    Listener = Callable[..., None]
    Hook = Callable[[JobEvent], Awaitable[None] | None]
    H = TypeVar("H", bound=Callable[[JobEvent], Awaitable[None] | None])
    M = TypeVar("M", bound=Callable[[], Any])

NAMES = (
    "enqueued",  # ids: the jobs were accepted
    "claimed",  # jobs: a batch was taken
    "started",  # job: its handler is about to be called
    "progress",  # update: a handler has reported how far it is
    "ended",  # job, outcome: its handler has ended
    "ended_otherwise",  # job, outcome: the same, but not of a job that has just completed
    "stored",  # transitions: these outcomes were recorded
    "lost",  # transition: it was refused because the lease was lost
    "swept",  # orphans: jobs of dead workers were freed
    "beat",  # worker (its id): the lease was renewed
    "lease_lost",  # worker (its id): the lease is lost, the worker registers anew
    "cancelling",  # job: a running job was asked to stop
    "unresponsive",  # job: it was asked to stop a while ago, and its handler still runs
    "store_error",  # error, wait (in ms): the store failed, the worker waits
    "late",  # job: its handler still runs a while after its timeout
    "stuck",  # job: its handler is late and keeps its job and its slot; only the end of the process would end it
    "unknown_queue",  # queue, hint: a worker was told to serve it, but no type declares it and no job waits in it
    "worker_started",  # worker (the object): it is registered and about to claim
    "worker_stopping",  # worker (the object): it claims nothing more
    "left",  # job: its handler cannot be stopped and still runs after the grace period; its job stays running
    "worker_stopped",  # worker (the object): it has stored everything; it is deregistered unless a handler was left
    "fired",  # schedule, jobs (their ids): a tick of the schedule was due
    "schedule_failed",  # schedule, error: a tick could not be fired; it is tried again
    "review_reminder",  # job (its id), question, deciders, asked_at: it still waits for a decision; one process emits each reminder
    "review_expired",  # job (its id), question, verdict: nobody decided by the deadline, which approved or rejected it, or let it die
    "worker_asked",  # worker (the object), what: an operator asks it to drain or to stop
    "dead_reopened",  # fingerprint, type, job (its id): a job died in a group of dead jobs that was resolved; one process emits it
    "alert",  # what ("opened" or "recovered"), alert: one process of all emits each
    "alert_failed",  # channel, error, wait (in ms; None: given up), alert: a channel has not delivered a notice
    "discrepancy",  # found: what a completed job did does not hold, or could not be checked (`mainstay reconcile`)
    "reconciled",  # report: completed jobs were checked, at the start of a worker or on demand
    "webhook_disabled",  # webhook (its id), reason: a failed delivery has disabled the endpoint; one process emits it
    "pruned",  # count: so many ended jobs were removed by retention
)
START, COMPLETE, FAILED, CANCEL, PROGRESS = "start", "complete", "failed", "cancel", "progress"  # the hooks


class Events:
    """The events of one process: `on` subscribes, `emit` calls the listeners."""

    def __init__(self) -> None:
        self._listeners: dict[str, list[Listener]] = {name: [] for name in NAMES}

    def on(self, name: str, listener: Listener) -> Callable[[], None]:
        """Call `listener(**fields)` for every event of that name; return a function that unsubscribes it."""
        if name not in NAMES:
            raise ValueError(f"there is no event {name!r}; there are: {', '.join(NAMES)}")
        listeners = self._listeners[name]
        listeners.append(listener)
        return lambda: listeners.remove(listener) if listener in listeners else None

    def listeners(self, name: str) -> list[Listener]:
        """Return the live list of listeners: hot paths keep it and skip `emit` while it is empty."""
        return self._listeners[name]

    def emit(self, name: str, **fields: Any) -> None:
        """Call every listener, in the order in which they subscribed."""
        for listener in tuple(self._listeners[name]):
            try:
                listener(**fields)
            except BaseException as error:  # a listener's bug must not stop the worker
                # On the main thread, a signal or an exit ends the program; on another it would only end that thread.
                if not isinstance(error, Exception) and _on_main_thread():
                    raise
                report_failure(f"a listener of the event {name!r}", error)


def _on_main_thread() -> bool:
    import threading

    return threading.current_thread() is threading.main_thread()


def report_failure(what: str, error: BaseException, then: str = "") -> None:
    """Write a failure, mostly of the user's code, to stderr, without secrets: nothing else follows from it."""
    import sys
    import traceback

    from .redaction import in_force

    trace = in_force().text("".join(traceback.format_exception(error)))
    sys.stderr.write(f"mainstay: {what} failed{then and ' ' + then}:\n{trace}")


class Hooked:
    """The decorators of an application and of a job type. Register before the worker starts: it looks for hooks then."""

    hooks: Mapping[str, tuple[Hook, ...]] = {}  # defaults stand on the class: most have none
    middlewares: tuple[Callable[[], Any], ...] = ()

    def on_start(self, hook: H) -> H:
        """Call the hook when a worker starts an attempt."""
        return self._add(START, hook)

    def on_complete(self, hook: H) -> H:
        """Call the hook when a job has completed and that is stored."""
        return self._add(COMPLETE, hook)

    def on_failed(self, hook: H) -> H:
        """Call the hook when an attempt has failed and that is stored; `event.final` says whether the job is dead."""
        return self._add(FAILED, hook)

    def on_cancel(self, hook: H) -> H:
        """Call the hook when an attempt has ended because the job was cancelled and that is stored; `event.error` is its last error."""
        return self._add(CANCEL, hook)

    def on_progress(self, hook: H) -> H:
        """Call the hook when a handler reports progress or begins a stage."""
        return self._add(PROGRESS, hook)

    def _add(self, name: str, hook: H) -> H:
        from .errors import UsageError

        if not callable(hook):
            raise UsageError(f"on_{name} needs a function that takes a JobEvent, not {hook!r}")
        self.hooks = {**self.hooks, name: (*self.hooks.get(name, ()), hook)}
        return hook

    def middleware(self, function: M) -> M:
        """Run a generator function around each attempt: up to its `yield` before the handler, the rest after it."""
        from inspect import isasyncgenfunction, isgeneratorfunction

        from .errors import UsageError

        if not (isgeneratorfunction(function) or isasyncgenfunction(function)):
            raise UsageError(f"middleware {function!r}: write a generator function without parameters, with one yield")
        if isasyncgenfunction(function) and not getattr(self, "is_async", True):
            raise UsageError(f"{self!r} is a plain function: its middleware cannot be async")
        self.middlewares = (*self.middlewares, function)
        for each in (self, *getattr(self, "registry", {}).values()):  # an application has types
            each.__dict__.pop("handler", None)  # made anew for the next attempt
        return function
