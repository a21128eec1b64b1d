"""What the shared verbs use of a SQL engine's store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..contract import Orphan, StartedJobs
    from ..operations import Operations
    from .dialect import Dialect
    from .search import Dialect as SearchDialect

T = TypeVar("T")


class LocalWorkers(Protocol):
    """The workers of this installation on this machine, known by their lock files."""

    def hold(self, worker: str) -> None: ...
    def release(self, worker: str) -> None: ...
    def started_jobs(self, worker: str) -> StartedJobs: ...
    def orphans(
        self, deregister: Callable[[str], None], find: Callable[[], list[Orphan]], limit: int
    ) -> list[Orphan]: ...
    def tidy(self, registered: list[str], now: int) -> None: ...


class SqlStore(Protocol):
    """A store whose verbs are operations over a dialect. `by_worker`: a worker waits, and its lease is short."""

    @property
    def dialect(self) -> Dialect: ...
    @property
    def search_dialect(self) -> SearchDialect: ...
    @property
    def local_workers(self) -> LocalWorkers: ...

    def engine_now(self, now: int) -> int | None:
        """Return the instant that decides what is due or expired; None: the server's clock does."""
        ...

    def read(self, operations: Operations[T], by_worker: bool = False) -> T:
        """Drive operations that only read."""
        ...

    def single(self, operations: Operations[T], by_worker: bool = False) -> T:
        """Drive operations that yield once: one transaction, and on a server one round trip."""
        ...

    def write(self, operations: Callable[[], Operations[T]], by_worker: bool = False) -> T:
        """Drive operations in one write transaction, from the start again if it met another and was rolled back."""
        ...

    def notify(self, what: str = "jobs") -> None:
        """Wake every worker."""
        ...


def rows(store: SqlStore, name: str, /, **values: Any) -> Operations[list[tuple[Any, ...]]]:
    """Return the rows of one statement."""
    return (yield store.dialect.statement(name, **values)).rows
