"""The verbs of a store that only look: a part of the contract (`contract.Store`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..core.dead import DeadCount
    from ..core.duplicates import Duplicates
    from ..core.export import LogRecord
    from ..core.job import Action, Attempt, Count, Job, LogLine, WorkerInfo
    from ..core.search_terms import Page, Term
    from ..core.tally import Tally


class Observation(Protocol):
    """Reads of jobs, their history, counts and workers. None of them changes anything; a replica serves them too."""

    def get(self, job_id: str) -> Job | None:
        """Return one job, or None."""

    def get_many(self, ids: Sequence[str]) -> list[Job]:
        """Return those of the jobs that exist, in the order asked."""

    def find(self, prefix: str, limit: int) -> list[str]:
        """Return ids that start with a prefix, newest first."""

    def search(self, terms: Sequence[Term], limit: int, after: str | None, now: int) -> Page:
        """Return jobs that match every term, newest first."""

    def count(self, terms: Sequence[Term], now: int, after: str | None = None) -> dict[str, int]:
        """Return how many jobs match every term, by type; of those that a search would return `after` a place. All are counted."""

    def result(self, job_id: str) -> str | None:
        """Return what the job returned, as JSON; None if it returned nothing or has not ended."""

    def checkpoint(self, job_id: str) -> str | None:
        """Return the last checkpoint of a job, as JSON."""

    def attempts(self, job_id: str) -> list[Attempt]:
        """Return every attempt so far, oldest first, the running one included."""

    def logs(self, job_id: str, after: int, limit: int) -> list[LogLine]:
        """Return log lines in order, without the first `after`."""

    def warnings(self, since: int, limit: int, after: str | None = None) -> tuple[list[LogRecord], str | None]:
        """Return the warnings and errors in the logs of all jobs since an instant, about the newest first.

        `limit` says how many rows or jobs are read, and the second value where the next ones begin; None: there are no more.
        """

    def actions(self, job_id: str | None, limit: int) -> list[Action]:
        """Return what operators did, newest first."""

    def audit(self, limit: int, before: int | None = None) -> list[tuple[int, Action]]:
        """Return the next lines of the audit trail before a number, newest first, each with its number."""

    def counts(self, cap: int) -> list[Count]:
        """Return the numbers of unfinished and dead jobs by queue, type and label, reading at most `cap` of each state."""

    def ended(self, since: int, limit: int, after: str | None = None) -> tuple[list[str], str | None]:
        """Return the ids of jobs that ended since an instant, the last one first, and where to go on; None: there are no more."""

    def dead_counts(self, since: int, cap: int) -> list[DeadCount]:
        """Return how many dead jobs there are by fingerprint, type and hour since an instant, reading the `cap` that died last."""

    def duplicates(self, since: int, cap: int) -> Duplicates:
        """Return jobs created since an instant that have the same type and key, or the same type and arguments; of the `cap` newest."""

    def unprinted(self, since: int, limit: int) -> list[str]:
        """Return the ids of up to `limit` jobs that died since an instant and have no fingerprint, the one that died first before others."""

    def tallies(self, since: int, until: int, step: int, types: Sequence[str] = ()) -> list[Tally]:
        """Return what was counted (`core.tally`) from an instant to another, of some types or of all, added up in steps of `step` ms.

        The time is in whole minutes. Minutes that have become hours (`roll_up`) come as those hours that begin in that time.
        """

    def totals(self) -> list[Tally]:
        """Return all that was ever counted, by type and name. These numbers only grow."""

    def workers(self) -> list[WorkerInfo]:
        """Return the registered workers, oldest first; one that is known to be dead has no lease left."""

    def diagnostics(self) -> dict[str, str]:
        """Return what `mainstay doctor` prints: engine, version, durability level, size, schema."""

    def change_mark(self) -> str:
        """Return a text that differs from the one before if anything was committed in between, whoever did it.

        Marks of different threads cannot be compared. On servers, other data of the same server changes it too.
        """

    def behind(self) -> int | None:
        """Return how many milliseconds a replica is behind its primary; None if this is no replica."""
