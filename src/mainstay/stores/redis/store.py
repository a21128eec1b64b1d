"""The Redis store: each verb hands over to its module, imported when first used so that a cold enqueue stays cold."""

from __future__ import annotations

from ..local_workers import LocalWorkers
from .connect import Server

TYPE_CHECKING = False
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


class RedisStore:
    """A store on a Redis or Valkey server. With a `clock` it judges by the caller's time, else by the server's."""

    lease = 15_000
    sweep_interval = 1_000
    remote = True  # a server: it may be away for a while

    def __init__(self, url: str, clock: Clock | None = None) -> None:
        self.url = url
        self.server = Server(url)
        self.local_workers = LocalWorkers(*self.server.address.identity)
        self._judges = clock is None

    def _judged(self, now: int) -> int | str:
        """The instant by which a script judges; "" for the server's own."""
        return "" if self._judges else now

    # jobs ---------------------------------------------------------------------------------------------------------
    def enqueue(self, drafts: Sequence[Draft], now: int) -> list[tuple[str, bool]]:
        from .enqueue import enqueue

        return enqueue(self.server, drafts, now, self._judged(now))

    def outbox(self) -> Outbox:
        from .outbox import refuse

        refuse()

    def claim(
        self, worker: str, wants: Mapping[str, Sequence[str]], limit: int, now: int,
        finishing: Sequence[Transition] = (), updates: Sequence[Update] = (),
    ) -> Claims:  # fmt: skip
        from .claim import claim

        return claim(self.server, worker, wants, limit, self._judged(now), finishing, updates)

    def claimed_by(self, worker: str) -> list[Claimed]:
        from .claim import claimed_by

        return claimed_by(self.server, worker)

    def finish(self, transitions: Sequence[Transition], updates: Sequence[Update] = ()) -> list[str]:
        from .claim import finish

        return finish(self.server, transitions, updates, self._judged(transitions[0].at if transitions else 0))

    # operators ----------------------------------------------------------------------------------------------------
    def cancel(self, ids: Sequence[str], now: int, actor: str) -> dict[str, str]:
        from .actions import cancel

        return cancel(self.server, ids, now, actor)

    def retry(self, ids: Sequence[str], now: int, actor: str) -> dict[str, str]:
        from .actions import retry

        return retry(self.server, ids, now, actor, self._judged(now))

    def resolve_review(self, job_id: str, approve: bool, now: int, actor: str, note: str) -> str:
        from .actions import resolve_review

        return resolve_review(self.server, job_id, approve, now, actor, note)

    def delete(self, ids: Sequence[str], now: int, actor: str) -> dict[str, str]:
        from .actions import delete

        return delete(self.server, ids, now, actor)

    # chores -------------------------------------------------------------------------------------------------------
    def register(self, worker: WorkerInfo) -> None:
        from .maintenance import register

        self.local_workers.hold(worker.id)
        try:
            register(self.server, worker, self._judged(worker.started_at))
        except BaseException:
            self.local_workers.release(worker.id)
            raise

    def renew(self, worker: str, now: int, lease: int, stopping: bool = False) -> Renewal:
        from .maintenance import renew

        return renew(self.server, worker, self._judged(now), lease, stopping)

    def deregister(self, worker: str) -> None:
        from .maintenance import deregister

        deregister(self.server, worker)
        self.local_workers.release(worker)

    def orphans(self, now: int, grace: int, limit: int) -> list[Orphan]:
        from .maintenance import orphans

        def find() -> list[Orphan]:
            return orphans(self.server, self._judged(now), grace, limit)

        return self.local_workers.orphans(self.deregister, find, limit)

    def prune(self, now: int, limit: int) -> int:
        from .maintenance import prune

        self.local_workers.tidy([worker.id for worker in self.workers()])
        return prune(self.server, self._judged(now), limit)

    # configuration ------------------------------------------------------------------------------------------------
    def register_types(self, types: Sequence[TypeInfo]) -> None:
        from .maintenance import register_types

        register_types(self.server, types)

    def types(self) -> list[TypeInfo]:
        from .maintenance import types

        return types(self.server)

    def setting(self, name: str) -> str | None:
        from .move import setting

        return setting(self.server, name)

    def set_setting(self, name: str, value: str | None) -> None:
        from .move import set_setting

        set_setting(self.server, name, value)

    # moving -------------------------------------------------------------------------------------------------------
    def export_rows(self, part: str, after: str | None, limit: int) -> Batch:
        from .move import export_rows

        return export_rows(self.server, part, after, limit)

    def import_rows(self, part: str, rows: Sequence[tuple[Any, ...]], was: str, mark: str) -> None:
        from .move import import_rows

        import_rows(self.server, part, rows, was, mark)

    # observation --------------------------------------------------------------------------------------------------
    def get(self, job_id: str) -> Job | None:
        found = self.get_many([job_id])
        return found[0] if found else None

    def get_many(self, ids: Sequence[str]) -> list[Job]:
        from .reads import get_many

        return get_many(self.server, ids)

    def find(self, prefix: str, limit: int) -> list[str]:
        from .reads import find

        return find(self.server, prefix, limit)

    def search(self, terms: Sequence[Term], limit: int, after: str | None, now: int) -> Page:
        from .search import search

        return search(self.server, terms, limit, after, now)

    def result(self, job_id: str) -> str | None:
        from .reads import text

        return text(self.server, "result", job_id)

    def checkpoint(self, job_id: str) -> str | None:
        from .reads import text

        return text(self.server, "checkpoint", job_id)

    def attempts(self, job_id: str) -> list[Attempt]:
        from .reads import attempts

        job = self.get(job_id)
        return attempts(self.server, job) if job else []

    def logs(self, job_id: str, after: int, limit: int) -> list[LogLine]:
        from .reads import logs

        return logs(self.server, job_id, after, limit)

    def actions(self, job_id: str | None, limit: int) -> list[Action]:
        from .reads import actions

        return actions(self.server, job_id, limit)

    def counts(self, cap: int) -> list[Count]:
        from .reads import counts

        return counts(self.server, cap)

    def throughput(self, since: int, cap: int) -> dict[str, int]:
        from .reads import throughput

        return throughput(self.server, since, cap)

    def workers(self) -> list[WorkerInfo]:
        from .reads import workers

        return workers(self.server)

    def diagnostics(self) -> dict[str, str]:
        from .reads import diagnostics

        return diagnostics(self.server)

    # wake-up and life ---------------------------------------------------------------------------------------------
    def started_jobs(self, worker: str) -> StartedJobs:
        return self.local_workers.started_jobs(worker)

    def notifier(self, worker: str) -> Notifier:
        from .notifier import RedisNotifier

        return RedisNotifier(self.server, worker, self._judged)

    def notify(self, what: str = "jobs") -> None:
        self.server.run("notify", [what])

    def close(self) -> None:
        self.server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
