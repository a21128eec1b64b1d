"""One attempt: payload in, handler called, outcome out. Never raises; writes nothing."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any

from ..context import Context, current
from ..core import outcome as ended
from ..core.errors import InvalidPayload
from ..core.outcome import COMPLETED, Outcome
from ..core.payload import clean, encode_result
from ..stores.outbox.let_go import alet_go, let_go

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..registry import JobType
    from .in_flight import Flight

_OURS = ("builtins", "__main__", "mainstay")  # modules whose names say nothing in front of an exception's
ERROR, TRACEBACK = 2_000, 60_000  # characters kept


def run(flight: Flight, context: Context) -> Outcome:
    """Call a plain handler and say how it ended."""
    type = flight.type
    try:
        arguments = type.schema.decode(flight.job.payload)
    except BaseException as error:  # noqa: BLE001  (a type's own validation may raise anything)
        return unreadable(error)
    held = current.set(context)
    try:
        return success(context, type.function(**arguments))
    except BaseException as error:  # noqa: BLE001  (whatever a handler raises is its outcome)
        return failure(type, context, error)
    finally:
        current.reset(held)
        if context.completed_in is not None:
            let_go(context.completed_in)


async def arun(flight: Flight, context: Context, end: Callable[[Flight, Outcome], None]) -> None:
    """Await an async handler and tell `end` how it went. One coroutine, no more: this is the hot path of the loop."""
    current.set(context)  # the task's own: nothing to reset
    try:
        arguments = flight.type.schema.decode(flight.job.payload)
    except BaseException as error:  # noqa: BLE001  (a type's own validation may raise anything)
        end(flight, unreadable(error))
        return
    try:
        outcome = success(context, await flight.type.function(**arguments))
    except BaseException as error:  # noqa: BLE001  (whatever a handler raises is its outcome)
        outcome = failure(flight.type, context, error)
    if context.completed_in is not None:
        await alet_go(context.completed_in)
    end(flight, outcome)


def unreadable(error: BaseException) -> Outcome:
    """The outcome of a payload that is not what the handler takes: trying again would not make it so."""
    return Outcome("failed", error=described(error), retry=False, reason="invalid payload")


def success(context: Context, value: Any) -> Outcome:
    """The outcome of a handler that returned."""
    if context.completed_in is not None:
        return Outcome("completed in transaction")
    if value is None and not context.children:
        return COMPLETED
    try:
        return Outcome("completed", result=encode_result(value), children=context.children)
    except InvalidPayload as error:
        return Outcome("failed", error=described(error), retry=False, reason="its result cannot be stored")


def failure(type: JobType[..., Any, Any], context: Context, error: BaseException) -> Outcome:
    """The outcome of a handler that raised."""
    because = context.cancelled_because
    if isinstance(error, ended.Stopping) or (context.stopping and because is None and _interrupted(error)):
        return ended.RELEASED
    if because is not None and (isinstance(error, ended.Cancelled) or _interrupted(error)):
        return ended.CANCELLED._replace(reason=because)
    try:
        return _signalled(error) if isinstance(error, ended.Signal) else _failed(type, error)
    except Exception as worse:  # noqa: BLE001  (a proposed output that is no data, say: that is how it ended then)
        return _failed(type, worse)


def _failed(type: JobType[..., Any, Any], error: BaseException) -> Outcome:
    retry = type.retry.retryable(error)
    reason = None if retry else f"{_name(error)} is final for {type.name}"
    return Outcome("failed", error=described(error), traceback=_trace(error), retry=retry, reason=_said(reason))


def _signalled(error: ended.Signal) -> Outcome:
    if isinstance(error, ended.Snooze):
        return Outcome("snoozed", reason=_said(error.reason), delay=error.delay)
    if isinstance(error, ended.Review):
        return Outcome("review", reason=_said(error.reason), result=encode_result(error.output))
    if isinstance(error, ended.Cancel):
        return Outcome("cancelled", reason=_said(error.reason))
    return Outcome("failed", error=described(error), traceback=_trace(error), retry=False, reason="permanent")


def _interrupted(error: BaseException) -> bool:
    return type(error).__name__ == "CancelledError"  # asyncio's, without importing it for plain handlers


def described(error: BaseException) -> str:
    """An exception in one line: its class and message."""
    text = _text(error)
    return clean(f"{_name(error)}: {text}" if text else _name(error), ERROR)


def _said(text: Any) -> str | None:
    """What a handler gave as a reason, as it can be stored; None for nothing."""
    return clean(_text(text), ERROR) if text else None


def _text(value: Any) -> str:
    """A value as text, even where its own code fails to make one."""
    try:
        return str(value)
    except BaseException as error:  # noqa: BLE001  (a user's __str__ may do anything)
        return f"(its text cannot be had: {type(error).__name__})"


def _name(error: BaseException) -> str:
    name, module = type(error).__qualname__, _text(type(error).__module__)
    return name if module.partition(".")[0] in _OURS else f"{module}.{name}"


def _trace(error: BaseException) -> str:
    """The traceback from the handler on: mainstay's own frames say nothing to the user."""
    frames = error.__traceback__.tb_next if error.__traceback__ else None
    return clean("".join(traceback.format_exception(type(error), error, frames)), TRACEBACK)
