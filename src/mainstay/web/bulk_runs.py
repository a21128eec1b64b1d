"""Operations on many jobs that this server runs, each in a thread: how far they are, and how they are stopped."""

from __future__ import annotations

import logging
import threading
import time
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from ..core.errors import Conflict, MainstayError
from .problems import Refused, detail_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..app import Mainstay
    from ..control.bulk import Operation
    from ..control.bulk_run import Progress, Report
    from .roles import Access

    Work = Callable[[Callable[[Progress], object]], Report]

MOST, OF_ALL = 4, 32  # operations of a tenant at once; of all
KEPT = 50  # operations that are remembered when they have ended
PREVIEWED, RUNNING, FINISHED, STOPPED, FAILED = "previewed", "running", "finished", "stopped", "failed"
_log = logging.getLogger("mainstay.web")


class BulkOperation(msgspec.Struct, kw_only=True):
    """An operation on many jobs: what it does, how far it is (`done` of `matched`), how fast in jobs per second, and the seconds `left`.

    States: previewed (nothing has changed), running, finished, stopped, failed. `refused` counts jobs that were not changed, by reason.
    """

    id: str
    action: str
    actor: str
    at: datetime | None
    search: str
    matched: int
    changed: int = 0
    refused: dict[str, int] = msgspec.field(default_factory=dict)
    types: dict[str, int] = msgspec.field(default_factory=dict)
    done: int = 0
    rate: float | None = None
    left: float | None = None
    state: str = RUNNING
    error: str | None = None
    resumable: bool = False

    @property
    def http_status(self) -> int | None:
        """200 for a preview, which has changed nothing; None: what the call has as its status."""
        return 200 if self.state == PREVIEWED else None


def recorded(found: Operation) -> BulkOperation:
    """Return an operation of the audit trail. One that is not finished may be at work in another process, which nobody can see."""
    refused = dict(found.refused)
    return BulkOperation(
        id=found.id, action=found.action, actor=found.actor, at=found.at, search=found.search, matched=found.matched,
        changed=found.changed, refused=refused, done=found.changed + sum(refused.values()),
        state=FINISHED if found.finished else STOPPED, resumable=not found.finished,
    )  # fmt: skip


REVOKED = "the token that began this was revoked or has expired; who has another may resume it, if it is resumable"


class Stopped(Exception):
    """Raised between two chunks: somebody has stopped the operation, or it may not go on, which the text says."""


class BulkRun:
    """One operation of this server. Its thread changes `operation`; others read it."""

    def __init__(self, operation: BulkOperation, who: Access, in_audit: bool, key: str | None = None) -> None:
        self.operation, self.who, self.key = operation, who, key
        self.in_audit = in_audit  # whether the audit trail has its place, so that it can be resumed
        self._before = operation.done  # by the one who was stopped
        self._began = time.monotonic()
        self._stop = threading.Event()
        self.ended = threading.Event()

    def stop(self) -> None:
        """Let it stop behind the chunk that it works on."""
        self._stop.set()

    def progress(self, step: Progress) -> None:
        """Take down how far it is; raise if it is to stop."""
        told, spent = self.operation, max(time.monotonic() - self._began, 0.001)
        told.done, told.matched = step.done, max(step.matched, step.done)
        told.rate = (step.done - self._before) / spent
        told.left = (told.matched - told.done) / told.rate if told.rate else None
        if self._stop.is_set():
            raise Stopped

    def end(self, state: str, report: Report | None = None, error: str | None = None, resumable: bool = False) -> None:
        """Take down how it has ended. Readers look at the state, so it is set last."""
        told = self.operation
        if report is not None:
            told.matched, told.changed, told.refused = report.matched, report.changed, dict(report.refused)
            told.done = told.changed + sum(told.refused.values())
        told.left, told.error, told.resumable = None, error, resumable
        told.state = state
        self.ended.set()


class BulkRuns:
    """The operations of one server, newest first. They are forgotten with it; the audit trail keeps those that a search began."""

    def __init__(self, app: Mainstay) -> None:
        self._app, self._lock = app, threading.Lock()
        self._runs: dict[str, BulkRun] = {}

    def start(self, run: BulkRun, work: Work) -> BulkOperation:
        """Run an operation in a thread; return the one that has its key, if there is one. Raise if too many are at work, or this one is."""
        with self._lock:
            known = self._keyed(run.who, run.key)
            if known is not None:
                return known.operation
            self._check(run)
            self._runs = {run.operation.id: run} | {
                id: each for id, each in self._runs.items() if id != run.operation.id
            }
            for id in [id for id, each in self._runs.items() if each.ended.is_set()][KEPT:]:
                del self._runs[id]
        threading.Thread(target=self._work, args=(run, work), name="mainstay-bulk", daemon=True).start()
        return run.operation

    def _check(self, run: BulkRun) -> None:
        """Raise if an operation cannot begin now."""
        busy = [each for each in self._runs.values() if not each.ended.is_set()]
        if any(each.operation.id == run.operation.id for each in busy):
            raise Conflict(f"the operation {run.operation.id} is at work: wait for it, or stop it first")
        mine = sum(each.who.tenant == run.who.tenant for each in busy)
        if mine >= MOST or len(busy) >= OF_ALL:
            most = MOST if mine >= MOST else OF_ALL
            raise Refused(429, "too_many_operations", f"{most} operations are at work: wait for one, or stop one", {"Retry-After": "10"})  # fmt: skip

    def keyed(self, who: Access, key: str | None) -> BulkRun | None:
        """Return the operation that a caller has begun under a key, if it is remembered."""
        with self._lock:
            return self._keyed(who, key)

    def _keyed(self, who: Access, key: str | None) -> BulkRun | None:
        own = who.actor, who.tenant, key
        return next((each for each in self._runs.values() if key and (each.who.actor, each.who.tenant, each.key) == own), None)  # fmt: skip

    def _work(self, run: BulkRun, work: Work) -> None:
        def progress(step: Progress) -> None:
            run.progress(step)
            if step.done < step.matched and run.who.token and self._app.tokens.in_force(run.who.token) is None:
                raise Stopped(REVOKED)

        try:
            report = work(progress)
        except Stopped as stopped:
            self._cut(run, STOPPED, str(stopped) or None)
        except MainstayError as error:
            self._cut(run, FAILED, detail_of(error, run.who))
        except Exception as error:  # noqa: BLE001  (the thread ends with it; the operation tells)
            _log.error("the operation %s failed", run.operation.id, exc_info=error)
            self._cut(run, FAILED, "the server's log has the traceback")
        else:
            run.end(FINISHED, report)

    def _cut(self, run: BulkRun, state: str, error: str | None = None) -> None:
        """Say what was done before it was stopped or failed, as the audit trail has it; that may have been all."""
        told, over = run.operation, run.operation.done >= run.operation.matched and error is None
        resumable = run.in_audit and told.done > 0 and not over
        try:
            found = self._recorded(told.id) if run.in_audit else None
        except MainstayError:  # the store is not there: what the last chunk told stays
            found = None
        if found is not None:
            told.changed, told.refused = found.changed, dict(found.refused)
            over, resumable = found.finished, not found.finished
        run.end(FINISHED if over else state, error=None if over else error, resumable=resumable)

    def _recorded(self, id: str) -> Operation | None:
        return next((each for each in self._app.bulk_operations(finished=True) if each.id == id), None)

    def listed(self) -> list[BulkRun]:
        """Return the operations that are remembered, newest first."""
        with self._lock:
            return list(self._runs.values())

    def get(self, id: str) -> BulkRun | None:
        """Return an operation that is remembered."""
        with self._lock:
            return self._runs.get(id)
