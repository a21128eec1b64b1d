"""The two sides of a joined transaction: the caller's connection as a guest, and the engine whose verbs run on it."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...core.decide import Transition
    from ...core.draft import Draft
    from ..operations import Operations, Result, Statement

T = TypeVar("T")

OPEN = "open"  # a transaction is open: join it
IDLE = "idle"  # none is open, and the next statement opens one that the caller ends
AUTOCOMMIT = "bare"  # none is open, and each statement would commit for itself
CLOSED = "closed"
BROKEN = "broken"  # the transaction has failed: nothing but a rollback is possible


class Aside(NamedTuple):
    """Work in between, on the store's own connections; it may block, so an async driver does it on a thread."""

    call: Callable[[], Any]


Joined = Generator["Statement | Aside", "Result", T]


class CallerConnection:
    """A caller's connection while we are on it. `raw` is the driver's own; what it was wrapped in is the frames' business."""

    engine: ClassVar[str]
    awaited: ClassVar[bool] = False
    advice: str  # how its user opens a transaction

    def __init__(self, raw: Any) -> None:
        self.raw = raw
        self.undo: Callable[[], Any] | None = None  # takes back what the frame began for us, should we fail

    @property
    def lasting(self) -> Any:
        """The connection itself, for those who want to know it again."""
        return self.raw

    @property
    def kind(self) -> str:
        """The connection's class as its users know it."""
        return named(self.raw)

    def standing(self) -> str:
        """How it stands with the transaction: one of the words above."""
        raise NotImplementedError

    def execute(self, statement: Statement) -> Any:
        """The answer to a statement; of an awaited guest, something that answers it when awaited."""
        raise NotImplementedError


class Outbox(Protocol):
    """An engine's side: the verbs that can join a caller's transaction, as steps."""

    engine: str
    place: str  # where the store is, without secrets

    def enqueue(self, drafts: Sequence[Draft], now: int) -> Operations[list[tuple[str, bool]]]:
        """As the store's `enqueue`."""
        ...

    def cancel(self, ids: Sequence[str], now: int, actor: str) -> Operations[dict[str, str]]:
        """As the store's `cancel`."""
        ...

    def finish(self, transition: Transition) -> Operations[bool]:
        """Apply one transition; False when it does not hold any more."""
        ...

    def around(self, caller: CallerConnection, operations: Operations[T]) -> Joined[T]:
        """The steps where they belong: checked to be the same database, whole or not at all, the rest left to the caller."""
        ...

    def fault(self, error: BaseException) -> BaseException:
        """A driver's error as one of ours; what is not a driver's is answered unchanged."""
        ...


def names(tx: object) -> list[str]:
    """The classes of an object, its own first, each with its package: `psycopg.AsyncConnection`."""
    return [f"{kind.__module__.partition('.')[0]}.{kind.__name__}" for kind in type(tx).__mro__]


def named(tx: object) -> str:
    """The class of an object, for a message."""
    return names(tx)[0].removeprefix("builtins.")
