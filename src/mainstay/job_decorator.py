"""What `@app.job(…)` takes and returns, for type checkers. Nothing of this is imported at run time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, ParamSpec, Protocol, TypedDict, TypeVar, overload

from .registry import JobType

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence

    from .core.clock import Duration
    from .core.fields import by
    from .core.limits import Breaker, Limit
    from .core.retention import Keep
    from .core.retry import Retry
    from .job import Job

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C")
Item = TypeVar("Item")


class Decorator(Protocol):
    """Makes a function a job type."""

    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> JobType[P, R, Coroutine[Any, Any, R]]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> JobType[P, R, R]: ...


class TypeOptions(TypedDict, total=False):
    """The options of every kind of type, as type checkers see them; `registry` has the same names at run time."""

    name: str | None
    queue: str
    priority: int
    retry: Retry | int
    timeout: Duration | None
    keep: Duration | Keep | None
    tags: Iterable[str]
    key: str | by
    unique: Literal["alive", "start", "forever"]
    period: Duration
    on_conflict: Literal["existing", "replace", "raise"]
    stages: Iterable[str]
    on_timeout: Literal["wait", "abandon"]
    aliases: Iterable[str]
    version: int
    upgrades: Mapping[int, Callable[[Any], Mapping[str, Any]]]
    limit: Limit | Sequence[Limit]
    breaker: Breaker
    description: str
    verify: Callable[[Job], object]
    subject: by | Callable[[Job], str]


class BatchType(JobType[[Item], R, C], Generic[Item, R, C]):
    """A job type whose handler takes a list: one item is enqueued, many are run at once."""

    def __call__(self, items: list[Item], /) -> C:  # type: ignore[override]
        """Call the handler plainly."""
        raise NotImplementedError


class BatchDecorator(Protocol):
    """Makes a function of a list a batch type."""

    @overload
    def __call__(
        self, function: Callable[[list[Item]], Coroutine[Any, Any, None]], /
    ) -> BatchType[Item, None, Coroutine[Any, Any, None]]: ...
    @overload
    def __call__(
        self, function: Callable[[list[Item]], Coroutine[Any, Any, Sequence[R | Exception]]], /
    ) -> BatchType[Item, R, Coroutine[Any, Any, Sequence[R | Exception]]]: ...
    @overload
    def __call__(self, function: Callable[[list[Item]], None], /) -> BatchType[Item, None, None]: ...
    @overload
    def __call__(
        self, function: Callable[[list[Item]], Sequence[R | Exception]], /
    ) -> BatchType[Item, R, Sequence[R | Exception]]: ...
