"""One attempt: decodes the payload, calls the handler and returns the outcome. Never raises, and writes nothing."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any, cast

from .. import redacting
from ..context import Context, current
from ..core import outcome as ended
from ..core.codec import encode_result
from ..core.errors import InvalidPayload
from ..core.failures import error_code, retry_after
from ..core.outcome import COMPLETED, Outcome
from ..core.retry import Undecided
from ..stores.outbox import alet_go, let_go

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..batch_context import BatchContext
    from ..registry import JobType
    from .batches import BatchExecution
    from .in_flight import Execution

_OURS = ("builtins", "__main__", "mainstay")  # modules that are left out in front of an exception's name
ERROR, TRACEBACK = 2_000, 60_000  # characters kept


def run(execution: Execution, context: Context) -> Outcome:
    """Call a plain handler and return its outcome."""
    type = execution.type
    if type.batch is not None:
        from . import batch_runner  # here: it imports this module

        return batch_runner.run(cast("BatchExecution", execution), cast("BatchContext", context))
    try:
        job = execution.job
        if job.version == type.version:  # nearly always: saves the hot path a call
            arguments = type.schema.decode(job.payload)
        else:
            arguments = type.arguments(job.payload, job.version)
    except BaseException as error:  # noqa: BLE001  (memory runs out, or a signal comes)
        return undecoded(error)
    held = current.set(context)
    try:
        return success(context, type.handler(**arguments))
    except BaseException as error:  # noqa: BLE001  (whatever a handler raises is its outcome)
        return failure(type, context, error)
    finally:
        current.reset(held)
        if context.completed_in is not None:
            let_go(context.completed_in)


async def arun(execution: Execution, context: Context, end: Callable[[Execution, Outcome], None]) -> None:
    """Await an async handler and pass its outcome to `end`. One coroutine only: this is the hot path of the loop."""
    current.set(context)  # the task has a context of its own: nothing to reset
    if execution.type.batch is not None:
        from . import batch_runner

        await batch_runner.arun(cast("BatchExecution", execution), cast("BatchContext", context), end)
        return
    try:
        arguments = execution.type.arguments(execution.job.payload, execution.job.version)
    except BaseException as error:  # noqa: BLE001  (memory runs out, or a signal comes)
        end(execution, undecoded(error))
        return
    try:
        outcome = success(context, await execution.type.handler(**arguments))
    except BaseException as error:  # noqa: BLE001  (whatever a handler raises is its outcome)
        outcome = failure(execution.type, context, error)
    try:
        if context.completed_in is not None:
            await alet_go(context.completed_in)
    finally:  # it may be interrupted once more while it waits: a second reason to stop
        end(execution, outcome)


def undecoded(error: BaseException) -> Outcome:
    """Return the outcome of a payload that was not decoded. If the handler does not take it, a retry would not change that."""
    if isinstance(error, InvalidPayload):
        return Outcome("failed", error=described(error), retry=False, reason=ended.INVALID)
    return Outcome("failed", error=described(error), traceback=_trace(error))


def success(context: Context, value: Any) -> Outcome:
    """Return the outcome of a handler that returned."""
    if context.lines is not None:
        context.end_log()
    if context.completed_in is not None:
        return Outcome("completed in transaction")
    if value is None and not context.children:
        return COMPLETED
    try:
        return Outcome("completed", result=encode_result(value), children=context.children)
    except InvalidPayload as error:
        return Outcome("failed", error=described(error), retry=False, reason="its result cannot be stored")


def failure(type: JobType[..., Any, Any], context: Context, error: BaseException) -> Outcome:
    """Return the outcome of a handler that raised."""
    if context.lines is not None:
        context.end_log()
    because = context.cancelled_because
    if isinstance(error, ended.Stopping) or (context.stopping and because is None and _interrupted(error)):
        return ended.RELEASED
    if because is not None and (isinstance(error, ended.Cancelled) or _interrupted(error)):
        return ended.CANCELLED._replace(reason=because)
    try:
        return _signalled(context, error) if isinstance(error, ended.Signal) else _failed(type, error)
    except Exception as worse:  # noqa: BLE001  (e.g. a proposed output that is not JSON: then that is the failure)
        return _failed(type, worse)


def _failed(type: JobType[..., Any, Any], error: BaseException) -> Outcome:
    code, trace = _code(error), _trace(error)
    try:
        retry = type.retry.retryable(error)
    except Undecided as undecided:  # a mistake in the policy must not end the job
        text = f"{described(error)} ({undecided})"
        return Outcome("failed", error=redacting.kept(text, ERROR), traceback=trace + _trace(undecided), code=code)
    reason = None if retry else f"{_name(error)} is final for {type.name}"
    return Outcome(
        "failed",
        error=described(error),
        traceback=trace,
        retry=retry,
        reason=_stored(reason),
        code=code,
        delay=retry_after(error),
    )


def _signalled(context: Context, error: ended.Signal) -> Outcome:
    code = _code(error)
    if isinstance(error, ended.Snooze):
        return Outcome("snoozed", reason=_stored(error.reason), delay=error.delay, code=code)
    if isinstance(error, ended.Review):
        output = encode_result(error.output)
        asked, children = _stored(error.question), context.children
        return Outcome("review", reason=asked, result=output, code=code, review=error.terms, children=children)
    if isinstance(error, ended.Cancel):
        return Outcome("cancelled", reason=_stored(error.reason), code=code)
    trace = _trace(error)
    return Outcome("failed", error=described(error), traceback=trace, retry=False, reason="permanent", code=code)


def _code(error: BaseException) -> str | None:
    """Return the code of an exception; None for one with a secret in it."""
    code = error_code(error)
    return code if code is None or redacting.redactor().text(code) == code else None


def _interrupted(error: BaseException) -> bool:
    return type(error).__name__ == "CancelledError"  # by name: plain handlers do not import asyncio


def described(error: BaseException) -> str:
    """Return an exception in one line: its class and message."""
    text = _text(error)
    return redacting.kept(f"{_name(error)}: {text}" if text else _name(error), ERROR)


def _stored(text: Any) -> str | None:
    """Return a handler's reason in a form that can be stored; None if there is none."""
    return redacting.kept(_text(text), ERROR) if text else None


def _text(value: Any) -> str:
    """Return a value as text, even if its own `__str__` fails."""
    try:
        return str(value)
    except BaseException as error:  # noqa: BLE001  (a user's __str__ may do anything)
        return f"(its __str__ raised {type(error).__name__})"


def _name(error: BaseException) -> str:
    name, module = type(error).__qualname__, _text(type(error).__module__)
    return name if module.partition(".")[0] in _OURS else f"{module}.{name}"


def _trace(error: BaseException) -> str:
    """Return the traceback from the handler on, without mainstay's own frames."""
    frames = error.__traceback__.tb_next if error.__traceback__ else None
    return kept("".join(traceback.format_exception(type(error), error, frames)))


def kept(trace: str) -> str:
    """Return a traceback as it is stored: without secrets, and not too long."""
    return redacting.kept(trace, TRACEBACK)
