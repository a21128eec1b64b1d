"""The Store protocol: what an engine promises. A verb exists once `tests/contract` has its test.

All instants are milliseconds since the epoch. `now` is the caller's clock. PostgreSQL and Redis decide by their own clock what
is due or expired, and use `now` only for what the caller sees. A store that was opened with a `clock` (a test's, the
simulator's) decides by `now`, on every engine. Every verb is atomic: it happens whole or not at all. It raises a
`StoreError` or a subclass if it did not happen, or if that cannot be known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self

from .observation import Observation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

    from ..core.bulk import Bulk
    from ..core.change import Wish
    from ..core.decide import Transition
    from ..core.draft import Draft
    from ..core.export import ActionRecord, Batch, DeliveryRecord, JobHistory, Rewrite
    from ..core.job import (
        Claimed,
        Declaration,
        KeyInfo,
        Rule,
        SlotInfo,
        TypeInfo,
        WorkerInfo,
    )  # fmt: skip
    from ..core.schedule import Fired, Firing
    from ..core.search_terms import Term
    from ..core.updates import Update
    from ..core.webhooks import Figures
    from .outbox.caller_connection import Outbox
    from .results import Claims, Compacted, DueReview, Expired, Notifier, Orphan, Pruned, Renewal, StartedJobs


class Store(Observation, Protocol):
    """An engine. Thread-safe; opened on first use; usable in a forked child."""

    url: str
    lease: int  # ms after which a worker that does not renew its lease counts as dead, unless its user says otherwise
    sweep_interval: int  # ms between two sweeps of a worker
    remote: bool  # a server, which may be unreachable for a while

    # jobs ---------------------------------------------------------------------------------------------------------
    def enqueue(self, drafts: Sequence[Draft], now: int) -> list[tuple[str, bool]]:
        """Accept jobs durably, all or none; return per draft the id and whether it is new (False: another job has its key).

        Applies the rules of types and queues: raises `TypeDisabled` or `QueueFull`, nothing written. A job with rules is
        queued if they permit it, else blocked. Raises `NotFound` if a parent (`after`) does not exist.

        Fills each draft's `id` where it is empty. Sending a draft with the same id again changes nothing.
        """

    def outbox(self) -> Outbox:
        """Return the verbs that can join a caller's transaction; raises `TransactionUnsupported` if none can."""

    def claim(
        self,
        worker: str,
        wants: Mapping[str, Sequence[str]],
        limit: int,
        now: int,
        finishing: Sequence[Transition] = (),
        updates: Sequence[Update] = (),
    ) -> Claims:
        """In one transaction: write `updates`, apply `finishing`, promote due jobs, claim up to `limit` jobs.

        `wants` maps each queue to the types this worker knows; other types are never touched. Jobs come ordered: by
        queue as given, higher priority first, then first in first out. Paused types and queues, and types whose breaker is
        open, are left out; of one that may be probed again, one job is taken. Rates are charged. Raises `LeaseLost`, nothing written, if the worker
        is not registered or its lease has expired.
        """

    def claimed_by(self, worker: str) -> list[Claimed]:
        """Return the running jobs that a worker holds: for a worker whose claim was committed, but the reply lost."""

    def unstarted(self, worker: str) -> set[str]:
        """Return the ids of the jobs that a worker holds and has not started; none if it runs on another machine."""

    def finish(self, transitions: Sequence[Transition], updates: Sequence[Update] = ()) -> list[str]:
        """Apply each transition whose job runs under its token; return a verdict per transition (`core.verdict`)."""

    # operators: a job that the search `terms` no longer finds when it would be changed is left alone, and `unmatched`. The
    # audit trail gets one line for each call, or for all calls with the same `bulk` (`core.bulk`), whose place is written in the
    # same transaction; with the note. `declared`: nobody has checked who the actor is ----------------------------------
    def cancel(
        self, ids: Sequence[str], now: int, actor: str, terms: Sequence[Term] = (), bulk: Bulk | None = None,
        note: str = "", declared: bool = False,
    ) -> dict[str, str]:  # fmt: skip
        """Cancel waiting jobs, ask running ones to stop; return per id: cancelled, cancelling, ended, missing, unmatched."""

    def retry(
        self, ids: Sequence[str], now: int, actor: str, terms: Sequence[Term] = (), bulk: Bulk | None = None,
        note: str = "", declared: bool = False, times: Sequence[int] = (),
    ) -> dict[str, str]:  # fmt: skip
        """Queue ended or waiting jobs, now or each at the time given for it, with fresh attempts.

        Returns per id: queued, scheduled (for a time that has not come), missing, unmatched, its state, or that another job holds
        its key, and which (`core.keys.held`).
        """

    def change(
        self, ids: Sequence[str], now: int, actor: str, wish: Wish, terms: Sequence[Term] = (),
        bulk: Bulk | None = None, note: str = "",
    ) -> dict[str, str]:  # fmt: skip
        """Give jobs another queue, priority, time or payload; a waiting one is admitted anew, with the attempts that it has.

        The rules of the queue apply; a full one refuses nobody here. Keys that follow from a payload follow it. Returns per id:
        changed, same (it is so already), running, review, ended (or completed), late (it has to start before that time), stale (its
        payload has changed since), invalid (it has no edit), missing, unmatched, or that another job holds its key, and which.
        """

    def resolve_review(
        self, job_id: str, approve: bool | None, now: int, actor: str, note: str, terms: Sequence[Term] = (),
        bulk: Bulk | None = None, *, output: str | None = None, token: int | None = None, declared: bool = False,
    ) -> str:  # fmt: skip
        """Approve or reject a job in review; None: nobody decided, so it is dead. An `output` replaces the one that it proposed.

        Returns approved, rejected, expired, missing, unmatched or the state it is in. With `token`, only the review of that attempt is
        ended: "asked again" if there is a later one.
        """

    def delete(
        self, ids: Sequence[str], now: int, actor: str, terms: Sequence[Term] = (), bulk: Bulk | None = None,
        note: str = "", declared: bool = False,
    ) -> dict[str, str]:  # fmt: skip
        """Remove jobs and all that belongs to them; return per id: deleted, running, missing, unmatched."""

    # keys that are taken for ever; they outlive their jobs ---------------------------------------------------------
    def keys(self, prefix: str, limit: int, after: str | None = None) -> list[KeyInfo]:
        """Return up to `limit` keys that start with a prefix, by key and type; `after` is a key and a type, LF between them."""

    def forget_key(self, type: str, key: str, now: int, actor: str, dry_run: bool = False) -> str | None:
        """Free a key and return the job that took it; None: it is not taken. While that job is alive, it goes on holding the key.

        `dry_run` changes nothing.
        """

    # reviews: anybody may ask for those that are due; each is decided or reminded of once ---------------------------
    def reviews(self, limit: int, after: str | None = None) -> list[str]:
        """Return the ids of up to `limit` jobs in review, the oldest job first, behind the job `after`."""

    def due_reviews(self, now: int, limit: int) -> list[DueReview]:
        """Return up to `limit` reviews whose deadline or next reminder has come, the longest due first; some may be over."""

    def set_review(self, job_id: str, was: str, body: str, due: int | None) -> bool:
        """Change what a review asks and when something is due, if it is still what it `was`; return whether it was changed."""

    # chores -------------------------------------------------------------------------------------------------------
    def register(self, worker: WorkerInfo, declared: Sequence[Declaration] = ()) -> None:
        """Register a worker, and what it takes; its lease runs until `expires_at`."""

    def renew(self, worker: str, now: int, lease: int, stopping: bool = False) -> Renewal:
        """Renew a lease that has not run out; one that has can never be renewed.

        On SQLite with lock files, a lease runs out when `orphans` removes its worker, not before: the clock may be set, and
        a write of others may take long.

        `stopping` records that the worker claims nothing more. The record stays until the worker registers again.
        """

    def ask_worker(self, worker: str, what: str, now: int, actor: str) -> bool:
        """Ask a worker to `drain` or to `stop`: its next renewals say so. False: no live worker has that name."""

    @property
    def clock_ends_leases(self) -> bool:
        """Whether a lease ends by the clock. Otherwise it goes on until a sweep ends it, and a worker that cannot renew keeps its jobs."""

    def stalled(self) -> int:
        """Return for how many ms until now no worker could renew its lease, because one write kept out all others.

        Leases are judged as of the beginning of that time: a worker that could not renew is not dead.
        """

    def deregister(self, worker: str) -> None:
        """Remove a worker. The jobs it still holds are orphans from now on.

        If it holds some, what this machine knows about which of them had started is kept for the sweep.
        """

    def orphans(self, now: int, grace: int, limit: int) -> list[Orphan]:
        """Return running jobs whose worker is gone, or that are more than `grace` ms past their timeout.

        Removes workers whose lease has expired. On SQLite, removes one that holds its lock only after several calls have
        seen it not renewing.
        """

    def retract_crashes(self, jobs: Sequence[Claimed]) -> int:
        """Undo the crash that a sweep has counted for each of these attempts, because their worker lives; return how many.

        The attempt becomes a failed one. Nothing changes for a job that has ended, or whose attempt ended otherwise.
        """

    def expired(self, now: int, limit: int, hold: int = 0) -> list[Expired]:
        """Return up to `limit` ended jobs whose retention is over: kept long enough, or beyond the last that are kept.

        A job that others wait for is left out. `hold` reserves the jobs for so many ms: no other call returns them meanwhile.
        """

    def prune_jobs(self, jobs: Sequence[Expired]) -> Pruned:
        """Delete those of the jobs that nobody has changed since `expired` returned them."""

    def prune(self, now: int, limit: int) -> int:
        """Delete up to `limit` ended jobs whose retention is over: `expired`, then `prune_jobs`."""

    def prune_actions(self, now: int, keep: int, limit: int) -> int:
        """Delete lines of the audit trail that are older than `keep` ms, of the `limit` oldest; return how many."""

    def roll_up(self, now: int, minutes: int, hours: int) -> bool:
        """Make hours of minutes that are older than `minutes` ms, and remove hours older than `hours` ms; return whether there is more to do.

        On SQL engines it counts the jobs enqueued in minutes that are over, too. Nothing is lost or counted twice, whoever does it
        and wherever it is interrupted.
        """

    def admit(self, now: int, limit: int) -> int:
        """Examine blocked jobs that may have been missed, and remove holds without a job; return how many jobs were changed."""

    def expire(self, now: int, limit: int) -> int:
        """Cancel up to `limit` waiting jobs that had to start by an instant that has passed; return how many."""

    def compact(self, report: Callable[[int, int], None]) -> Compacted:
        """Give the space of deleted jobs back to the disk, where that is possible; report free bytes so far, and all."""

    def set_fingerprints(self, prints: Mapping[str, str]) -> int:
        """Give dead jobs that have no fingerprint theirs, by id; return how many."""

    # configuration ------------------------------------------------------------------------------------------------
    def rules(self, kinds: Sequence[str], name: str | None = None) -> list[Rule]:
        """Return the rules of these kinds (`pause`, `type`, `queue`, `limit`, `breaker`, `schedule`, `tick`, `watch`, `trouble`, `webhook`,
        `webhook_secret` and the others of `core.rules`), by kind and name; or those of one name.
        """

    def set_rule(self, rule: Rule, remove: bool = False, was: tuple[Rule | None] | None = None) -> Rule | None:
        """Set or remove a rule, and return the one before. Takes effect at once: jobs that it lets pass are examined.

        `was` has the rule on which the change is based: `RuleChanged` is raised, nothing written, if its value is another now.
        The audit trail gets a line with the value before and after, unless the actor is "" (the code itself).
        """

    def declare_rules(self, rules: Sequence[Rule]) -> None:
        """Record what code declares of queues and limits: the value `declared` of their rules. What operators set stays."""

    def schedules_version(self, now: int) -> tuple[int, int]:
        """Return a number that changes with each change of a schedule, not with its ticks; and the instant of the engine's clock."""

    def fire(self, firings: Sequence[Firing], now: int) -> list[Fired]:
        """Fire schedules (rules of kind `schedule`), all in one transaction: enqueue their drafts and store their states.

        Nothing happens to one that is not as it was read, or whose tick has not come by the engine's clock. Raises as `enqueue` does,
        nothing written. The audit trail gets a line (`run`) for each job that an actor asked for.
        """

    def push_rate(self, slots: Sequence[str], now: int, delay: int) -> None:
        """Let the rates of these slots permit no start for `delay` ms."""

    def slots(self, limit: int, cap: int) -> list[SlotInfo]:
        """Return the slots that are held or waited for, by name, `limit` at most; up to `cap` jobs in line are counted of each."""

    def slot(self, name: str, limit: int, cap: int) -> tuple[SlotInfo, list[str]]:
        """Return one slot as `slots` does, and the ids of up to `limit` jobs that hold it, those that came first before others."""

    def meters(self, names: Sequence[str]) -> dict[str, int]:
        """Return the meters of these names that exist: rates, fair queues, depths, breakers."""

    def register_types(self, types: Sequence[TypeInfo]) -> None:
        """Make types known to producers and tools that lack the code."""

    def types(self) -> list[TypeInfo]:
        """Return every type that a worker ever registered."""

    def declarations(self, now: int, type: str | None = None, worker: str | None = None) -> list[Declaration]:
        """Return what the live workers that go on claiming take, of one type or of all; or what one live `worker` takes."""

    def setting(self, name: str) -> str | None:
        """Return the value of a setting of the installation, or None."""

    def set_setting(
        self, name: str, value: str | None, description: str | None = None, now: int | None = None, actor: str = ""
    ) -> None:  # fmt: skip
        """Change a setting; None removes it. A description of None keeps the one before.

        The audit trail gets a line (`setting`) with the value before and after, unless the actor is "" (mainstay itself).
        """

    def seal(self) -> None:
        """Mark the installation as encrypted: programs without keys are refused from now on, when they connect."""

    def rewrite(self, job_id: str, texts: Sequence[Rewrite]) -> None:
        """Replace texts of a job that are still what they were, by others that say the same: for the rotation of keys."""

    # moving -------------------------------------------------------------------------------------------------------
    def export_rows(self, part: str, after: str | None, limit: int) -> Batch:
        """Return up to `limit` rows of a part (`core.export.PARTS`), from the beginning or from where a batch ended."""

    def import_rows(self, part: str, rows: Sequence[tuple[Any, ...]], was: str, mark: str) -> None:
        """Insert rows as they are, and record in the same transaction how far the move is: the setting `move.mark`.

        Raises `Conflict`, nothing written, if that setting is not what it `was`: another move is at work.
        """

    def export_jobs(self, ids: Sequence[str]) -> list[JobHistory]:
        """Return the jobs that exist with all that belongs to them, in the order asked. Each fits together: it is of one moment."""

    def import_jobs(self, histories: Sequence[JobHistory]) -> list[str]:
        """Insert ended jobs that do not exist, with their history, all or none; return their ids.

        Each job comes once. A line of the audit trail that is there already is not written again.
        """

    def record_action(self, action: ActionRecord) -> None:
        """Add a line to the audit trail: for what an operator does to many jobs by other verbs than those that write one."""

    # webhooks: endpoints are rules of the kind `webhook` -----------------------------------------------------------
    def record_delivery(self, delivery: DeliveryRecord, now: int) -> str | None:
        """Record an attempt to deliver, at the engine's time; of the same attempt again, only its texts are replaced.

        In the same transaction, a failed one disables its endpoint if that has had `max_failures` of them within 24 hours, or if it replied
        410. Returns why, if this one has disabled it; None otherwise. Of each endpoint the last `core.webhooks.KEPT` are kept.
        """

    def deliveries(self, endpoint: str, limit: int) -> list[DeliveryRecord]:
        """Return up to `limit` deliveries to an endpoint, the newest first."""

    def delivery_figures(self, endpoint: str, since: int) -> Figures:
        """Return how the deliveries to an endpoint went: how many failed since an instant, and of all that are kept."""

    def prune_deliveries(self, now: int, keep: int, limit: int) -> int:
        """Delete up to `limit` deliveries that are older than `keep` ms; return how many."""

    # wake-up and life ---------------------------------------------------------------------------------------------
    def started_jobs(self, worker: str) -> StartedJobs:
        """Return where a registered worker records the jobs that it runs."""

    def notifier(self, worker: str) -> Notifier:
        """Return a notifier for a worker."""

    def notify(self, what: str = "jobs") -> None:
        """Wake every worker."""

    def close(self) -> None:
        """Close every connection. The next use of the store opens it again."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
