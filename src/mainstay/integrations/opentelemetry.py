"""OpenTelemetry: one trace from an enqueue through every attempt at the job, named by the conventions for messaging.

The span of the enqueue travels with the job as W3C traceparent. Each attempt is a child of it, wherever and whenever it runs, and so
are the jobs that a handler enqueues. A batch handler runs in one span with a link to the enqueue of each of its jobs.
"""

from __future__ import annotations

import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from opentelemetry import trace
from opentelemetry.trace import Link, SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from ..context import ctx, span
from ..core.errors import UsageError
from ..core.outcome import Cancel, Cancelled, Permanent, Review, Snooze, Stopping
from ..redacting import redactor

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from opentelemetry.trace import Span, Tracer, TracerProvider

    from ..app import Mainstay
    from ..context import Context
    from ..core.draft import Draft
    from ..handle import Handle

SYSTEM = "mainstay"
HEADER = "traceparent"
# How an attempt ends that raises one of these: no error.
OUTCOMES: dict[type[BaseException], str] = {
    Snooze: "snoozed", Review: "review", Cancel: "cancelled", Cancelled: "cancelled", Stopping: "released",
}  # fmt: skip
_propagator = TraceContextTextMapPropagator()


def instrument(app: Mainstay, tracer_provider: TracerProvider | None = None) -> None:
    """Trace what this application enqueues and runs. Without a provider, the global one is asked for its tracer."""
    if "_accept" in vars(app):
        raise UsageError("this application is traced already: call instrument(app) once")
    tracer = trace.get_tracer("mainstay", tracer_provider=tracer_provider)
    _trace_enqueues(app, tracer)

    @app.middleware
    def attempt() -> Iterator[None]:
        yield from _attempt(tracer)


# Enqueue ----------------------------------------------------------------------------------------------------------------
def _trace_enqueues(app: Mainstay, tracer: Tracer) -> None:
    """Let the application enqueue inside a span. An application that is not traced pays nothing."""
    accept, aaccept = app._accept, app._aaccept  # noqa: SLF001  (the two ways in which jobs leave an application)

    def traced(drafts: list[Draft], tx: object) -> list[Handle[Any]]:
        with _sending(tracer, drafts) as sent:
            return _told(sent, accept(drafts, tx))

    async def atraced(drafts: list[Draft], tx: object) -> list[Handle[Any]]:
        with _sending(tracer, drafts) as sent:
            return _told(sent, await aaccept(drafts, tx))

    app._accept, app._aaccept = traced, atraced  # type: ignore[method-assign]  # noqa: SLF001


@contextmanager
def _sending(tracer: Tracer, drafts: Sequence[Draft]) -> Iterator[Span]:
    """Give a span in which drafts are enqueued; each carries it."""
    types, queues = ({getattr(draft, name) for draft in drafts} for name in ("type", "queue"))
    given: dict[str, Any] = _common("send")
    if len(queues) == 1:
        given["messaging.destination.name"] = queues.pop()
    if len(types) == 1:
        given["mainstay.job.type"] = min(types)
    if len(drafts) > 1:
        given["messaging.batch.message_count"] = len(drafts)
    name = f"send {min(types)}" if len(types) == 1 else "send"
    with tracer.start_as_current_span(name, kind=SpanKind.PRODUCER, attributes=given) as sent:
        carried = _written()
        for draft in drafts:
            draft.trace = carried
        yield sent


def _told(sent: Span, handles: list[Handle[Any]]) -> list[Handle[Any]]:
    if len(handles) == 1:
        sent.set_attribute("messaging.message.id", handles[0].id)
        sent.set_attribute("mainstay.job.created", handles[0].created)
    return handles


# Attempt ----------------------------------------------------------------------------------------------------------------
def _attempt(tracer: Tracer) -> Iterator[None]:
    """Run an attempt inside a span: the middleware of a traced application."""
    jobs = ctx.batch or (ctx,)
    alone = jobs[0] if len(jobs) == 1 else None
    parent = None if alone is None else _read(alone.trace)
    links = [] if alone is not None else [Link(found) for each in jobs if (found := _context(each.trace)).is_valid]
    with tracer.start_as_current_span(
        f"process {ctx.type}", parent, SpanKind.CONSUMER, _described(jobs), links, record_exception=False, set_status_on_exception=False
    ) as running:  # fmt: skip
        before = span.set(_written())
        try:
            yield
            running.set_attribute("mainstay.job.outcome", "completed")
        except BaseException as error:
            _fail(running, error)
            raise
        finally:
            span.reset(before)


def _described(jobs: Sequence[Context]) -> dict[str, Any]:
    first = jobs[0]
    found = _common("process") | {"messaging.destination.name": first.queue, "mainstay.job.type": first.type}
    if len(jobs) > 1:
        return found | {"messaging.batch.message_count": len(jobs)}
    return found | {"messaging.message.id": first.id, "mainstay.job.attempt": first.attempt}


def _fail(running: Span, error: BaseException) -> None:
    """Say how an attempt ended that raised."""
    outcome = next((name for kind, name in OUTCOMES.items() if isinstance(error, kind)), "failed")
    running.set_attribute("mainstay.job.outcome", outcome)
    if outcome == "failed":
        running.set_attribute("error.type", "Permanent" if isinstance(error, Permanent) else type(error).__qualname__)
        redact, trace = redactor().text, "".join(traceback.format_exception(error))
        told = {"message": redact(str(error)), "stacktrace": redact(trace)}  # in place of those that it would make
        running.record_exception(error, {f"exception.{name}": text for name, text in told.items()})
        running.set_status(StatusCode.ERROR, redact(f"{type(error).__name__}: {error}"))


# The header -------------------------------------------------------------------------------------------------------------
def _common(operation: str) -> dict[str, Any]:
    return {
        "messaging.system": SYSTEM,
        "messaging.operation.name": operation,
        "messaging.operation.type": operation,
    }


def _written() -> str | None:
    """Return the current span as traceparent; None if there is none, or it is not recorded anywhere."""
    header: dict[str, str] = {}
    _propagator.inject(header)
    return header.get(HEADER)


def _read(text: str | None) -> Any:
    """Return the context in which the span of a traceparent is the current one; None where there is none."""
    return _propagator.extract({HEADER: text}) if text else None


def _context(text: str | None) -> Any:
    return trace.get_current_span(_read(text)).get_span_context() if text else trace.INVALID_SPAN_CONTEXT
