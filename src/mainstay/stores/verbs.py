"""The verbs of a store as a table: each is a function in a module, imported when it is first called.

A producer that enqueues one job and exits imports the modules of that verb and no others.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType
    from typing import Any, ClassVar, Self

    from ..core.job import Job
    from .local_workers import LocalWorkers
    from .results import StartedJobs

PACKAGE = "mainstay.stores."
# The cold verbs by module, the same in `sql` (SQLite and PostgreSQL) and `redis`. An engine's own table overrules them.
COLD = {
    "reads": "get_many find claimed_by result checkpoint attempts logs warnings actions audit counts ended workers diagnostics rules",
    "actions": "cancel retry resolve_review delete",
    "change": "change",
    "dead": "dead_counts unprinted set_fingerprints",
    "reviews": "reviews due_reviews set_review",
    "maintenance": "register renew ask_worker deregister orphans retract_crashes expired prune_jobs prune prune_actions register_types types declarations "
    "setting set_setting seal",
    "rules": "set_rule declare_rules push_rate slots slot meters admit expire",
    "schedules": "schedules_version fire",
    "search": "search count",
    "move": "export_rows import_rows",
    "duplicates": "duplicates",
    "history": "export_jobs import_jobs record_action",
    "keys": "keys forget_key",
    "tallies": "tallies totals roll_up",
    "rewrite": "rewrite",
    "webhooks": "record_delivery deliveries delivery_figures prune_deliveries",
}


class Verbs:
    """Base class of the stores. `VERBS` maps each verb to its module, relative to `mainstay.stores`.

    The function has the verb's name and takes the store as its first argument.
    """

    VERBS: ClassVar[Mapping[str, str]]
    identity: tuple[str, ...]  # distinguishes an installation on a server from others

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        module = self.VERBS.get(verb)
        if module is None:
            raise AttributeError(f"{type(self).__name__} has no verb {verb!r}")
        function: Any = getattr(__import__(PACKAGE + module, fromlist=[verb]), verb)
        bound: Callable[..., Any] = function.__get__(self)
        setattr(self, verb, bound)  # later calls find it without this method
        return bound

    @property
    def local_workers(self) -> LocalWorkers:
        """The workers of this installation that run on this machine."""
        found: LocalWorkers | None = self.__dict__.get("_local_workers")
        if found is None:  # only workers and tools need them
            from .local_workers import LocalWorkers

            found = self.__dict__.setdefault("_local_workers", LocalWorkers(*self.identity))  # the same for all threads
        return found

    @property
    def clock_ends_leases(self) -> bool:
        """See `contract.Store`."""
        return True

    def stalled(self) -> int:
        """See `contract.Store`: a server's clock decides over leases, and its clients wait for nobody's writes."""
        return 0

    def behind(self) -> int | None:
        """See `contract.Store`."""
        return None

    def get(self, job_id: str) -> Job | None:
        """See `contract.Store`."""
        return next(iter(self.get_many([job_id])), None)

    def started_jobs(self, worker: str) -> StartedJobs:
        """See `contract.Store`."""
        return self.local_workers.started_jobs(worker)

    def unstarted(self, worker: str) -> set[str]:
        """See `contract.Store`."""
        return self.local_workers.unstarted(worker, self.claimed_by)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def table(cold: str, modules: dict[str, str]) -> dict[str, str]:
    """Return a table of verbs: the cold ones of a package, and those in these modules: `{"redis.claim": "claim finish"}`."""
    every = {f"{cold}.{module}": verbs for module, verbs in COLD.items()} | modules
    return {verb: module for module, verbs in every.items() for verb in verbs.split()}
