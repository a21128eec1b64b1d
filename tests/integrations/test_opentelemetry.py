"""Traced applications: one trace from the enqueue to the end of the job, over retries, children, processes and batches."""

import asyncio
import subprocess
import sys

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from mainstay import Cancel, Mainstay, Retry, Review, Snooze, ctx
from mainstay.core.errors import UsageError
from mainstay.integrations.opentelemetry import instrument
from tests.servers.engines import ONE_OF_EACH

pytestmark = pytest.mark.engines(*ONE_OF_EACH)


@pytest.fixture(scope="module")
def traced():
    """A provider, and the spans that have ended."""
    spans, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    return provider, spans


@pytest.fixture
def app(engine_url, traced):
    app = Mainstay(engine_url)
    instrument(app, traced[0])
    yield app
    app.close()


@pytest.fixture
def spans(traced):
    """Return the spans by name, in the order in which they began."""
    traced[1].clear()
    return lambda: sorted(traced[1].get_finished_spans(), key=lambda span: span.start_time)


def drained(app):
    return app.drain(max_seconds=20)


def test_one_trace_leads_from_the_enqueue_to_the_end_over_a_retry(app, spans):
    @app.job(name="mail", retry=Retry(3, base="0s", jitter=False))
    def mail(to: str) -> None:
        if ctx.attempt == 1:
            raise ConnectionError("no route")

    handle = mail.enqueue("ada")
    while handle.state != "completed":
        drained(app)
    sent, first, second = spans()
    assert [span.name for span in (sent, first, second)] == ["send mail", "process mail", "process mail"]
    assert {span.context.trace_id for span in (sent, first, second)} == {sent.context.trace_id}
    assert first.parent.span_id == second.parent.span_id == sent.context.span_id
    assert (sent.kind, first.kind) == (SpanKind.PRODUCER, SpanKind.CONSUMER)
    assert dict(sent.attributes) == {
        "messaging.system": "mainstay", "messaging.operation.name": "send", "messaging.operation.type": "send",
        "messaging.destination.name": "default", "mainstay.job.type": "mail", "messaging.message.id": handle.id,
        "mainstay.job.created": True,
    }  # fmt: skip
    assert (first.attributes["mainstay.job.attempt"], second.attributes["mainstay.job.attempt"]) == (1, 2)
    assert (first.status.status_code, first.attributes["error.type"]) == (StatusCode.ERROR, "ConnectionError")
    assert first.events[0].name == "exception"
    assert (second.status.status_code, second.attributes["mainstay.job.outcome"]) == (StatusCode.UNSET, "completed")
    assert second.attributes["messaging.message.id"] == handle.id


def test_children_belong_to_the_trace_of_their_parent_s_attempt(app, spans):
    @app.job(name="child")
    async def child() -> None:
        await asyncio.sleep(0)

    @app.job(name="parent")
    def parent() -> None:
        ctx.enqueue(child.prepare())

    parent.enqueue()
    drained(app)
    drained(app)
    sent, ran, followed = spans()
    assert followed.name == "process child"
    assert followed.parent.span_id == ran.context.span_id
    assert followed.context.trace_id == sent.context.trace_id


def test_jobs_that_are_enqueued_together_share_a_span_and_a_batch_links_to_it(app, spans):
    @app.job(name="batched", batch=10, wait="0s")
    def batched(items: list[int]) -> None: ...

    app.enqueue_many(batched.prepare(n) for n in range(3))
    drained(app)
    sent, ran = spans()
    assert sent.attributes["messaging.batch.message_count"] == ran.attributes["messaging.batch.message_count"] == 3
    assert [link.context.span_id for link in ran.links] == [sent.context.span_id] * 3
    assert ran.parent is None


@pytest.mark.parametrize(
    ("raised", "outcome"), [(Snooze("1h"), "snoozed"), (Review("pay?"), "review"), (Cancel(), "cancelled")]
)
def test_what_is_no_error_is_none_in_the_trace(app, spans, raised, outcome):
    @app.job(name="work")
    def work() -> None:
        raise raised

    work.enqueue()
    drained(app)
    ran = spans()[-1]
    assert (ran.attributes["mainstay.job.outcome"], ran.status.status_code) == (outcome, StatusCode.UNSET)
    assert not ran.events


def test_a_job_of_a_producer_that_is_not_traced_begins_a_trace(app, spans):
    @app.job(name="work")
    def work() -> str | None:
        return ctx.trace

    plain = Mainstay(store=app.store)
    handle = plain.enqueue("work")
    drained(app)
    (ran,) = spans()
    assert (ran.parent, handle.result(5)) == (None, None)


def test_a_copy_of_a_draft_is_of_the_span_that_enqueues_it(app, spans):
    @app.job(name="work")
    def work() -> None: ...

    draft = work.prepare()
    first, second = app.enqueue(draft), app.enqueue(draft)
    traces = [app.get(job).trace for job in (first, second)]
    assert [int(text.split("-")[2], 16) for text in traces] == [span.context.span_id for span in spans()]


def test_an_awaited_enqueue_is_traced(app, spans):
    @app.job(name="work")
    def work() -> None: ...

    asyncio.run(work.aenqueue())
    assert [span.name for span in spans()] == ["send work"]


def test_a_trace_is_moved_and_exported_with_its_job(app, spans):
    @app.job(name="work")
    def work() -> None: ...

    handle = work.enqueue()
    (record,) = app.store.export_jobs([handle.id])
    assert record.job.trace == app.get(handle).trace
    assert record.job.trace.startswith("00-")


def test_an_application_is_traced_once(app):
    with pytest.raises(UsageError, match="once"):
        instrument(app)


def test_nothing_is_loaded_unless_it_is_used():
    code = "import sys, mainstay; mainstay.Mainstay('sqlite:///:memory:'); print([m for m in sys.modules if 'telemetry' in m])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


def test_a_span_has_no_secrets(app, spans):
    @app.job(name="mail", retry=1)
    def mail() -> None:
        raise ConnectionError("refused with password=hunter2")

    mail.enqueue()
    drained(app)
    _, failed = spans()
    assert "hunter2" not in failed.to_json()
    assert failed.status.description == "ConnectionError: refused with password=[redacted:password]"
