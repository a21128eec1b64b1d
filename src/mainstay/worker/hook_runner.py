"""Calls the hooks of an application, on a thread of its own: a hook that is slow, fails or hangs changes nothing for the jobs."""

from __future__ import annotations

import sys
import threading
from inspect import isawaitable
from queue import Full, Queue
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ..core.events import CANCEL, COMPLETE, FAILED, PROGRESS, START, report_failure
from ..core.job_event import ended, progressed, started
from ..core.states import CANCELLED, COMPLETED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..app import Mainstay
    from ..core.decide import Transition
    from ..core.events import Hook
    from ..core.job import Claimed
    from ..core.updates import Progress

WAITING = 10_000  # calls; above this, calls are left out
GRACE = 5.0  # seconds for the calls that wait when the last worker stops
_runners: WeakKeyDictionary[Mainstay, HookRunner] = WeakKeyDictionary()
_lock = threading.Lock()


def run_hooks(app: Mainstay) -> Callable[[], None]:
    """Call the hooks of an application from now on, and return a function that ends it. Its workers share one runner."""
    if not any(each.hooks for each in (app, *app.registry.values())):
        return lambda: None
    with _lock:
        runner = _runners.get(app)
        if runner is None:
            runner = _runners[app] = HookRunner(app)
        runner.users += 1
    return runner.leave


class HookRunner:
    """Turns events into calls. An attempt is known from its start until its outcome is stored."""

    def __init__(self, app: Mainstay) -> None:
        self._app, self.users = app, 0
        self._jobs: dict[tuple[int | str, int], Claimed] = {}
        self._calls: Queue[tuple[str, Hook, Any] | None] = Queue(WAITING)
        self._left_out, self._closed = 0, False
        self._thread = threading.Thread(target=self._work, name="mainstay-hooks", daemon=True)
        self._thread.start()
        listeners: dict[str, Callable[..., None]] = {
            "started": self._started, "progress": self._progress, "stored": self._stored, "lost": self._lost,
            "lease_lost": self._lease_lost,
        }  # fmt: skip
        self._forget = [app.events.on(name, listener) for name, listener in listeners.items()]

    def leave(self) -> None:
        """End the calls, after those that wait, when no other worker of the application is left."""
        with _lock:
            self.users -= 1
            if self.users:
                return
            del _runners[self._app]
        for forget in self._forget:
            forget()
        try:
            self._calls.put(None, timeout=GRACE)
            self._thread.join(GRACE)
        except Full:  # a hook hangs
            self._closed = True
        if self._left_out:
            sys.stderr.write(f"mainstay: hooks were slower than the jobs: {self._left_out:,} calls were left out\n")

    # events, on the threads of the worker -------------------------------------------------------------------------
    def _started(self, job: Claimed) -> None:
        self._jobs[job.seq, job.token] = job
        self._put(START, job, started)

    def _progress(self, update: Progress) -> None:
        job = self._jobs.get((update.seq, update.token))
        if job is not None:
            self._put(PROGRESS, job, progressed, update)

    def _stored(self, transitions: Sequence[Transition]) -> None:
        for each in transitions:
            job = self._jobs.pop((each.seq, each.token), None)
            if job is None:  # it had not started
                continue
            if each.state == COMPLETED:
                self._put(COMPLETE, job, ended, each)
            elif each.state == CANCELLED:
                self._put(CANCEL, job, ended, each)
            elif each.error is not None and each.outcome != "released":
                self._put(FAILED, job, ended, each)

    def _lost(self, transition: Transition) -> None:
        self._jobs.pop((transition.seq, transition.token), None)

    def _lease_lost(self, worker: str) -> None:
        for place in list(self._jobs):  # handlers start meanwhile
            job = self._jobs.get(place)
            if job is not None and job.worker == worker:
                self._jobs.pop(place, None)

    def _put(self, name: str, job: Claimed, make: Callable[..., Any], *more: Any) -> None:
        type = self._app.registry.get(job.type)
        hooks = (*self._app.hooks.get(name, ()), *(type.hooks.get(name, ()) if type else ()))
        event = make(job, *more) if hooks else None
        for hook in hooks:
            try:
                self._calls.put_nowait((name, hook, event))
            except Full:
                self._left_out += 1

    # calls, on the runner's own thread ----------------------------------------------------------------------------
    def _work(self) -> None:
        loop: Any = None
        while not self._closed and (call := self._calls.get()) is not None:
            name, hook, event = call
            try:
                result = hook(event)
                if isawaitable(result):
                    import asyncio

                    loop = loop or asyncio.new_event_loop()
                    loop.run_until_complete(result)
            except BaseException as error:  # noqa: BLE001  (even SystemExit ends nothing here)
                report_failure(f"the hook on_{name} {getattr(hook, '__qualname__', hook)!s}", error)
        if loop is not None:
            loop.close()
