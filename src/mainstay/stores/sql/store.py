"""What the shared verbs use of a SQL engine's store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...core.draft import Draft
    from ..local_workers import LocalWorkers
    from ..operations import Operations
    from .dialect import Dialect

T = TypeVar("T")


class SqlStore(Protocol):
    """A store whose verbs are operations over a dialect. `by_worker`: a worker waits, and its lease is short."""

    walked: str  # the line with which the chore `admit` goes on
    rated: tuple[str, int]  # and the holder of a rate
    lowered: tuple[str, str]  # and the limit and its slot, looking for holders beyond a lowered limit

    @property
    def dialect(self) -> Dialect: ...
    @property
    def local_workers(self) -> LocalWorkers: ...

    def stalled(self) -> int: ...

    def lease_now(self, now: int) -> int:
        """Return the instant after which a lease must end for its worker to use it; a server decides by its own clock."""

    def spared(self, late: list[tuple[str, int, int]], now: int) -> list[str]:
        """Return the workers that keep their lease for now, of those (id, beat_at, expires_at) whose lease has expired."""

    def engine_now(self, now: int) -> int | None:
        """Return the instant that decides what is due or expired; None: the server's clock does."""

    def takes_lines(self, now: int) -> bool:
        """Return whether claims of this process take jobs from the lines of kept slots, so that no chore has to."""

    def read(self, operations: Operations[T], by_worker: bool = False) -> T:
        """Drive operations that only read."""

    def single(self, operations: Operations[T], by_worker: bool = False) -> T:
        """Drive operations that yield once: one transaction, and on a server one round trip."""

    def write(self, operations: Callable[[], Operations[T]], by_worker: bool = False) -> T:
        """Drive operations in one write transaction, from the start again if it met another and was rolled back."""

    def browse(self, operations: Callable[[], Operations[T]]) -> T:
        """Drive operations that only read, and may change settings of their transaction."""

    def accepting(
        self, drafts: Sequence[Draft], now: int, chosen: Callable[[], Operations[list[Draft]]]
    ) -> Operations[list[tuple[str, bool]]]:
        """Enqueue those of the drafts that `chosen` returns, in the transaction that is open; return as `enqueue` does.

        The lock of admission comes before what `chosen` locks, and only if some draft may wait for a rule.
        """

    def notify(self, what: str = "jobs") -> None:
        """Wake every worker."""


def rows(store: SqlStore, name: str, /, **values: Any) -> Operations[list[tuple[Any, ...]]]:
    """Return the rows of one statement."""
    return (yield store.dialect.statement(name, **values)).rows
