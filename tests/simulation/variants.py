"""Known-bad variants: small patches of the real code, each a mistake that some queue has made. The checker must see them.

A simulator that finds nothing proves nothing until it is known what it would have found.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

from mainstay.core.counting import of_transitions
from mainstay.core.job import Claimed
from mainstay.core.outcome import COMPLETED
from mainstay.core.review import AT_DEADLINE, Asked
from mainstay.core.verdict import ALREADY, STORED
from mainstay.stores.operations import Statement, together
from mainstay.stores.sql import actions, change, maintenance, reviews as stored_reviews
from mainstay.stores.sqlite import claim, connect, enqueue, finish, sql, updates
from mainstay.stores.sqlite.dialect import DIALECT
from mainstay.upkeep import reviews, sweep
from mainstay.worker import outcome_buffer
from mainstay.worker.claimer import Claimer
from mainstay.worker.outcome_buffer import OutcomeBuffer
from mainstay.worker.registration import Heartbeat, Registration
from mainstay.worker.slots import Slots
from mainstay.worker.worker import Worker
from tests.simulation import flow_variants, old_behaviours
from tests.simulation.actors import Approver
from tests.simulation.faulty import FaultyStore
from tests.simulation.patches import VARIANTS, patched, statements, variant
from tests.simulation.world import World

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from mainstay.stores.results import Renewal


__all__ = ["VARIANTS", "flow_variants", "old_behaviours"]


# The fence ------------------------------------------------------------------------------------------------------------
@variant("I5")
def no_fence() -> AbstractContextManager[object]:
    """An outcome is written by id alone."""
    return statements(
        finish=("AND token = :token AND worker = :worker", "AND :token IS NOT NULL"),
        finish_completed=("AND token = done.column2 AND worker = ?", "AND ? IS NOT NULL"),
    )


@variant("I5")
def fence_on_attempt() -> AbstractContextManager[object]:
    """The fence is the attempt number, which a snooze or a hand-back gives back."""
    one_by_one = ("AND token = done.column2 AND worker = ?", "AND ? IS NULL")  # the statement for many knows no attempt
    by_number = ("AND token = :token AND worker = :worker", "AND attempt = :number")
    return statements(finish=by_number, finish_completed=one_by_one)


@variant("I18")
def unfenced_updates() -> AbstractContextManager[object]:
    """Log lines, progress and checkpoints are taken from anybody."""
    return patched((updates, "current", lambda connection, attempts: attempts))


@variant("I4")
def token_lowered() -> AbstractContextManager[object]:
    """A hand-back gives the token back too."""
    lower = "SET token = CASE WHEN :state = 'queued' THEN token - 1 ELSE token END, state ="
    return statements(finish=("SET state =", lower))


@variant("I3")
def children_doubled() -> AbstractContextManager[object]:
    """An outcome that was stored before has its effects once more when it is sent again."""
    refused = finish.refused

    def again(connection: Any, transition: Any) -> str:
        verdict = refused(connection, transition)
        if verdict == ALREADY and transition.children:
            children = [copy(child) for child in transition.children]
            for child in children:
                child.id = ""
            sql.run(connection, enqueue.enqueue_operations(children, transition.at))
        return verdict

    return patched((finish, "refused", again))


@variant("I37")
def refused_counted() -> AbstractContextManager[object]:
    """An outcome is counted whether it was applied or not."""
    refused = finish.refused

    def count(connection: Any, transition: Any) -> str:
        sql.run(connection, together(*sql.tally(of_transitions((transition,)))))
        return refused(connection, transition)

    return patched((finish, "refused", count))


@variant("I5")
def completed_early() -> AbstractContextManager[object]:
    """A job is acknowledged when its handler starts."""
    begin = Slots.begin

    def acknowledge(slots: Any, execution: Any) -> Any:
        context = begin(slots, execution)
        if context is not None:
            slots.end(execution, COMPLETED)
        return context

    return patched((Slots, "begin", acknowledge))


# Leases ---------------------------------------------------------------------------------------------------------------
@variant("I7")
def lease_by_worker_clock() -> AbstractContextManager[object]:
    """Leases are judged by the clocks of the workers, which differ."""
    return patched((FaultyStore, "engine_args", lambda store, verb, args: args))


@variant("I4", "I7", "I8")
def returned_unclaimed() -> AbstractContextManager[object]:
    """A claim sets expired jobs back to queued and returns them without claiming them."""
    real = claim.claim
    gone = "worker IN (SELECT id FROM mainstay_worker WHERE expires_at <= ?)"
    columns, _, rest = DIALECT.text("claimed_by").partition("WHERE")
    held = columns + "WHERE j." + gone + " AND " + rest.replace("AND j.worker = :worker", "")
    statement = "UPDATE mainstay_job SET state = 'queued' WHERE state = 'running' AND " + gone

    def expired(store: Any, worker: str, wants: Any, limit: int, now: int, *more: Any) -> Any:
        def take(connection: Any) -> list[Claimed]:
            found = [Claimed._make(row)._replace(worker=worker) for row in connection.execute(held, (now,))]
            connection.execute(statement, (now,))
            return found

        found = store.db.write(take)
        claims = real(store, worker, wants, limit, now, *more)
        return claims._replace(jobs=found + claims.jobs)

    return patched((claim, "claim", expired))


@variant("I4", "I5", "I6", "I7", "I8", "I14")
def sweep_from_stale_read() -> AbstractContextManager[object]:
    """The sweep writes what it once read, whatever has become of the job since."""
    real = claim.finish

    def unguarded(store: Any, transitions: Any, *more: Any) -> list[str]:
        if not transitions or transitions[0].outcome != "crashed" or any(each.rules for each in transitions):
            return real(store, transitions, *more)
        statement = sql.load("finish").partition("\nWHERE")[0] + " WHERE seq = :seq"
        given = [transition._asdict() for transition in transitions]
        store.db.write(lambda connection: connection.executemany(statement, given))
        return [STORED] * len(transitions)

    return patched((claim, "finish", unguarded))


@variant("I7")
def heart_stopped_before_drain() -> AbstractContextManager[object]:
    """A stopping worker beats no more while it waits for its handlers."""
    stop = Worker.stop

    def heartless(worker: Any, grace: Any = None) -> None:
        worker.services["heartbeat"].stop()
        stop(worker, grace)

    return patched((Worker, "stop", heartless))


@variant("I7")
def renewed_after_the_end() -> AbstractContextManager[object]:
    """A worker that was removed gets its old lease back."""
    renew = maintenance.renew
    columns = "id, host, pid, slots, queues, types, started_at, beat_at, expires_at, stopping"
    statement = f"INSERT INTO mainstay_worker ({columns}) VALUES (?, '', 0, 1, '[]', '[]', ?, ?, ?, 0)"

    def resurrect(store: Any, worker: str, now: int, lease: int, stopping: bool = False) -> Renewal:
        found = renew(store, worker, now, lease, stopping)
        if not found.alive:
            removed = "DELETE FROM mainstay_worker WHERE id = ?"
            store.db.write(lambda connection: connection.execute(removed, (worker,)))
            store.db.write(lambda connection: connection.execute(statement, (worker, now, now, now + lease)))
        return found._replace(alive=True)

    return patched((maintenance, "renew", resurrect))


@variant("I1")
def identity_is_the_host() -> AbstractContextManager[object]:
    """A worker that is started again takes the name of the one that died, and keeps its jobs from being found."""
    return patched((World, "identity", lambda world: world.scheduler.current.name.partition(".")[0]))


@variant("I1")
def nobody_sweeps() -> AbstractContextManager[object]:
    """The jobs of dead workers stay running."""
    return patched((sweep.Sweep, "step", lambda chore, now: 1_000))


# Starting and ending --------------------------------------------------------------------------------------------------
@variant("I6", "I7")
def started_without_a_look() -> AbstractContextManager[object]:
    """After a pause a worker starts what it had claimed before, although its lease is gone."""
    return patched((Registration, "holds", lambda registration, execution, now: True))


@variant("I1")
def uncertain_claim_forgotten() -> AbstractContextManager[object]:
    """A claim that was committed without a reply is forgotten: no worker runs its jobs as long as this one lives."""
    step = Claimer.step

    def forgetful(claimer: Any, now: int) -> int:
        claimer.offers.uncertain = False
        return step(claimer, now)

    return patched((Claimer, "step", forgetful))


@variant("I1")
def renews_while_replacing() -> AbstractContextManager[object]:
    """A worker that dropped its jobs and could not rejoin beats on under the old name, and so keeps them for ever."""
    step = Heartbeat.step

    def stubborn(heartbeat: Any, now: int) -> int:
        heartbeat.replacing = False
        return step(heartbeat, now)

    return patched((Heartbeat, "step", stubborn))


@variant("I1")
def outcomes_dropped() -> AbstractContextManager[object]:
    """What the store did not take is thrown away."""
    return patched((OutcomeBuffer, "put_back", lambda outcomes, batch, updates: None))


@variant("I1")
def deferred_transaction() -> AbstractContextManager[object]:
    """Claims begin their transactions without the lock: whoever reads first is refused as soon as a neighbour has written.

    Nothing is lost by that, but nobody gets on beside a busy neighbour: seen on a real file, where a second store writes
    between the read and the write of every transaction that lets it.
    """
    real, begin, claiming = claim.claim, connect.Database._begin, []

    def deferred(*given: Any) -> Any:
        claiming.append(True)
        try:
            return real(*given)
        finally:
            claiming.pop()

    def unlocked(database: Any, connection: Any) -> None:
        if claiming:
            connection.execute("BEGIN DEFERRED")
        else:
            begin(database, connection)

    return patched((claim, "claim", deferred), (connect.Database, "_begin", unlocked))


# Counting -------------------------------------------------------------------------------------------------------------
@variant("I9")
def hand_back_costs() -> AbstractContextManager[object]:
    """A job that was handed back unstarted has spent an attempt."""
    decide = outcome_buffer.decide  # type: ignore[attr-defined]

    def costly(job: Any, outcome: Any, *more: Any) -> Any:
        transition = decide(job, outcome, *more)
        return transition._replace(attempt=job.attempt) if outcome.kind == "released" else transition

    return patched((outcome_buffer, "decide", costly))


@variant("I9")
def crash_is_free() -> AbstractContextManager[object]:
    """A job that kills its worker loses no attempt, and kills the next one."""
    decide = sweep.decide  # type: ignore[attr-defined]

    def free(job: Any, outcome: Any, *more: Any) -> Any:
        transition = decide(job, outcome, *more)
        return transition._replace(attempt=job.attempt - 1) if outcome.kind == "crashed" else transition

    return patched((sweep, "decide", free))


# Keys, cancels, order, places -----------------------------------------------------------------------------------------
@variant("I12")
def key_kept() -> AbstractContextManager[object]:
    """An ended job keeps its key."""
    return statements(
        finish=(
            "lock = CASE WHEN :finished_at IS NOT NULL AND lock_until IS NULL THEN NULL ELSE lock END",
            "lock = lock",
        ),
        finish_completed=("lock = CASE WHEN lock_until IS NULL THEN NULL ELSE lock END", "lock = lock"),
    )


@variant("I12")
def key_dropped() -> AbstractContextManager[object]:
    """A job lets its key go when it starts, although the key was to hold until its end."""
    return statements(claim=("lock = CASE WHEN lock_until = 0 THEN NULL ELSE lock END", "lock = NULL"))


@variant("I2", "I3")
def sent_twice_stored_twice() -> AbstractContextManager[object]:
    """A draft that is sent again without a reply becomes a second job."""
    real = enqueue.enqueue_operations

    def anew(drafts: Any, now: int, *more: Any, **given: Any) -> Any:
        for draft in drafts:
            known, _ = yield Statement("SELECT 1 FROM mainstay_job WHERE id = ?", (draft.id,))
            if known:
                draft.id = enqueue.IDS.new(now)  # type: ignore[attr-defined]
        return (yield from real(drafts, now, *more, **given))

    return patched((enqueue, "enqueue_operations", anew))


@variant("I14")
def cancel_ignored() -> AbstractContextManager[object]:
    """A job that was asked to stop may complete all the same."""
    return statements(
        finish=("AND (cancel_at IS NULL OR :state IN ('cancelled', 'dead'))", ""),
        finish_completed=("AND cancel_at IS NULL", ""),
    )


@variant("I16")
def promoted_early() -> AbstractContextManager[object]:
    """What is due within a second is run now."""
    soon = ("state = 'scheduled' AND run_at <= :now", "state = 'scheduled' AND run_at <= :now + 1000")
    admitted = ("CASE WHEN run_at > :now THEN 'scheduled'", "CASE WHEN run_at > :now + 1000 THEN 'scheduled'")
    return statements(promote=(*soon, *admitted))


@variant("I16")
def priority_ignored() -> AbstractContextManager[object]:
    """First come, first served, whatever the priority."""
    first = claim.first_of
    by_age = lambda arms: first(arms).replace("ORDER BY 1 DESC, 2, 3", "ORDER BY 2, 3")  # noqa: E731
    return patched((claim, "first_of", by_age))


@variant("I15")
def left_behind() -> AbstractContextManager[object]:
    """A job is deleted without what belongs to it."""
    return patched((actions, "BELONGINGS", ()))


@variant("I36", only="changes")
def changed_while_running() -> AbstractContextManager[object]:
    """An operator's change reaches jobs that run."""
    return patched((change, "refusal", lambda wish, job, state: None))


@variant("I15")
def deleted_while_running() -> AbstractContextManager[object]:
    """An operator can delete a job that runs."""

    def anything(store: Any, ids: Any, *more: Any) -> dict[str, str]:
        def remove(connection: Any) -> dict[str, Any]:
            one = "SELECT seq FROM mainstay_job WHERE id = ?"
            found = {job: connection.execute(one, (job,)).fetchone() for job in ids}
            sql.run(connection, actions.removal(store.dialect, [row[0] for row in found.values() if row]))
            return found

        found = store.db.write(remove)
        return {job: "deleted" if row else "missing" for job, row in found.items()}

    return patched((actions, "delete", anything))


# Reviews --------------------------------------------------------------------------------------------------------------
@variant("I35", only="reviews")
def review_decided_early() -> AbstractContextManager[object]:
    """A reminder decides a review, although its deadline is later."""
    return patched((Asked, "over", lambda asked, now: asked.expires_at is not None))


@variant("I35", only="reviews")
def review_approved_at_any_deadline() -> AbstractContextManager[object]:
    """A deadline approves, whatever its policy says."""
    return patched((reviews, "_APPROVES", dict.fromkeys(AT_DEADLINE, True)))


@variant("I35", only="reviews")
def review_forgotten() -> AbstractContextManager[object]:
    """Nobody looks for reviews that are due."""
    return patched(
        (stored_reviews, "due_reviews", lambda store, now, limit: []), (Approver, "act", lambda person: None)
    )


# Dead jobs ------------------------------------------------------------------------------------------------------------
@variant("I37")
def death_without_fingerprint() -> AbstractContextManager[object]:
    """A job that dies belongs to no group until a chore comes by."""
    return statements(finish=("fingerprint = :fingerprint", "fingerprint = NULL"))


@variant("I37", only="searches")
def retry_leaves_group() -> AbstractContextManager[object]:
    """A job that is retried stays in the group of those that died of the same."""
    text = DIALECT.text("dead_counts")
    kept = text.replace("WHERE state = 'dead'", "WHERE fingerprint IS NOT NULL")
    assert kept != text
    return patched((DIALECT, "_texts", {**DIALECT._texts, "dead_counts": kept}))
