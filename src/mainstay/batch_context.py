"""`ctx` in a batch handler: reports go to every job of the batch; `ctx.batch` has a context for each of them."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from .context import Context, plain_items
from .core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .core.job import Claimed
    from .job_log import JobLog


class BatchContext(Context):
    """One call of a batch handler. It is to stop when every job of the batch is."""

    batch: tuple[Context, ...] = ()

    def __init__(self, batch: Sequence[Context]) -> None:
        self.batch = tuple(batch)
        for context in batch:
            context.whole = self

    def _of_one_job(self) -> NoReturn:
        raise UsageError(
            f"this handler runs {self.title}, and this is different for each of them: use ctx.batch, "
            "which has one context per job, in the order of the items"
        )

    @property
    def job(self) -> Claimed:  # type: ignore[override]
        self._of_one_job()

    @property
    def _reporter(self) -> Any:  # type: ignore[override]
        self._of_one_job()

    @property
    def title(self) -> str:
        return f"a batch of {len(self.batch)} jobs"

    @property
    def type(self) -> str:
        return self.batch[0].type

    @property
    def cancelled_because(self) -> str | None:  # type: ignore[override]
        """Why to stop; None while at least one job is to go on."""
        reasons = [context.cancelled_because for context in self.batch]
        return None if None in reasons or not reasons else reasons[-1]

    @property
    def stopping(self) -> bool:  # type: ignore[override]
        return any(context.stopping for context in self.batch)

    def _write(self, level: str, message: str, fields: dict[str, Any]) -> None:
        for context in self.batch:
            context._write(level, message, fields)  # noqa: SLF001  (another context)

    @property
    def lines(self) -> JobLog | None:  # type: ignore[override]
        return next((context.lines for context in self.batch if context.lines is not None), None)

    def end_log(self) -> None:
        for context in self.batch:
            context.end_log()

    def progress(self, done: float | None = None, total: float | None = None, **details: Any) -> None:
        for context in self.batch:
            context.progress(done, total, **details)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        with ExitStack() as stack:
            for context in self.batch:
                stack.enter_context(context.stage(name))
            yield

    def _rates(self) -> list[str]:
        return list(dict.fromkeys(slot for context in self.batch for slot in context._rates()))  # noqa: SLF001  (another context)

    def _push(self, rates: list[str], delay: int) -> None:
        self.batch[0]._push(rates, delay)  # noqa: SLF001  (another context; all report to one store)

    def complete_in(self, tx: object, result: Any = None) -> None:
        self._of_one_job()

    async def acomplete_in(self, tx: object, result: Any = None) -> None:
        self._of_one_job()


def called(function: Callable[..., Any], is_async: bool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a batch handler plainly, outside a batch: `ctx.batch` has as many contexts as there are items."""
    (items,) = (*args, *kwargs.values()) if len(args) + len(kwargs) == 1 else (None,)
    count = len(items) if isinstance(items, (list, tuple)) else 1
    if is_async:
        return _awaited(function, count, args, kwargs)
    held = plain_items.set(count)
    try:
        return function(*args, **kwargs)
    finally:
        plain_items.reset(held)


async def _awaited(function: Callable[..., Any], count: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    held = plain_items.set(count)
    try:
        return await function(*args, **kwargs)
    finally:
        plain_items.reset(held)
