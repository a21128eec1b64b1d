"""The two sides of a joined transaction: the caller's connection, and the engine whose verbs run on it."""

from __future__ import annotations

from collections.abc import Generator
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, TypeVar

from ..operations import Statement

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...core.decide import Transition
    from ...core.draft import Draft
    from ..operations import Operations, Result

T = TypeVar("T")

OPEN = "open"  # a transaction is open: join it
IDLE = "idle"  # none is open, and the next statement opens one that the caller ends
AUTOCOMMIT = "autocommit"  # none is open, and each statement would commit by itself
CLOSED = "closed"
BROKEN = "broken"  # the transaction has failed: nothing but a rollback is possible


class OwnWork(NamedTuple):
    """Work on the store's own connections between two statements; it may block, so an async driver does it on a thread."""

    call: Callable[[], Any]


Joined = Generator["Statement | OwnWork", "Result", T]


class CallerConnection:
    """A caller's connection. `raw` is the driver's own; `frameworks` takes it out of what it is wrapped in."""

    engine: ClassVar[str]
    awaited: ClassVar[bool] = False
    advice: str  # tells the user how to open a transaction

    def __init__(self, raw: Any) -> None:
        self.raw = raw
        self.undo: Callable[[], Any] | None = None  # rolls back what the framework began for us, if we fail

    @property
    def identity(self) -> Any:
        """The object that stays the same while the connection is open."""
        return self.raw

    @property
    def kind(self) -> str:
        """The connection's class, for a message."""
        return named(self.raw)

    @property
    def encoding(self) -> str:
        """How the connection sends and reads text."""
        return "UTF8"

    def tx_status(self) -> str:
        """Return the status of the transaction: one of the constants above."""
        raise NotImplementedError

    async def execute(self, statement: Statement) -> Result:
        """Return the result of a statement. On a sync connection, awaiting this suspends nothing."""
        raise NotImplementedError


class Outbox(Protocol):
    """An engine's side: the verbs that can join a caller's transaction, as operations."""

    engine: str
    place: str  # where the store is, without secrets

    def enqueue(self, drafts: Sequence[Draft], now: int) -> Operations[list[tuple[str, bool]]]:
        """As the store's `enqueue`."""

    def cancel(self, ids: Sequence[str], now: int, actor: str) -> Operations[dict[str, str]]:
        """As the store's `cancel`."""

    def finish(self, transition: Transition) -> Operations[bool]:
        """Apply one transition; return False if its token is no longer current."""

    def in_transaction(self, caller: CallerConnection, operations: Operations[T]) -> Joined[T]:
        """Return the operations inside the caller's transaction: in the same database, and whole or not at all."""

    def mapped(self, error: BaseException) -> BaseException:
        """Return a driver's error as one of ours; any other error unchanged."""


async def resolved(value: Any) -> Any:
    """Return what a driver's call returned, awaited if the driver is async: one text serves both kinds."""
    return await value if isawaitable(value) else value


def names(tx: object) -> list[str]:
    """Return the classes of an object, its own first, each with its package: `psycopg.AsyncConnection`."""
    return [f"{kind.__module__.partition('.')[0]}.{kind.__name__}" for kind in type(tx).__mro__]


def named(tx: object) -> str:
    """Return the class of an object, for a message."""
    return names(tx)[0].removeprefix("builtins.")


def undo(error: BaseException, *statements: str) -> Operations[None]:
    """Undo our statements; the error that made it necessary is the one to raise."""
    if isinstance(error, GeneratorExit):
        return
    try:
        for statement in statements:
            yield Statement(statement)
    except Exception as worse:  # noqa: BLE001  (of whichever driver)
        error.add_note(f"… and the rollback failed: {worse}")
