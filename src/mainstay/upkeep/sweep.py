"""Sweep: frees the jobs of dead workers, and those that a live one has lost, by the same `finish` as any outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.clock import SystemClock, monotonic
from ..core.decide import decide
from ..core.errors import StoreError
from ..core.outcome import CRASHED, INTERRUPTED, LOST_UNKNOWN, RELEASED, Outcome
from ..core.verdict import STORED
from . import release_notes

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..core.clock import Clock
    from ..core.events import Events
    from ..stores.contract import Store
    from ..stores.results import Orphan

SYSTEM = SystemClock()
LIMIT = 500
GRACE = 60_000  # how far past its timeout a job is before others look whether its handler runs
AFTER_AN_ERROR = 5_000
OVERDUE = Outcome("timed out", error="TimeoutError: far past its timeout, and its worker does not run it")


class Sweep:
    """Sweeps once a step. A job that its worker finishes meanwhile is left alone: its token has changed.

    So is a job that a live worker still runs, however late: a second attempt must not run beside the first.
    """

    name = "sweep"

    def __init__(
        self,
        store: Store,
        random: Callable[[], float],
        events: Events,
        every: int,
        grace: int = GRACE,
        clock: Clock = SYSTEM,
    ) -> None:
        self._store, self._random, self._events, self._every, self._grace = store, random, events, every, grace
        self._monotonic = monotonic(clock)
        self._overdue: dict[tuple[str, int], int] = {}  # since when the last sweeps saw these attempts so

    def step(self, now: int) -> int:
        """Free orphaned jobs; return when to sweep again."""
        try:
            found = self._store.orphans(now, self._grace, LIMIT)
            overdue = self._watched([orphan for orphan in found if not orphan.gone and orphan.begun is False])
            orphans = [orphan for orphan in found if orphan.gone] + overdue
            if orphans:
                self._free(orphans, now)
        except StoreError as error:
            self._events.emit("store_error", error=error, wait=AFTER_AN_ERROR)
            return AFTER_AN_ERROR
        return 0 if len(orphans) == LIMIT else self._every

    def _watched(self, overdue: list[Orphan]) -> list[Orphan]:
        """Return the jobs that sweeps have seen as overdue for as long as it takes to be overdue.

        The wall clock decides which are, and it may have been put forward. Their worker measures by monotonic time.
        """
        now, before = self._monotonic(), self._overdue
        self._overdue = {key: before.get(key, now) for key in map(_key, overdue)}
        return [each for each in overdue if now - self._overdue[_key(each)] >= (each.job.timeout or 0) + self._grace]

    def _free(self, orphans: list[Orphan], now: int) -> None:
        workers = {orphan.worker for orphan in orphans if orphan.gone}
        notes = {worker: release_notes.read(self._store, worker) for worker in workers}
        outcomes = [notes.get(orphan.worker, {}).get(orphan.job.id) or _outcome(orphan) for orphan in orphans]
        transitions = [decide(o.job, outcome, now, self._random) for o, outcome in zip(orphans, outcomes, strict=True)]
        verdicts = self._store.finish(transitions)
        if len(orphans) < LIMIT:  # else a worker may have more jobs
            for worker in filter(notes.get, notes):
                release_notes.remove(self._store, worker)
        freed = [orphan for orphan, verdict in zip(orphans, verdicts, strict=True) if verdict == STORED]
        if freed:
            self._events.emit("swept", orphans=freed)
            self._store.notify()


def _key(orphan: Orphan) -> tuple[str, int]:
    return orphan.job.id, orphan.job.token


def _outcome(orphan: Orphan) -> Outcome:
    """Return `released` for a job whose handler had not started; it costs no attempt. A started one counts as crashed.

    Unless its worker is known to live: a suspended worker costs its jobs an attempt, and nothing died.
    """
    if not orphan.gone:
        return OVERDUE
    if orphan.alive and orphan.begun:
        return INTERRUPTED
    if orphan.begun is None:
        return LOST_UNKNOWN
    return CRASHED if orphan.begun else RELEASED
