"""The PostgreSQL store: each verb hands over to its module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..local_workers import LocalWorkers
from . import actions, claim, maintenance, reads
from .claim_cursor import ClaimCursors
from .connect import Database
from .enqueue import enqueue
from .locked_rows import LockedRows
from .notifier import Debouncer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType
    from typing import Any, Self

    from ...core.clock import Clock
    from ...core.decide import Transition
    from ...core.draft import Draft
    from ...core.export import Batch
    from ...core.job import Action, Attempt, Claimed, Count, Job, LogLine, TypeInfo, WorkerInfo
    from ...core.search_terms import Page, Term
    from ...core.updates import Update
    from ..contract import Claims, Notifier, Orphan, Renewal, StartedJobs
    from ..outbox.caller_connection import Outbox


class PostgresStore:
    """A store in one schema of a PostgreSQL database. Without a `clock` the server's own judges what is due or lost."""

    lease = 15_000
    sweep_interval = 1_000
    remote = True  # a server: it may be away for a while

    def __init__(self, url: str, clock: Clock | None = None) -> None:
        self.url = url
        self.db = Database(url)
        self.local_workers = LocalWorkers(*self.db.identity)
        self._by_caller = clock is not None
        self._debouncer = Debouncer(self.db)
        self._cursors, self._locked_rows = ClaimCursors(), LockedRows(self.db)
        self._outbox: Outbox | None = None

    def _judged(self, now: int) -> int | None:
        """The instant to judge by; None: the server's clock."""
        return now if self._by_caller else None

    # jobs ---------------------------------------------------------------------------------------------------------
    def enqueue(self, drafts: Sequence[Draft], now: int) -> list[tuple[str, bool]]:
        if not drafts:
            return []
        answers = enqueue(self.db, drafts, now)
        self.notify()
        return answers

    def outbox(self) -> Outbox:
        if self._outbox is None:
            from .outbox import PostgresOutbox

            self._outbox = PostgresOutbox(self.db)
        return self._outbox

    def claim(
        self, worker: str, wants: Mapping[str, Sequence[str]], limit: int, now: int,
        finishing: Sequence[Transition] = (), updates: Sequence[Update] = (),
    ) -> Claims:  # fmt: skip
        judged = self._judged(now)
        return claim.claim(
            self.db, self._cursors, self._locked_rows, worker, wants, limit, now, judged, finishing, updates
        )

    def claimed_by(self, worker: str) -> list[Claimed]:
        return claim.claimed_by(self.db, worker)

    def finish(self, transitions: Sequence[Transition], updates: Sequence[Update] = ()) -> list[str]:
        if any(transition.state == "queued" for transition in transitions):
            self._cursors.forget()
        return claim.finish(self.db, self._locked_rows, transitions, updates)

    # operators ----------------------------------------------------------------------------------------------------
    def cancel(self, ids: Sequence[str], now: int, actor: str) -> dict[str, str]:
        answers = actions.cancel(self.db, ids, now, actor)
        if "cancelling" in answers.values():
            self.notify("cancel")
        return answers

    def retry(self, ids: Sequence[str], now: int, actor: str) -> dict[str, str]:
        answers = actions.retry(self.db, ids, now, actor)
        if "queued" in answers.values():
            self.notify()
        return answers

    def resolve_review(self, job_id: str, approve: bool, now: int, actor: str, note: str) -> str:
        return actions.resolve_review(self.db, job_id, approve, now, actor, note)

    def delete(self, ids: Sequence[str], now: int, actor: str) -> dict[str, str]:
        return actions.delete(self.db, ids, now, actor)

    # chores -------------------------------------------------------------------------------------------------------
    def register(self, worker: WorkerInfo) -> None:
        self.local_workers.hold(worker.id)
        try:
            maintenance.register(self.db, worker, self._by_caller)
        except BaseException:
            self.local_workers.release(worker.id)
            raise

    def renew(self, worker: str, now: int, lease: int, stopping: bool = False) -> Renewal:
        return maintenance.renew(self.db, worker, self._judged(now), lease, stopping)

    def deregister(self, worker: str) -> None:
        maintenance.deregister(self.db, worker)
        self.local_workers.release(worker)

    def orphans(self, now: int, grace: int, limit: int) -> list[Orphan]:
        def find() -> list[Orphan]:
            return maintenance.orphans(self.db, self._judged(now), grace, limit)

        return self.local_workers.orphans(self.deregister, find, limit)

    def prune(self, now: int, limit: int) -> int:
        self.local_workers.tidy([worker.id for worker in self.workers()])
        return maintenance.prune(self.db, self._judged(now), limit)

    # configuration ------------------------------------------------------------------------------------------------
    def register_types(self, types: Sequence[TypeInfo]) -> None:
        maintenance.register_types(self.db, types)

    def types(self) -> list[TypeInfo]:
        return maintenance.types(self.db)

    def setting(self, name: str) -> str | None:
        from .move import setting

        return setting(self.db, name)

    def set_setting(self, name: str, value: str | None) -> None:
        from .move import set_setting

        set_setting(self.db, name, value)

    # moving -------------------------------------------------------------------------------------------------------
    def export_rows(self, part: str, after: str | None, limit: int) -> Batch:
        from .move import export_rows

        return export_rows(self.db, part, after, limit)

    def import_rows(self, part: str, rows: Sequence[tuple[Any, ...]], was: str, mark: str) -> None:
        from .move import import_rows

        import_rows(self.db, part, rows, was, mark)

    # observation --------------------------------------------------------------------------------------------------
    def get(self, job_id: str) -> Job | None:
        found = self.get_many([job_id])
        return found[0] if found else None

    def get_many(self, ids: Sequence[str]) -> list[Job]:
        return reads.get_many(self.db, ids)

    def find(self, prefix: str, limit: int) -> list[str]:
        return reads.find(self.db, prefix, limit)

    def search(self, terms: Sequence[Term], limit: int, after: str | None, now: int) -> Page:
        from .search import search

        return search(self.db, terms, limit, after, now)

    def result(self, job_id: str) -> str | None:
        return reads.text(self.db, "result", job_id)

    def checkpoint(self, job_id: str) -> str | None:
        return reads.text(self.db, "checkpoint", job_id)

    def attempts(self, job_id: str) -> list[Attempt]:
        job = self.get(job_id)
        return reads.attempts(self.db, job) if job else []

    def logs(self, job_id: str, after: int, limit: int) -> list[LogLine]:
        return reads.logs(self.db, job_id, after, limit)

    def actions(self, job_id: str | None, limit: int) -> list[Action]:
        return reads.actions(self.db, job_id, limit)

    def counts(self, cap: int) -> list[Count]:
        return reads.counts(self.db, cap)

    def throughput(self, since: int, cap: int) -> dict[str, int]:
        return reads.throughput(self.db, since, cap)

    def workers(self) -> list[WorkerInfo]:
        return reads.workers(self.db)

    def diagnostics(self) -> dict[str, str]:
        return reads.diagnostics(self.db)

    # wake-up and life ---------------------------------------------------------------------------------------------
    def started_jobs(self, worker: str) -> StartedJobs:
        return self.local_workers.marks(worker)

    def notifier(self, worker: str) -> Notifier:
        from .notifier import Listener

        return Listener(self.db, worker)

    def notify(self, what: str = "jobs") -> None:
        self._debouncer.ring(what)

    def close(self) -> None:
        self._debouncer.flush()
        self.db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
