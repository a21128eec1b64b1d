"""One call of a batch handler: decodes the payloads, calls the handler and ends each job in its own way. Never raises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..context import Context, current
from ..core.batch import ITEM, results
from ..core.outcome import COMPLETED, Outcome
from ..stores.outbox import alet_go, let_go
from .runner import failure, success, undecoded

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..batch_context import BatchContext
    from ..registry import JobType
    from .batches import BatchExecution
    from .in_flight import Execution


def run(batch: BatchExecution, context: BatchContext) -> Outcome:
    """Call a plain handler and end its jobs. What it returns is for the executor only: a batch has no outcome."""
    arguments = _arguments(batch, context)
    held = current.set(context)
    try:
        outcomes = _outcomes(batch, context, batch.type.handler(**arguments)) if batch.members else []
    except BaseException as error:  # noqa: BLE001  (whatever a handler raises is the outcome of its jobs)
        outcomes = _failures(batch, context, error)
    finally:
        current.reset(held)
        for tx in _transactions(context):
            let_go(tx)
    _end_all(batch, outcomes)
    return COMPLETED


async def arun(batch: BatchExecution, context: BatchContext, end: Callable[[Execution, Outcome], None]) -> None:
    """Await an async handler, end its jobs, and tell the executor by `end`."""
    arguments = _arguments(batch, context)
    try:
        outcomes = _outcomes(batch, context, await batch.type.handler(**arguments)) if batch.members else []
    except BaseException as error:  # noqa: BLE001  (whatever a handler raises is the outcome of its jobs)
        outcomes = _failures(batch, context, error)
    try:
        for tx in _transactions(context):
            await alet_go(tx)
    finally:  # as `runner.arun` does
        _end_all(batch, outcomes)
        end(batch, COMPLETED)


def _arguments(batch: BatchExecution, context: BatchContext) -> dict[str, Any]:
    """Return the handler's only argument, the list of items. A job whose payload is not decoded ends here; the others go on."""
    items, decoded = [], []
    for member in batch.members:
        try:
            items.append(member.type.arguments(member.job.payload, member.job.version)[ITEM])
            decoded.append(member)
        except BaseException as error:  # noqa: BLE001  (memory runs out, or a signal comes)
            batch.end(member, undecoded(error))
    batch.members = decoded
    context.batch = tuple(member.context for member in decoded if member.context is not None)
    return {batch.type.batch.parameter: items}


def _outcomes(batch: BatchExecution, context: BatchContext, returned: Any) -> list[Outcome]:
    entries = results(batch.type.batch, returned, len(batch.members))
    return [_outcome(batch.type, each, entry) for each, entry in zip(context.batch, entries, strict=True)]


def _outcome(type: JobType[..., Any, Any], context: Context, entry: Any) -> Outcome:
    """Return the outcome of one job: its entry in what the handler returned is a result, or an exception."""
    trace = entry.__traceback__ if isinstance(entry, BaseException) else None
    try:
        if isinstance(entry, BaseException):
            raise entry  # noqa: TRY301  (adds this frame to its traceback, as a call of the handler does)
        return success(context, entry)
    except BaseException as error:  # noqa: BLE001  (as if the handler had raised it)
        return failure(type, context, error)
    finally:
        if isinstance(entry, BaseException):
            entry.__traceback__ = trace  # it may be the entry of several jobs


def _failures(batch: BatchExecution, context: BatchContext, error: BaseException) -> list[Outcome]:
    """Return the outcomes of a handler that raised: the same for each job, but for the children that wait for a review."""
    outcome = failure(batch.type, context, error)
    if outcome.kind != "review":
        return [outcome] * len(batch.members)
    return [outcome._replace(children=each.children) for each in context.batch]


def _end_all(batch: BatchExecution, outcomes: list[Outcome]) -> None:
    for member, outcome in zip(batch.members, outcomes, strict=True):
        batch.end(member, outcome)


def _transactions(context: BatchContext) -> list[object]:
    """Return the transactions in which jobs were completed, each once."""
    found = [each.completed_in for each in context.batch if each.completed_in is not None]
    return list({id(tx): tx for tx in found}.values())
