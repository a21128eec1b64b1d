"""A drain: a worker that runs what is due and then ends, for cron hosts and serverless functions.

It fits into a time: before that is over, it asks handlers to stop, interrupts what can be interrupted, and releases their jobs with no
attempt spent.
"""

from __future__ import annotations

import threading
import time
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from ..core.clock import milliseconds
from ..core.errors import StoreError, UsageError
from .batches import NEVER
from .drained import Tally, count_left, drained
from .shutdown import STOP, stop_on_order
from .wanted import wanted_by
from .worker import Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..app import Mainstay
    from ..core.clock import Duration
    from ..core.decide import Transition
    from .drained import Drained

RESERVE = 2.0  # seconds, and at most a fifth of the time: kept for stopping
PART = 0.4  # of that: for safe points, and as much for what is interrupted to clean up; the rest for the last writes
SHORTEST = 0.1  # seconds for each, however late it is
UNREACHABLE = 10.0  # seconds after which a store that fails ends the drain
LONGEST = 1e6  # seconds that a timer takes


class OneShot(Worker):
    """Runs what is due until nothing is, or a limit is reached. `orders` gets STOP when it is to stop."""

    def __init__(
        self, app: Mainstay, orders: SimpleQueue[str], max_jobs: int | None = None,
        max_seconds: Duration | None = None, **options: Any,
    ) -> None:  # fmt: skip
        if max_jobs is not None and max_jobs < 1:
            raise UsageError(f"max_jobs={max_jobs}: a drain runs at least one job")
        seconds = float("inf") if max_seconds is None else milliseconds(max_seconds) / 1000
        if seconds <= 0:
            raise UsageError(f"max_seconds={max_seconds}: give a time above zero, such as max_seconds=25")
        super().__init__(app, **options | {"reconcile": 0})  # a drain is short, and starts often
        self._stops, self._limit = orders, seconds
        self.obey = orders.put
        self._end_at = time.monotonic() + seconds
        if max_jobs is not None:
            self.claimer.most = max_jobs
        self._tally, self._identities = Tally(), {""}
        self._due: dict[str, float] = {}  # when each chore is to be done again
        self._chores: dict[str, Callable[[int], int]] = self._chore_steps()
        self._failing_since = 0.0
        self._error: BaseException | None = None

    def _steps(self) -> dict[str, Callable[[int], int]]:
        """Return the loops of a worker; the chores are done between the claims, so that the first claim sees what they free."""
        steps = super()._steps()
        return {name: step for name, step in steps.items() if name not in self._chores} | {"claimer": self._round}

    def drain(self) -> Drained:
        """Run what is due, stop, and return what was done. Raises `StoreError` if the store cannot be reached."""
        forget = [self._events.on("stored", self._count), self._events.on("store_error", self._failed)]
        try:
            self.start()
            self._run()
        finally:
            for each in forget:
                each()
        if self._failing_since and isinstance(self._error, StoreError):
            raise self._error
        left, more = count_left(self.store, self.wants, self._clock.now())
        return drained(self._tally)._replace(left=left, more=more, running=len(self.slots.running()))

    def _run(self) -> None:
        """Stop when an order comes, or in time before the time is over."""
        seconds = self._left() - min(RESERVE, self._limit / 5)
        over = threading.Timer(max(min(seconds, LONGEST), 0), self._stops.put, (STOP,))
        over.daemon = True
        over.start()
        try:
            stop_on_order(self, self._stops)
        except BaseException:  # Ctrl-C in a program that listens to no signals
            self.stop(0)
            raise
        finally:
            over.cancel()

    # rounds -------------------------------------------------------------------------------------------------------
    def _round(self, now: int) -> int:
        """Do the chores that are due and one round of the claimer. If nothing was here before and nothing came, end."""
        self._identities.add(self.registration.registered)
        self._do_chores(now)
        idle, ready, held = self._idle, self._ready, self.in_flight.added
        wait = self.claimer.step(now)
        if self.in_flight.added == held:
            self.slots.batches.start_due(early=NEVER)  # no others come by themselves
        claimed = ready and self._ready
        if self._unreachable(claimed) or (claimed and idle and self._idle):
            self._stops.put(STOP)
            return NEVER
        return 0 if self._idle and not idle else wait

    @property
    def _idle(self) -> bool:
        """Whether nothing runs, but handlers that do not end after their timeout, and everything is stored."""
        return not self.outcomes.pending and all(execution.late for execution in self.in_flight)

    @property
    def _ready(self) -> bool:
        return self.claimer.ready or (self.claimer.exhausted and not self.claimer.failing)

    def _do_chores(self, now: int) -> None:
        for name, step in self._chores.items():
            at = time.monotonic()
            if at >= self._due.get(name, 0.0):
                self._due[name] = at + step(now) / 1000

    def _unreachable(self, claimed: bool) -> bool:
        """Return whether no claim has succeeded for too long because the store failed."""
        at = time.monotonic()
        if claimed:
            self._failing_since = 0.0
        elif self.claimer.failing:
            self._failing_since = self._failing_since or at
        return bool(self._failing_since) and at - self._failing_since > UNREACHABLE

    def _failed(self, error: BaseException, wait: int) -> None:
        self._error = error

    def _count(self, transitions: Sequence[Transition]) -> None:
        self._tally.count(each for each in transitions if each.worker in self._identities)  # other workers may be here

    # the end ------------------------------------------------------------------------------------------------------
    def _left(self) -> float:
        return self._end_at - time.monotonic()

    def stop(self, grace: Duration | None = None, *, drain: bool = False) -> None:
        """Stop as a worker does, within the time that is left: a part of it for safe points, another for what is interrupted."""
        part = max(self._left() * PART, SHORTEST)
        given = self.grace if grace is None else milliseconds(grace)
        self.clean_up, self.final_writes = min(self.clean_up, part), min(self.final_writes, part)
        self.grace = round(min(given, part * 1000))
        super().stop()


def drain(
    app: Mainstay, max_jobs: int | None = None, max_seconds: Duration | None = None, **options: Any
) -> Drained:  # fmt: skip
    """Run what is due in this process; see `Mainstay.drain`."""
    if app.kit is not None:
        return app.kit.drain_once(app, max_jobs, wanted_by(app, options.get("queues"), options.get("types")))
    return OneShot(app, SimpleQueue(), max_jobs, max_seconds, **options).drain()
