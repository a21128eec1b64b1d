"""The Store protocol: what an engine promises. A verb exists once `tests/contract` has its test.

All instants are milliseconds since the epoch. `now` is the caller's clock: engines with a clock of their own (PostgreSQL,
Redis) judge by that one what is due, over or lost, and use `now` only for what the caller sees; a store that was opened
with a `clock` (a test's, the simulator's) judges by `now`, whatever the engine. Every verb is atomic: it happens whole or
not at all, and it raises a `StoreError` or a subclass when it did not happen or when nobody can know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

    from ..core.decide import Transition
    from ..core.draft import Draft
    from ..core.export import Batch
    from ..core.job import Action, Attempt, Claimed, Count, Job, LogLine, TypeInfo, WorkerInfo
    from ..core.search_terms import Page, Term
    from ..core.updates import Update
    from .outbox.caller_connection import Outbox


class Claims(NamedTuple):
    """The answer to a claim: what the fused finishes came to, the jobs, and how long until the next is due."""

    verdicts: list[str]
    jobs: list[Claimed]
    wait: int | None  # ms by the engine's clock; None: nothing is scheduled, or there was enough to take


class Renewal(NamedTuple):
    """The answer to a beat: whether the lease holds, and the running jobs that were asked to stop."""

    alive: bool
    cancelling: list[tuple[str, int]]


class Orphan(NamedTuple):
    """A running job to be taken away: its worker is gone, or (not gone) it ran far past its timeout."""

    job: Claimed
    worker: str
    gone: bool
    begun: bool | None = True  # False: its worker died before the handler had begun; None: nobody can tell


class StartedJobs:
    """Which jobs a worker runs at this moment, for whoever sweeps after its death. These tell nothing: all count as begun."""

    def begin(self, job: Claimed) -> int:
        """The handler is about to be called; answers the mark, 0 for none."""
        return 0

    def end(self, mark: int) -> None:
        """The handler is through."""


class Notifier(Protocol):
    """Wakes a worker when there may be something to do. A hint: a lost ring costs a poll, never a job."""

    def wait(self, timeout: int) -> str:
        """Block up to `timeout` ms; answer what rang: `""` nothing, `"jobs"`, `"cancel"`."""
        ...

    def close(self) -> None:
        """Stop listening and leave nothing behind."""
        ...


class SlotOffer(NamedTuple):
    """Room for one job: what is wanted, the caller's instant, and what to do with the job if there is one."""

    wants: Mapping[str, Sequence[str]]
    now: int
    take: Callable[[list[Claimed]], None]


@runtime_checkable
class ClaimingNotifier(Notifier, Protocol):
    """A bell that can claim a job in the very moment in which it rings."""

    def take(self, timeout: int, offer: SlotOffer) -> str:
        """As `wait`. When this raises, a job may have been claimed all the same."""
        ...


class Store(Protocol):
    """An engine. Safe for threads; opened on first use; safe to use in a forked child."""

    url: str
    lease: int  # ms after which a worker that does not renew its lease counts as dead, unless its user says otherwise
    sweep_interval: int  # ms between two sweeps of a worker
    remote: bool  # a server, which may be unreachable for a while and come back

    # jobs ---------------------------------------------------------------------------------------------------------
    def enqueue(self, drafts: Sequence[Draft], now: int) -> list[tuple[str, bool]]:
        """Accept jobs durably, all or none; per draft the id and whether it is new (False: its key was taken).

        Fills each draft's `id` where it is empty. Sending a draft with the same id again changes nothing.
        """
        ...

    def outbox(self) -> Outbox:
        """The verbs that can join a caller's transaction, for `stores.outbox`; raises `TransactionUnsupported` if none can."""
        ...

    def claim(
        self,
        worker: str,
        wants: Mapping[str, Sequence[str]],
        limit: int,
        now: int,
        finishing: Sequence[Transition] = (),
        updates: Sequence[Update] = (),
    ) -> Claims:
        """In one transaction: write `updates`, apply `finishing`, promote what is due, take up to `limit` jobs.

        `wants` maps each queue to the types this worker knows; other types are never touched. Jobs come ordered: by
        queue as given, higher priority first, then first in first out. Raises `LeaseLost` (nothing written) when the
        worker is not registered or its lease has run out.
        """
        ...

    def claimed_by(self, worker: str) -> list[Claimed]:
        """The running jobs that this worker holds: for one whose claim was committed, and the answer lost."""
        ...

    def finish(self, transitions: Sequence[Transition], updates: Sequence[Update] = ()) -> list[str]:
        """Apply each transition whose id is running under its token; per transition a verdict (see above)."""
        ...

    # operators ----------------------------------------------------------------------------------------------------
    def cancel(self, ids: Sequence[str], now: int, actor: str) -> dict[str, str]:
        """Cancel waiting jobs, ask running ones to stop; per id: cancelled, cancelling, ended, missing."""
        ...

    def retry(self, ids: Sequence[str], now: int, actor: str) -> dict[str, str]:
        """Queue ended or waiting jobs now, with fresh attempts; per id: queued, running, duplicate, completed, missing."""
        ...

    def resolve_review(self, job_id: str, approve: bool, now: int, actor: str, note: str) -> str:
        """Approve or reject a job in review; answers approved, rejected, missing or the state it is in."""
        ...

    def delete(self, ids: Sequence[str], now: int, actor: str) -> dict[str, str]:
        """Remove jobs and all that belongs to them; per id: deleted, running, missing."""
        ...

    # chores -------------------------------------------------------------------------------------------------------
    def register(self, worker: WorkerInfo) -> None:
        """Register a worker; its lease runs until `expires_at`."""
        ...

    def renew(self, worker: str, now: int, lease: int, stopping: bool = False) -> Renewal:
        """Renew a lease that has not run out; one that has can never be renewed.

        `stopping` records that the worker claims nothing more. The record stays until the worker registers again.
        """
        ...

    def deregister(self, worker: str) -> None:
        """Unregister a worker. Jobs it still holds become orphans at once."""
        ...

    def orphans(self, now: int, grace: int, limit: int) -> list[Orphan]:
        """Running jobs whose worker is gone, or that ran more than `grace` past their timeout. Buries dead workers."""
        ...

    def prune(self, now: int, limit: int) -> int:
        """Delete up to `limit` ended jobs whose retention is over."""
        ...

    # configuration ------------------------------------------------------------------------------------------------
    def register_types(self, types: Sequence[TypeInfo]) -> None:
        """Make types known to producers and tools that lack the code."""
        ...

    def types(self) -> list[TypeInfo]:
        """Every type any worker ever declared."""
        ...

    def setting(self, name: str) -> str | None:
        """The value of a setting of the installation, or None."""
        ...

    def set_setting(self, name: str, value: str | None) -> None:
        """Change a setting; None removes it."""
        ...

    # moving -------------------------------------------------------------------------------------------------------
    def export_rows(self, part: str, after: str | None, limit: int) -> Batch:
        """Up to `limit` rows of a part (`core.export.PARTS`), from the beginning or from where a parcel ended."""
        ...

    def import_rows(self, part: str, rows: Sequence[tuple[Any, ...]], was: str, mark: str) -> None:
        """Take rows over as they are, and note in the same transaction how far that went: the setting `move.mark`.

        Raises `Conflict`, nothing written, when that setting is not what it `was`: another mover is at work.
        """
        ...

    # observation --------------------------------------------------------------------------------------------------
    def get(self, job_id: str) -> Job | None:
        """One job, or None."""
        ...

    def get_many(self, ids: Sequence[str]) -> list[Job]:
        """Those of the jobs that exist, in the order asked."""
        ...

    def find(self, prefix: str, limit: int) -> list[str]:
        """Ids that start so."""
        ...

    def search(self, terms: Sequence[Term], limit: int, after: str | None, now: int) -> Page:
        """Jobs for which every term holds, newest first."""
        ...

    def result(self, job_id: str) -> str | None:
        """What the job returned, as JSON; None when it returned nothing or has not."""
        ...

    def checkpoint(self, job_id: str) -> str | None:
        """What the job last saved, as JSON."""
        ...

    def attempts(self, job_id: str) -> list[Attempt]:
        """Every attempt so far, oldest first, the running one included."""
        ...

    def logs(self, job_id: str, after: int, limit: int) -> list[LogLine]:
        """Log lines in order, leaving out the first `after`."""
        ...

    def actions(self, job_id: str | None, limit: int) -> list[Action]:
        """What operators did, newest first."""
        ...

    def counts(self, cap: int) -> list[Count]:
        """Unfinished and dead jobs by type and label, looking at no more than `cap` of each state."""
        ...

    def throughput(self, since: int, cap: int) -> dict[str, int]:
        """How many jobs ended in each state since then."""
        ...

    def workers(self) -> list[WorkerInfo]:
        """Registered workers, oldest first."""
        ...

    def diagnostics(self) -> dict[str, str]:
        """What `mainstay doctor` prints: engine, version, durability level, size, schema."""
        ...

    # wake-up and life ---------------------------------------------------------------------------------------------
    def started_jobs(self, worker: str) -> StartedJobs:
        """The marks of this worker, which has joined."""
        ...

    def notifier(self, worker: str) -> Notifier:
        """A bell for this worker."""
        ...

    def notify(self, what: str = "jobs") -> None:
        """Ring every worker's bell."""
        ...

    def close(self) -> None:
        """Let go of every connection. The store may be used again: it opens anew."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
