"""One attempt: payload in, handler called, outcome out. Never raises; writes nothing."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any

from ..context import Context, current
from ..core import outcome as ended
from ..core.errors import InvalidPayload
from ..core.outcome import Outcome
from ..core.payload import clean, encode_result

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..registry import JobType
    from .flight import Flight

_OURS = ("builtins", "__main__", "mainstay")  # modules whose names say nothing in front of an exception's
ERROR, TRACEBACK = 2_000, 60_000  # characters kept


def run(flight: Flight, context: Context) -> Outcome:
    """Call a plain handler and say how it ended."""
    flight.context = context
    held = current.set(context)
    try:
        arguments = flight.type.schema.decode(flight.job.payload)
        return success(context, flight.type.function(**arguments))
    except BaseException as error:  # noqa: BLE001  (whatever a handler raises is its outcome)
        return failure(flight.type, context, error)
    finally:
        current.reset(held)


async def arun(flight: Flight, context: Context, end: Callable[[Flight, Outcome], None]) -> None:
    """Await an async handler and tell `end` how it went. One coroutine, no more: this is the hot path of the loop."""
    flight.context = context
    current.set(context)  # the task's own: nothing to reset
    try:
        arguments = flight.type.schema.decode(flight.job.payload)
        outcome = success(context, await flight.type.function(**arguments))
    except BaseException as error:  # noqa: BLE001  (whatever a handler raises is its outcome)
        outcome = failure(flight.type, context, error)
    end(flight, outcome)


def success(context: Context, value: Any) -> Outcome:
    """The outcome of a handler that returned."""
    if context.completed_in:
        return Outcome("completed in transaction")
    if value is None and not context.children:
        return ended.COMPLETED
    return Outcome("completed", result=encode_result(value), children=context.children)


def failure(type: JobType[..., Any, Any], context: Context, error: BaseException) -> Outcome:
    """The outcome of a handler that raised."""
    because = context.cancelled_because
    if isinstance(error, ended.Stopping) or (context.stopping and because is None and _interrupted(error)):
        return ended.HANDED_BACK
    if because is not None and (isinstance(error, ended.Cancelled) or _interrupted(error)):
        return ended.CANCELLED._replace(reason=because)
    if isinstance(error, ended.Signal):
        return _signalled(error)
    invalid = isinstance(error, InvalidPayload)
    retry = not invalid and type.retry.retryable(error)
    reason = "invalid payload" if invalid else None if retry else f"{_name(error)} is final for {type.name}"
    return Outcome("failed", error=described(error), traceback=_trace(error), retry=retry, reason=reason)


def _signalled(error: ended.Signal) -> Outcome:
    if isinstance(error, ended.Snooze):
        return Outcome("snoozed", reason=error.reason or None, delay=error.delay)
    if isinstance(error, ended.Review):
        return Outcome("review", reason=clean(error.reason, ERROR), result=encode_result(error.output))
    if isinstance(error, ended.Cancel):
        return Outcome("cancelled", reason=clean(error.reason, ERROR))
    return Outcome("failed", error=described(error), traceback=_trace(error), retry=False, reason="permanent")


def _interrupted(error: BaseException) -> bool:
    return type(error).__name__ == "CancelledError"  # asyncio's, without importing it for plain handlers


def described(error: BaseException) -> str:
    """An exception in one line: its class and message."""
    text = str(error)
    return clean(f"{_name(error)}: {text}" if text else _name(error), ERROR)


def _name(error: BaseException) -> str:
    kind = type(error)
    return (
        kind.__qualname__ if kind.__module__.partition(".")[0] in _OURS else f"{kind.__module__}.{kind.__qualname__}"
    )


def _trace(error: BaseException) -> str:
    """The traceback from the handler on: mainstay's own frames say nothing to the user."""
    frames = error.__traceback__.tb_next if error.__traceback__ else None
    return clean("".join(traceback.format_exception(type(error), error, frames)), TRACEBACK)
