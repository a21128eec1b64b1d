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
    from ...core.filter import Page, Term
    from ...core.job import Action, Attempt, Claimed, Count, Job, LogLine, TypeInfo, WorkerInfo
    from ...core.notes import Note
    from ...core.record import Parcel
    from ..contract import Beat, Bell, Claims, Marks, Orphan
    from ..outbox.guest import Outbox
    from .bell import MemoryBell


class SqliteStore:
    """A store in one SQLite file, or in memory for tests."""

    lease = 10_000  # a paused worker is given up after this; a dead one is seen at once by its lock
    sweep = 500

    def __init__(self, url: str) -> None:
        self.url = url
        self.db = Database(url)
        self._bells: set[MemoryBell] = set()

    # jobs ---------------------------------------------------------------------------------------------------------
    def enqueue(self, drafts: Sequence[Draft], now: int) -> list[tuple[str, bool]]:
        from .enqueue import enqueue

        with self.db.writing() as connection:
            answers = enqueue(connection, drafts, now)
        self.ring()
        return answers

    def outbox(self) -> Outbox:
        from .outbox import SqliteOutbox

        return SqliteOutbox(self.db)

    def claim(
        self, worker: str, wants: Mapping[str, Sequence[str]], limit: int, now: int,
        finishing: Sequence[Transition] = (), notes: Sequence[Note] = (),
    ) -> Claims:  # fmt: skip
        from .claim import claim

        return claim(self.db, worker, wants, limit, now, finishing, notes)

    def held(self, worker: str) -> list[Claimed]:
        from .claim import held

        return held(self.db, worker)

    def finish(self, transitions: Sequence[Transition], notes: Sequence[Note] = ()) -> list[str]:
        from .claim import finish

        return finish(self.db, transitions, notes)

    def note(self, notes: Sequence[Note]) -> list[bool]:
        from .claim import note

        return note(self.db, notes)

    # operators ----------------------------------------------------------------------------------------------------
    def cancel(self, ids: Sequence[str], now: int, actor: str) -> dict[str, str]:
        from .operate import cancel

        answers = cancel(self.db, ids, now, actor)
        if "cancelling" in answers.values():
            self.ring("cancel")
        return answers

    def retry(self, ids: Sequence[str], now: int, actor: str) -> dict[str, str]:
        from .operate import retry

        answers = retry(self.db, ids, now, actor)
        self.ring()
        return answers

    def judge(self, job_id: str, approve: bool, now: int, actor: str, note: str) -> str:
        from .operate import judge

        return judge(self.db, job_id, approve, now, actor, note)

    def delete(self, ids: Sequence[str], now: int, actor: str) -> dict[str, str]:
        from .operate import delete

        return delete(self.db, ids, now, actor)

    # chores -------------------------------------------------------------------------------------------------------
    def join(self, worker: WorkerInfo) -> None:
        from .. import presence
        from . import chores

        presence.hold(self.db.path, worker.id)  # before the row: whoever sees the row may try the lock
        try:
            chores.join(self.db, worker)
        except BaseException:
            presence.release(self.db.path, worker.id)
            raise

    def beat(self, worker: str, now: int, lease: int) -> Beat:
        from .chores import beat

        return beat(self.db, worker, now, lease)

    def leave(self, worker: str) -> None:
        from .. import presence
        from . import chores

        chores.leave(self.db, worker)
        presence.release(self.db.path, worker)

    def orphans(self, now: int, grace: int, limit: int) -> list[Orphan]:
        from .. import presence
        from . import chores

        dead = presence.dead(self.db.path, [worker.id for worker in self.workers()])
        found = chores.orphans(self.db, now, grace, limit, dead)
        if found and not self.db.memory:
            from ..marks import judged

            found = judged(self.db.path, found)
            dead += presence.dead(self.db.path, {orphan.worker for orphan in found if orphan.gone}.difference(dead))
        if len(found) < limit:  # else the marks are needed once more
            for worker in dead:
                presence.bury(self.db.path, worker)
        return found

    def promote(self, now: int, limit: int) -> int:
        from .chores import promote

        return promote(self.db, now, limit)

    def prune(self, now: int, limit: int) -> int:
        from .. import presence
        from . import chores

        if presence.LOCKS and not self.db.memory:
            presence.tidy(self.db.path, [worker.id for worker in self.workers()], now)
        return chores.prune(self.db, now, limit)

    # configuration ------------------------------------------------------------------------------------------------
    def declare(self, types: Sequence[TypeInfo]) -> None:
        from .chores import declare

        declare(self.db, types)

    def types(self) -> list[TypeInfo]:
        from .chores import types

        return types(self.db)

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
        from .transfer import load_rows

        load_rows(self.db, part, rows, was, mark)

    # observation --------------------------------------------------------------------------------------------------
    def get(self, job_id: str) -> Job | None:
        found = self.get_many([job_id])
        return found[0] if found else None

    def get_many(self, ids: Sequence[str]) -> list[Job]:
        from .observe import get_many

        return get_many(self.db, ids)

    def find(self, prefix: str, limit: int) -> list[str]:
        from .observe import find

        return find(self.db, prefix, limit)

    def search(self, terms: Sequence[Term], limit: int, after: str | None, now: int) -> Page:
        from .search import search

        return search(self.db, terms, limit, after, now)

    def result(self, job_id: str) -> str | None:
        from .observe import text

        return text(self.db, "result", job_id)

    def checkpoint(self, job_id: str) -> str | None:
        from .observe import text

        return text(self.db, "checkpoint", job_id)

    def attempts(self, job_id: str) -> list[Attempt]:
        from .observe import attempts

        job = self.get(job_id)
        return attempts(self.db, job) if job else []

    def logs(self, job_id: str, after: int, limit: int) -> list[LogLine]:
        from .observe import logs

        return logs(self.db, job_id, after, limit)

    def actions(self, job_id: str | None, limit: int) -> list[Action]:
        from .observe import actions

        return actions(self.db, job_id, limit)

    def counts(self, cap: int) -> list[Count]:
        from .observe import counts

        return counts(self.db, cap)

    def throughput(self, since: int, cap: int) -> dict[str, int]:
        from .observe import throughput

        return throughput(self.db, since, cap)

    def workers(self) -> list[WorkerInfo]:
        from .observe import workers

        return workers(self.db)

    def facts(self) -> dict[str, str]:
        from .observe import facts

        return facts(self.db)

    # wake-up and life ---------------------------------------------------------------------------------------------
    def marks(self, worker: str) -> Marks:
        from ..contract import Marks
        from ..presence import LOCKS

        if self.db.memory or not LOCKS:
            return Marks()
        from ..marks import FileMarks

        return FileMarks(self.db.path, worker)

    def bell(self, worker: str) -> Bell:
        from .bell import FileBell, MemoryBell

        return MemoryBell(self._bells) if self.db.memory else FileBell(self.db, worker)

    def ring(self, what: str = "jobs") -> None:
        from .bell import ring

        for bell in tuple(self._bells):
            bell.ring(what)
        if not self.db.memory:
            ring(self.db.path, what)

    def close(self) -> None:
        self.db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
