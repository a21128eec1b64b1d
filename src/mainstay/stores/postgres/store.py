"""The PostgreSQL store: each verb hands over to its module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..neighbours import Neighbours
from . import chores, claim, observe, operate
from .bell import Ringer
from .blocked import Blocked
from .connect import Database
from .enqueue import enqueue
from .trail import Trail

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


class PostgresStore:
    """A store in one schema of a PostgreSQL database. Without a `clock` the server's own judges what is due or lost."""

    lease = 15_000
    sweep = 1_000
    remote = True  # a server: it may be away for a while

    def __init__(self, url: str, clock: Clock | None = None) -> None:
        self.url = url
        self.db = Database(url)
        self.neighbours = Neighbours(*self.db.identity)
        self._by_caller = clock is not None
        self._ringer = Ringer(self.db)
        self._trail, self._blocked = Trail(), Blocked(self.db)
        self._outbox: Outbox | None = None

    def _judged(self, now: int) -> int | None:
        """The instant to judge by; None: the server's clock."""
        return now if self._by_caller else None

    # jobs ---------------------------------------------------------------------------------------------------------
    def enqueue(self, drafts: Sequence[Draft], now: int) -> list[tuple[str, bool]]:
        if not drafts:
            return []
        answers = enqueue(self.db, drafts, now)
        self.ring()
        return answers

    def outbox(self) -> Outbox:
        if self._outbox is None:
            from .outbox import PostgresOutbox

            self._outbox = PostgresOutbox(self.db)
        return self._outbox

    def claim(
        self, worker: str, wants: Mapping[str, Sequence[str]], limit: int, now: int,
        finishing: Sequence[Transition] = (), notes: Sequence[Note] = (),
    ) -> Claims:  # fmt: skip
        judged = self._judged(now)
        return claim.claim(self.db, self._trail, self._blocked, worker, wants, limit, now, judged, finishing, notes)

    def held(self, worker: str) -> list[Claimed]:
        return claim.held(self.db, worker)

    def finish(self, transitions: Sequence[Transition], notes: Sequence[Note] = ()) -> list[str]:
        if any(transition.state == "queued" for transition in transitions):
            self._trail.forget()
        return claim.finish(self.db, self._blocked, transitions, notes)

    def note(self, notes: Sequence[Note]) -> list[bool]:
        return claim.note(self.db, notes)

    # operators ----------------------------------------------------------------------------------------------------
    def cancel(self, ids: Sequence[str], now: int, actor: str) -> dict[str, str]:
        answers = operate.cancel(self.db, ids, now, actor)
        if "cancelling" in answers.values():
            self.ring("cancel")
        return answers

    def retry(self, ids: Sequence[str], now: int, actor: str) -> dict[str, str]:
        answers = operate.retry(self.db, ids, now, actor)
        if "queued" in answers.values():
            self.ring()
        return answers

    def judge(self, job_id: str, approve: bool, now: int, actor: str, note: str) -> str:
        return operate.judge(self.db, job_id, approve, now, actor, note)

    def delete(self, ids: Sequence[str], now: int, actor: str) -> dict[str, str]:
        return operate.delete(self.db, ids, now, actor)

    # chores -------------------------------------------------------------------------------------------------------
    def join(self, worker: WorkerInfo) -> None:
        self.neighbours.hold(worker.id)
        try:
            chores.join(self.db, worker, self._by_caller)
        except BaseException:
            self.neighbours.release(worker.id)
            raise

    def beat(self, worker: str, now: int, lease: int) -> Beat:
        return chores.beat(self.db, worker, self._judged(now), lease)

    def leave(self, worker: str) -> None:
        chores.leave(self.db, worker)
        self.neighbours.release(worker)

    def orphans(self, now: int, grace: int, limit: int) -> list[Orphan]:
        def find() -> list[Orphan]:
            return chores.orphans(self.db, self._judged(now), grace, limit)

        return self.neighbours.orphans(self.leave, find, limit)

    def promote(self, now: int, limit: int) -> int:
        return chores.promote(self.db, self._judged(now), limit)

    def prune(self, now: int, limit: int) -> int:
        self.neighbours.tidy([worker.id for worker in self.workers()])
        return chores.prune(self.db, self._judged(now), limit)

    # configuration ------------------------------------------------------------------------------------------------
    def declare(self, types: Sequence[TypeInfo]) -> None:
        chores.declare(self.db, types)

    def types(self) -> list[TypeInfo]:
        return chores.types(self.db)

    def setting(self, name: str) -> str | None:
        from .transfer import setting

        return setting(self.db, name)

    def set_setting(self, name: str, value: str | None) -> None:
        from .transfer import set_setting

        set_setting(self.db, name, value)

    # moving -------------------------------------------------------------------------------------------------------
    def dump(self, part: str, after: str | None, limit: int) -> Parcel:
        from .transfer import dump

        return dump(self.db, part, after, limit)

    def load(self, part: str, rows: Sequence[tuple[Any, ...]], was: str, mark: str) -> None:
        from .transfer import load

        load(self.db, part, rows, was, mark)

    # observation --------------------------------------------------------------------------------------------------
    def get(self, job_id: str) -> Job | None:
        found = self.get_many([job_id])
        return found[0] if found else None

    def get_many(self, ids: Sequence[str]) -> list[Job]:
        return observe.get_many(self.db, ids)

    def find(self, prefix: str, limit: int) -> list[str]:
        return observe.find(self.db, prefix, limit)

    def search(self, terms: Sequence[Term], limit: int, after: str | None, now: int) -> Page:
        from .search import search

        return search(self.db, terms, limit, after, now)

    def result(self, job_id: str) -> str | None:
        return observe.text(self.db, "result", job_id)

    def checkpoint(self, job_id: str) -> str | None:
        return observe.text(self.db, "checkpoint", job_id)

    def attempts(self, job_id: str) -> list[Attempt]:
        job = self.get(job_id)
        return observe.attempts(self.db, job) if job else []

    def logs(self, job_id: str, after: int, limit: int) -> list[LogLine]:
        return observe.logs(self.db, job_id, after, limit)

    def actions(self, job_id: str | None, limit: int) -> list[Action]:
        return observe.actions(self.db, job_id, limit)

    def counts(self, cap: int) -> list[Count]:
        return observe.counts(self.db, cap)

    def throughput(self, since: int, cap: int) -> dict[str, int]:
        return observe.throughput(self.db, since, cap)

    def workers(self) -> list[WorkerInfo]:
        return observe.workers(self.db)

    def facts(self) -> dict[str, str]:
        return observe.facts(self.db)

    # wake-up and life ---------------------------------------------------------------------------------------------
    def marks(self, worker: str) -> Marks:
        return self.neighbours.marks(worker)

    def bell(self, worker: str) -> Bell:
        from .bell import Listener

        return Listener(self.db, worker)

    def ring(self, what: str = "jobs") -> None:
        self._ringer.ring(what)

    def close(self) -> None:
        self._ringer.flush()
        self.db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
