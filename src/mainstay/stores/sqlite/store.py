"""The SQLite store: each verb hands over to its module, imported when first used so that a cold enqueue stays cold."""

from __future__ import annotations

from .connect import Database

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType
    from typing import Any, Self

    from ...core.decide import Transition
    from ...core.draft import Draft
    from ...core.export import Batch
    from ...core.job import Action, Attempt, Claimed, Count, Job, LogLine, TypeInfo, WorkerInfo
    from ...core.search_terms import Page, Term
    from ...core.updates import Update
    from ..contract import Claims, Notifier, Orphan, Renewal, StartedJobs
    from ..outbox.caller_connection import Outbox
    from .notifier import MemoryNotifier


class SqliteStore:
    """A store in one SQLite file, or in memory for tests."""

    lease = 10_000  # a paused worker is given up after this; a dead one is seen at once by its lock
    sweep_interval = 500
    remote = False

    def __init__(self, url: str) -> None:
        self.url = url
        self.db = Database(url)
        self._bells: set[MemoryNotifier] = set()

    # jobs ---------------------------------------------------------------------------------------------------------
    def enqueue(self, drafts: Sequence[Draft], now: int) -> list[tuple[str, bool]]:
        from .enqueue import enqueue

        with self.db.writing() as connection:
            answers = enqueue(connection, drafts, now)
        self.notify()
        return answers

    def outbox(self) -> Outbox:
        from .outbox import SqliteOutbox

        return SqliteOutbox(self.db)

    def claim(
        self, worker: str, wants: Mapping[str, Sequence[str]], limit: int, now: int,
        finishing: Sequence[Transition] = (), updates: Sequence[Update] = (),
    ) -> Claims:  # fmt: skip
        from .claim import claim

        return claim(self.db, worker, wants, limit, now, finishing, updates)

    def claimed_by(self, worker: str) -> list[Claimed]:
        from .claim import claimed_by

        return claimed_by(self.db, worker)

    def finish(self, transitions: Sequence[Transition], updates: Sequence[Update] = ()) -> list[str]:
        from .claim import finish

        return finish(self.db, transitions, updates)

    # operators ----------------------------------------------------------------------------------------------------
    def cancel(self, ids: Sequence[str], now: int, actor: str) -> dict[str, str]:
        from .actions import cancel

        answers = cancel(self.db, ids, now, actor)
        if "cancelling" in answers.values():
            self.notify("cancel")
        return answers

    def retry(self, ids: Sequence[str], now: int, actor: str) -> dict[str, str]:
        from .actions import retry

        answers = retry(self.db, ids, now, actor)
        self.notify()
        return answers

    def resolve_review(self, job_id: str, approve: bool, now: int, actor: str, note: str) -> str:
        from .actions import resolve_review

        return resolve_review(self.db, job_id, approve, now, actor, note)

    def delete(self, ids: Sequence[str], now: int, actor: str) -> dict[str, str]:
        from .actions import delete

        return delete(self.db, ids, now, actor)

    # chores -------------------------------------------------------------------------------------------------------
    def register(self, worker: WorkerInfo) -> None:
        from .. import worker_locks
        from . import maintenance

        worker_locks.hold(self.db.path, worker.id)  # before the row: whoever sees the row may try the lock
        try:
            maintenance.register(self.db, worker)
        except BaseException:
            worker_locks.release(self.db.path, worker.id)
            raise

    def renew(self, worker: str, now: int, lease: int, stopping: bool = False) -> Renewal:
        from .maintenance import renew

        return renew(self.db, worker, now, lease, stopping)

    def deregister(self, worker: str) -> None:
        from .. import worker_locks
        from . import maintenance

        maintenance.deregister(self.db, worker)
        worker_locks.release(self.db.path, worker)

    def orphans(self, now: int, grace: int, limit: int) -> list[Orphan]:
        from .. import worker_locks
        from . import maintenance

        dead = worker_locks.dead(self.db.path, [worker.id for worker in self.workers()])
        found = maintenance.orphans(self.db, now, grace, limit, dead)
        if found and not self.db.memory:
            from ..started_jobs import judged

            found = judged(self.db.path, found)
            dead += worker_locks.dead(self.db.path, {orphan.worker for orphan in found if orphan.gone}.difference(dead))
        if len(found) < limit:  # else the marks are needed once more
            for worker in dead:
                worker_locks.bury(self.db.path, worker)
        return found

    def prune(self, now: int, limit: int) -> int:
        from .. import worker_locks
        from . import maintenance

        if worker_locks.LOCKS and not self.db.memory:
            worker_locks.tidy(self.db.path, [worker.id for worker in self.workers()], now)
        return maintenance.prune(self.db, now, limit)

    # configuration ------------------------------------------------------------------------------------------------
    def register_types(self, types: Sequence[TypeInfo]) -> None:
        from .maintenance import register_types

        register_types(self.db, types)

    def types(self) -> list[TypeInfo]:
        from .maintenance import types

        return types(self.db)

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
        from .reads import get_many

        return get_many(self.db, ids)

    def find(self, prefix: str, limit: int) -> list[str]:
        from .reads import find

        return find(self.db, prefix, limit)

    def search(self, terms: Sequence[Term], limit: int, after: str | None, now: int) -> Page:
        from .search import search

        return search(self.db, terms, limit, after, now)

    def result(self, job_id: str) -> str | None:
        from .reads import text

        return text(self.db, "result", job_id)

    def checkpoint(self, job_id: str) -> str | None:
        from .reads import text

        return text(self.db, "checkpoint", job_id)

    def attempts(self, job_id: str) -> list[Attempt]:
        from .reads import attempts

        job = self.get(job_id)
        return attempts(self.db, job) if job else []

    def logs(self, job_id: str, after: int, limit: int) -> list[LogLine]:
        from .reads import logs

        return logs(self.db, job_id, after, limit)

    def actions(self, job_id: str | None, limit: int) -> list[Action]:
        from .reads import actions

        return actions(self.db, job_id, limit)

    def counts(self, cap: int) -> list[Count]:
        from .reads import counts

        return counts(self.db, cap)

    def throughput(self, since: int, cap: int) -> dict[str, int]:
        from .reads import throughput

        return throughput(self.db, since, cap)

    def workers(self) -> list[WorkerInfo]:
        from .reads import workers

        return workers(self.db)

    def diagnostics(self) -> dict[str, str]:
        from .reads import diagnostics

        return diagnostics(self.db)

    # wake-up and life ---------------------------------------------------------------------------------------------
    def started_jobs(self, worker: str) -> StartedJobs:
        from ..contract import StartedJobs
        from ..worker_locks import LOCKS

        if self.db.memory or not LOCKS:
            return StartedJobs()
        from ..started_jobs import StartedJobsFile

        return StartedJobsFile(self.db.path, worker)

    def notifier(self, worker: str) -> Notifier:
        from .notifier import MemoryNotifier, SocketNotifier

        return MemoryNotifier(self._bells) if self.db.memory else SocketNotifier(self.db, worker)

    def notify(self, what: str = "jobs") -> None:
        from .notifier import notify

        for bell in tuple(self._bells):
            bell.ring(what)
        if not self.db.memory:
            notify(self.db.path, what)

    def close(self) -> None:
        self.db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
