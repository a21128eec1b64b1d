"""The jobs that this worker has claimed, from the claim until their outcome is stored."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ..context import Context
    from ..core.job import Claimed
    from ..core.outcome import Outcome

LOOK = 0.05  # seconds: `end` tells a stopping worker only of the last that ends, which keeps the hot path short


class Execution:
    """One claimed job in this worker: waiting for a slot, running, or ended and not yet stored.

    Defaults stand on the class: the worker makes one object per job, and most jobs never change them.
    """

    started = False
    ended = False  # it has an outcome, or this worker no longer holds the job
    mark = 0  # where the store notes that the handler runs
    deadline: int | None = None  # this and `claimed_at` by monotonic time
    context: Context | None = None
    cancel: str | None = None  # why it was asked to stop …
    asked_at = 0  # … and when, by monotonic time; 0 again when that was reported
    overrun: Outcome | None = None  # it ran out of time: what is recorded when its handler ends
    late = False  # its handler still ran a while after that
    members: Sequence[Execution] = ()  # of a batch: its jobs
    gathers = 0  # milliseconds that it may wait for other jobs of its batch
    stop: Any = None  # how its executor interrupts it, where that is possible

    def __init__(self, job: Claimed, type: Any, since: int) -> None:
        self.job, self.type, self.claimed_at = job, type, since


class InFlight:
    """The executions of this worker. One stays until its outcome is stored: it never counts as lost.

    An attempt is found by job id and token, because two attempts at one job may be here: the reply of a claim under a lost identity can come after
    the new identity has claimed the same job.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._executions: dict[Execution, bool] = {}  # in the order of their claims
        self._open: dict[Execution, bool] = {}  # those that have not ended
        self.added = 0  # how many were claimed since the worker started

    @property
    def active(self) -> int:
        """How many were claimed and have not ended."""
        return len(self._open)

    @property
    def ended(self) -> int:
        """How many have ended since the worker started."""
        return self.added - len(self._open)

    @property
    def unstored(self) -> int:
        """How many have ended and are not stored. Their outcomes may not be in the buffer yet: another thread is about to add them."""
        return len(self._executions) - len(self._open)

    def open(self) -> list[Execution]:
        """Return those that have not ended."""
        return list(self._open)

    def add(self, executions: list[Execution]) -> None:
        with self._lock:
            added = dict.fromkeys(executions, True)
            self._executions.update(added)
            self._open.update(added)
            self.added += len(executions)

    def find(self, attempts: Iterable[tuple[str, int]]) -> dict[tuple[str, int], Execution]:
        """Return those of these attempts, by job id and token, that are here. Looks at each: only cancels and lost replies ask."""
        wanted = set(attempts)
        return {key: each for each in self if (key := (each.job.id, each.job.token)) in wanted}

    def end(self, execution: Execution) -> bool:
        """Mark an execution as ended; False if it had ended before or was dropped.

        Needs no lock: `dict.pop` is atomic, and the caller that gets the entry has ended it.
        """
        if self._open.pop(execution, None) is None:
            return False
        execution.ended = True
        if not self._open:
            with self._changed:
                self._changed.notify_all()
        return True

    def wait_removed(self, seconds: float) -> None:
        """Block until some outcome is stored, or the time is over."""
        with self._changed:
            self._changed.wait(seconds)

    def wait_ended(self, seconds: float, counts: Callable[[Execution], bool]) -> bool:
        """Block until every execution that counts has ended, or the time is over; return whether all have."""
        limit = time.monotonic() + seconds
        with self._changed:
            while any(map(counts, list(self._open))):
                left = limit - time.monotonic()
                if left <= 0:
                    return False
                self._changed.wait(min(left, LOOK))
        return True

    def remove(self, executions: list[Execution]) -> None:
        """Forget attempts whose outcome is stored or refused."""
        with self._lock:
            for execution in executions:
                self._executions.pop(execution, None)
            self._changed.notify_all()

    def drop_all(self) -> list[Execution]:
        """Forget everything because the lease is lost; return those that had not ended."""
        with self._lock:
            dropped = [execution for execution in list(self._open) if self._open.pop(execution, None)]
            for execution in dropped:
                execution.ended = True
            self._executions.clear()
            self._changed.notify_all()
        return dropped

    def __iter__(self) -> Iterator[Execution]:
        with self._lock:
            return iter(list(self._executions))

    def __len__(self) -> int:
        return len(self._executions)
