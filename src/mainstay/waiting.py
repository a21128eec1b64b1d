"""Waits for jobs to end by polling: often at first, then less often.

A thread polls for one job. An event loop polls for all jobs that it awaits with one read at a time, so that it holds at most
one thread of its executor however many there are.
"""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import TYPE_CHECKING

from .core.clock import milliseconds
from .core.errors import NotFound
from .core.states import ENDED, REVIEW

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future, TimerHandle
    from collections.abc import Callable, Iterable

    from .core.clock import Duration
    from .core.job import Job
    from .stores.contract import Store

SHORTEST, LONGEST = 0.002, 0.1
SOME = 500  # jobs of one read
IDLE = 3  # times as long as a read took: so long passes before the next, however many jobs are awaited


def wait_for(store: Store, job_id: str, timeout: Duration | None) -> Job | None:
    """Wait until the job has ended or is in review and return it; None after the timeout."""
    limit, pause, never = _deadline(timeout, time.monotonic()), SHORTEST, threading.Event()
    while True:
        job = stored(store, job_id)
        if _at_rest(job):
            return job
        left = limit - time.monotonic()
        if left <= 0:
            return None
        never.wait(min(pause, left))
        pause = min(pause * 1.5, LONGEST)


def wait_for_all(
    store: Store, ids: Iterable[str], timeout: Duration | None, report: Callable[[int], None] = lambda left: None
) -> dict[str, str]:
    """Wait until all jobs have ended and return their states; after the timeout without those that have not. Gone ones are `deleted`.

    `report` gets how many are left, after each read. A read is of some of the jobs, however many there are.
    """
    limit, pause, never = _deadline(timeout, time.monotonic()), SHORTEST, threading.Event()
    left, states = dict.fromkeys(ids), dict[str, str]()
    while left:
        some = list(left)[:SOME]
        found = {job.id: job for job in store.get_many(some)}
        ended = {job_id: _ending(found.get(job_id)) for job_id in some}
        states |= {job_id: state for job_id, state in ended.items() if state}
        left = {job_id: None for job_id in left if job_id not in states}
        report(len(left))
        if time.monotonic() >= limit:
            break
        pause = SHORTEST if any(ended.values()) else min(pause * 1.5, LONGEST)
        never.wait(min(pause, max(limit - time.monotonic(), 0)) if left else 0)
    return states


def _ending(job: Job | None) -> str:
    """Return the state in which a job has ended; empty if it has not."""
    if job is None:
        return "deleted"
    return job.state if _at_rest(job) else ""


async def await_end(loop: AbstractEventLoop, store: Store, job_id: str, limit: Duration | None) -> Job | None:
    """As `wait_for`, for a coroutine that runs in this loop."""
    poll = _polls.setdefault((loop, store), Poll(loop, store))
    waiter = poll.add(job_id, _deadline(limit, loop.time()))
    try:
        return await waiter
    finally:
        poll.remove(job_id, waiter)


class Poll:
    """The jobs of one store that one event loop awaits. All methods run in that loop."""

    def __init__(self, loop: AbstractEventLoop, store: Store) -> None:
        self._loop, self._store = loop, store
        self._waiters: dict[str, dict[Future[Job | None], float]] = {}  # by job: each with its deadline
        self._pause = SHORTEST
        self._earliest = 0.0  # when the next read may begin
        self._timer: TimerHandle | None = None
        self._reading = False

    def add(self, job_id: str, deadline: float) -> Future[Job | None]:
        """Return a future that gets the job when it has ended, or None after the deadline."""
        waiter: Future[Job | None] = self._loop.create_future()
        self._waiters.setdefault(job_id, {})[waiter] = deadline
        self._pause = SHORTEST
        self._schedule(0.0)
        return waiter

    def remove(self, job_id: str, waiter: Future[Job | None]) -> None:
        """Forget a waiter that has its answer or was cancelled."""
        self._waiters[job_id].pop(waiter)
        if not self._waiters[job_id]:
            del self._waiters[job_id]
        if not self._waiters:
            _polls.pop((self._loop, self._store), None)

    def _schedule(self, pause: float) -> None:
        if self._reading or not self._waiters:
            return
        limits = [limit for waiters in self._waiters.values() for limit in waiters.values()]
        nearest = min(limits) if pause else 0.0  # 0: at once, whatever the deadlines are
        at = max(min(self._loop.time() + pause, nearest), self._earliest)
        if self._timer is not None:
            if self._timer.when() <= at:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(at, self._read)

    def _read(self) -> None:
        self._timer, self._reading = None, True
        ids, started = list(self._waiters), self._loop.time()
        reading = self._loop.run_in_executor(None, self._store.get_many, ids)
        reading.add_done_callback(partial(self._found, ids, started))

    def _found(self, ids: list[str], started: float, reading: Future[list[Job]]) -> None:
        self._reading, now, error = False, self._loop.time(), None
        try:
            jobs = {job.id: job for job in reading.result()}
        except BaseException as failure:  # noqa: BLE001  (whoever waits gets it)
            jobs, error = {}, failure
        for job_id in ids:
            self._answer(job_id, jobs.get(job_id), error or _missing(job_id), now)
        self._earliest = now + IDLE * (now - started)
        self._schedule(self._pause)
        self._pause = min(self._pause * 1.5, LONGEST)

    def _answer(self, job_id: str, job: Job | None, error: BaseException, now: float) -> None:
        for waiter, limit in self._waiters.get(job_id, {}).items():
            if waiter.done():
                continue
            if job is None:
                waiter.set_exception(error)
            elif _at_rest(job):
                waiter.set_result(job)
            elif limit <= now:
                waiter.set_result(None)


_polls: dict[tuple[AbstractEventLoop, Store], Poll] = {}


def stored(store: Store, job_id: str) -> Job:
    """Return a job as the store has it, or raise `NotFound`."""
    job = store.get(job_id)
    if job is None:
        raise _missing(job_id)
    return job


def _missing(job_id: str) -> NotFound:
    return NotFound(
        f"job {job_id} does not exist: its transaction has not committed, or it was deleted or removed by retention"
    )


def _deadline(timeout: Duration | None, now: float) -> float:
    return float("inf") if timeout is None else now + milliseconds(timeout) / 1000


def _at_rest(job: Job) -> bool:
    return job.state in ENDED or job.state == REVIEW
