"""The Redis store: each verb hands over to its module, imported when first used so that a cold enqueue stays cold."""

from __future__ import annotations

from ..neighbours import Neighbours
from .connect import Server

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType
    from typing import Any, Self

    from ...core.clock import Clock
    from ...core.decide import Transition
    from ...core.draft import Draft
    from ...core.filter import Page, Term
    from ...core.job import Action, Attempt, Claimed, Count, Job, LogLine, TypeInfo, WorkerInfo
    from ...core.notes import Note
    from ...core.record import Parcel
    from ..contract import Beat, Bell, Claims, Marks, Orphan
    from ..outbox.guest import Outbox


class RedisStore:
    """A store on a Redis or Valkey server. With a `clock` it judges by the caller's time, else by the server's."""

    lease = 15_000
    sweep = 1_000
    remote = True  # a server: it may be away for a while

    def __init__(self, url: str, clock: Clock | None = None) -> None:
        self.url = url
        self.server = Server(url)
        self.neighbours = Neighbours(*self.server.address.identity)
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
        finishing: Sequence[Transition] = (), notes: Sequence[Note] = (),
    ) -> Claims:  # fmt: skip
        from .claim import claim

        return claim(self.server, worker, wants, limit, self._judged(now), finishing, notes)

    def held(self, worker: str) -> list[Claimed]:
        from .claim import held

        return held(self.server, worker)

    def finish(self, transitions: Sequence[Transition], notes: Sequence[Note] = ()) -> list[str]:
        from .claim import finish

        return finish(self.server, transitions, notes, self._judged(transitions[0].at if transitions else 0))

    def note(self, notes: Sequence[Note]) -> list[bool]:
        from .claim import note

        return note(self.server, notes)

    # operators ----------------------------------------------------------------------------------------------------
    def cancel(self, ids: Sequence[str], now: int, actor: str) -> dict[str, str]:
        from .operate import cancel

        return cancel(self.server, ids, now, actor)

    def retry(self, ids: Sequence[str], now: int, actor: str) -> dict[str, str]:
        from .operate import retry

        return retry(self.server, ids, now, actor, self._judged(now))

    def judge(self, job_id: str, approve: bool, now: int, actor: str, note: str) -> str:
        from .operate import judge

        return judge(self.server, job_id, approve, now, actor, note)

    def delete(self, ids: Sequence[str], now: int, actor: str) -> dict[str, str]:
        from .operate import delete

        return delete(self.server, ids, now, actor)

    # chores -------------------------------------------------------------------------------------------------------
    def join(self, worker: WorkerInfo) -> None:
        from .chores import join

        self.neighbours.hold(worker.id)
        try:
            join(self.server, worker, self._judged(worker.started_at))
        except BaseException:
            self.neighbours.release(worker.id)
            raise

    def beat(self, worker: str, now: int, lease: int) -> Beat:
        from .chores import beat

        return beat(self.server, worker, self._judged(now), lease)

    def leave(self, worker: str) -> None:
        from .chores import leave

        leave(self.server, worker)
        self.neighbours.release(worker)

    def orphans(self, now: int, grace: int, limit: int) -> list[Orphan]:
        from .chores import orphans

        def find() -> list[Orphan]:
            return orphans(self.server, self._judged(now), grace, limit)

        return self.neighbours.orphans(self.leave, find, limit)

    def promote(self, now: int, limit: int) -> int:
        from .chores import promote

        return promote(self.server, self._judged(now), limit)

    def prune(self, now: int, limit: int) -> int:
        from .chores import prune

        self.neighbours.tidy([worker.id for worker in self.workers()])
        return prune(self.server, self._judged(now), limit)

    # configuration ------------------------------------------------------------------------------------------------
    def declare(self, types: Sequence[TypeInfo]) -> None:
        from .chores import declare

        declare(self.server, types)

    def types(self) -> list[TypeInfo]:
        from .chores import types

        return types(self.server)

    def setting(self, name: str) -> str | None:
        from .transfer import setting

        return setting(self.server, name)

    def set_setting(self, name: str, value: str | None) -> None:
        from .transfer import set_setting

        set_setting(self.server, name, value)

    # moving -------------------------------------------------------------------------------------------------------
    def dump(self, part: str, after: str | None, limit: int) -> Parcel:
        from .transfer import dump

        return dump(self.server, part, after, limit)

    def load(self, part: str, rows: Sequence[tuple[Any, ...]], was: str, mark: str) -> None:
        from .transfer import load

        load(self.server, part, rows, was, mark)

    # observation --------------------------------------------------------------------------------------------------
    def get(self, job_id: str) -> Job | None:
        found = self.get_many([job_id])
        return found[0] if found else None

    def get_many(self, ids: Sequence[str]) -> list[Job]:
        from .observe import get_many

        return get_many(self.server, ids)

    def find(self, prefix: str, limit: int) -> list[str]:
        from .observe import find

        return find(self.server, prefix, limit)

    def search(self, terms: Sequence[Term], limit: int, after: str | None, now: int) -> Page:
        from .search import search

        return search(self.server, terms, limit, after, now)

    def result(self, job_id: str) -> str | None:
        from .observe import text

        return text(self.server, "result", job_id)

    def checkpoint(self, job_id: str) -> str | None:
        from .observe import text

        return text(self.server, "checkpoint", job_id)

    def attempts(self, job_id: str) -> list[Attempt]:
        from .observe import attempts

        job = self.get(job_id)
        return attempts(self.server, job) if job else []

    def logs(self, job_id: str, after: int, limit: int) -> list[LogLine]:
        from .observe import logs

        return logs(self.server, job_id, after, limit)

    def actions(self, job_id: str | None, limit: int) -> list[Action]:
        from .observe import actions

        return actions(self.server, job_id, limit)

    def counts(self, cap: int) -> list[Count]:
        from .observe import counts

        return counts(self.server, cap)

    def throughput(self, since: int, cap: int) -> dict[str, int]:
        from .observe import throughput

        return throughput(self.server, since, cap)

    def workers(self) -> list[WorkerInfo]:
        from .observe import workers

        return workers(self.server)

    def facts(self) -> dict[str, str]:
        from .observe import facts

        return facts(self.server)

    # wake-up and life ---------------------------------------------------------------------------------------------
    def marks(self, worker: str) -> Marks:
        return self.neighbours.marks(worker)

    def bell(self, worker: str) -> Bell:
        from .bell import RedisBell

        return RedisBell(self.server, worker, self._judged)

    def ring(self, what: str = "jobs") -> None:
        self.server.run("ring", [what])

    def close(self) -> None:
        self.server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
