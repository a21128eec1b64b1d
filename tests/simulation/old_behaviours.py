"""Known-bad variants that put mended behaviours of ours back, each seen under the hardship that was added with it.

They wrap verbs of the store and public functions, so that they mean the same however the code is mended.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from copy import copy
from typing import TYPE_CHECKING, Any

from mainstay.app import Mainstay
from mainstay.core.outcome import RELEASED
from mainstay.stores import local_workers, worker_locks
from mainstay.stores.sql import actions, maintenance
from mainstay.stores.sqlite import enqueue, sql
from mainstay.stores.sqlite.connect import Stall
from mainstay.stores.sqlite.store import SqliteStore
from mainstay.worker.registration import Registration
from mainstay.worker.slots import Slots
from mainstay.worker.worker import Worker
from tests.simulation import executors
from tests.simulation.patches import patched, variant
from tests.simulation.scheduler import Process

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


@variant("I19", only="signals")
def transaction_left_open() -> AbstractContextManager[object]:
    """An exception from a signal leaves the transaction of an enqueue open."""

    def unguarded(store: Any, drafts: Any, now: int) -> Any:
        connection = store.db.writer()
        connection.execute("BEGIN IMMEDIATE")
        accepted = sql.run(connection, enqueue.enqueue_operations(drafts, now))
        connection.execute("COMMIT")
        return accepted

    return patched((enqueue, "enqueue", unguarded))


@variant("I19", only="forks")
def lock_inherited() -> AbstractContextManager[object]:
    """A forked child waits for a lock that a thread of its parent held."""
    real, lock = enqueue.enqueue, threading.Lock()

    def locked(store: Any, drafts: Any, now: int) -> Any:
        with lock:
            return real(store, drafts, now)

    return patched((enqueue, "enqueue", locked))


@variant("I23", only="replacements")
def replaced_with_its_checkpoint() -> AbstractContextManager[object]:
    """A job that is replaced by new work keeps the checkpoint of the old work."""
    real = enqueue.enqueue

    def keeping(store: Any, drafts: Any, now: int) -> Any:
        connection = store.db.writer()
        before = connection.execute("SELECT * FROM mainstay_checkpoint").fetchall()
        accepted = real(store, drafts, now)
        for row in before:
            connection.execute(f"INSERT OR IGNORE INTO mainstay_checkpoint VALUES ({', '.join('?' * len(row))})", row)
        return accepted

    return patched((enqueue, "enqueue", keeping))


@variant("I2", only="reviews")
def children_lost_in_review() -> AbstractContextManager[object]:
    """The children of a job that asks for a review are forgotten."""
    real = executors.failure  # type: ignore[attr-defined]

    def childless(*given: Any) -> Any:
        return real(*given)._replace(children=())

    return patched((executors, "failure", childless))


@variant("I2", only="drafts twice")
def draft_enqueued_once() -> AbstractContextManager[object]:
    """A prepared draft that is enqueued again becomes no job: the reply names the first one, as new."""
    real = Mainstay.enqueue_many
    sent: dict[Any, Any] = {}

    def once(app: Any, drafts: Any) -> Any:
        for draft in drafts:
            if draft not in sent:
                sent[draft] = real(app, [copy(draft)])[0]
        return [sent[draft] for draft in drafts]

    return patched((Mainstay, "enqueue_many", once))


@variant("I26", only="searches")
def deleted_by_an_old_search() -> AbstractContextManager[object]:
    """What a search has found is deleted, whatever state it is in by then."""
    real = actions.delete

    def whatever(store: Any, ids: Any, now: int, actor: str, *terms: Any) -> Any:
        return real(store, ids, now, actor)

    return patched((actions, "delete", whatever))


@variant("I21", only="lock files")
def records_removed_by_the_first_sweep() -> AbstractContextManager[object]:
    """A sweep removes the record of a dead worker's started jobs before it has stored what the record says."""
    real = maintenance.orphans

    def tidy(store: Any, now: int, grace: int, limit: int) -> Any:
        found = real(store, now, grace, limit)
        for worker in {orphan.worker for orphan in found if orphan.gone}:
            with suppress(OSError):
                worker_locks.remove_files(store.db.path, worker)
        return found

    return patched((maintenance, "orphans", tidy))


@variant("I7", only="long writes")
def leases_end_during_a_long_write() -> AbstractContextManager[object]:
    """A lease ends by the clock, although nobody could renew it and its worker holds its lock."""
    return patched(
        (local_workers, "lease_now", lambda store, now: now), (local_workers, "spared", lambda *_: []), (Stall, "ms", lambda _: 0),
        (SqliteStore, "clock_ends_leases", True), (Worker, "_sweep", lambda _, step, now: step(now)),
    )  # fmt: skip


@variant("I1", only="identities")
def identity_given_again() -> AbstractContextManager[object]:
    """A worker with `identity=` has the same identity each time, so it looks as if it still ran what it left behind."""
    real = Registration.__init__

    def same(registration: Any, *given: Any, **named: Any) -> None:
        real(registration, *given, **named)
        registration.id = registration.id.rpartition("-")[0] or registration.id

    return patched((Registration, "__init__", same))


@variant("I20", "I7", only="clock steps")
def limits_by_the_wall_clock() -> AbstractContextManager[object]:
    """Time limits are measured by the wall clock, which can be set."""
    return patched((Process, "monotonic", Process.now))


@variant("I24", "I25", only="stubborn")
def async_slot_counted_as_free() -> AbstractContextManager[object]:
    """An async handler that ignores its timeout keeps its slot, but the worker counts the slot as free and claims for it."""
    real = Slots.time_out

    def ended(slots: Any, execution: Any, outcome: Any) -> None:
        real(slots, execution, outcome)
        if execution.type.is_async:
            slots.end(execution, outcome)

    return patched((Slots, "time_out", ended))


@variant("I1", "I25", only="workers again")
def started_again_without_slots() -> AbstractContextManager[object]:
    """A worker that has stopped can be started again: it claims, but its executors have ended."""
    real = Worker.start

    def again(worker: Any) -> Any:
        if worker.registration.stopping:
            worker.registration.stopping = worker._stopped = False
            worker.services.clear()
            worker.slots.start = lambda executions: None
        return real(worker)

    return patched((Worker, "start", again))


@variant("I24")
def next_attempt_beside_a_late_thread() -> AbstractContextManager[object]:
    """An attempt ends at its timeout, though its thread runs on: the next one begins beside it."""
    real = Slots.time_out

    def ended(slots: Any, execution: Any, outcome: Any) -> None:
        real(slots, execution, outcome)
        if slots.end(execution, outcome):
            slots.drop(execution, "timed out")

    return patched((Slots, "time_out", ended))


@variant("I24", only="programs go on")
def released_while_it_runs() -> AbstractContextManager[object]:
    """A stopping worker releases what still runs at the end of the grace period, though a thread runs on."""

    def released(slots: Any) -> bool:
        for execution in slots.running():
            slots.end(execution, RELEASED)
            slots.drop(execution, "the worker stops")
        return False

    return patched((Slots, "interrupt", released))
