"""`ctx` knows its job, in each kind of slot: what a claim brings, and what is read from the store when a handler asks."""

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from mainstay import LeaseLost, Mainstay, UsageError, ctx
from mainstay.core.job import Labels, WorkerInfo
from mainstay.testing import Trial
from mainstay.worker.reporter import WorkerReporter
from mainstay.worker.update_buffer import UpdateBuffer
from tests.worker.conftest import everywhere

KINDS = ["knows", "knows_async", "knows_separately"]


@everywhere
@pytest.mark.parametrize("name", KINDS)
def test_a_handler_knows_its_job(jobs, name):
    type = getattr(jobs, name)
    options = {"tenant": "acme", "ref": "profile/9", "key": "k", "tags": ["eu"], "priority": 7}
    with jobs.app.worker(concurrency=2):
        job = type.options(**options).enqueue()
        found = job.result(timeout=60)
    stored = jobs.app.store.get(job.id)
    created = datetime.fromtimestamp(stored.created_at / 1000, UTC)
    assert found.pop("created_at") == created.isoformat()
    assert found == {
        "id": job.id, "type": name, "queue": "default", "attempt": 1, "max_attempts": 3, "priority": 7, "tenant": "acme",
        "ref": "profile/9", "key": "k", "tags": list(stored.tags), "parent": None,
    }  # fmt: skip
    assert found["tags"] == ["eu"]


@pytest.mark.parametrize("name", KINDS)
def test_a_job_without_labels_has_none(jobs, name):
    with jobs.app.worker(concurrency=2):
        found = getattr(jobs, name).enqueue().result(timeout=60)
    assert [found[name] for name in ("tenant", "ref", "key", "tags", "parent")] == [None, None, None, ["of-type"], None]


def test_a_handler_that_asks_nothing_reads_nothing():
    app, seen = Mainstay("sqlite:///:memory:"), []

    @app.job
    def quiet() -> str:
        return f"{ctx.id} {ctx.type} {ctx.queue} {ctx.priority} {ctx.created_at}"

    @app.job
    def curious() -> None:
        assert ctx.tenant == "acme"
        assert ctx.ref is None

    with app.testing() as kit:
        read = app.store.get
        app.store.get = lambda job: seen.append(job) or read(job)
        quiet.enqueue()
        kit.drain()
        assert seen == []
        job = curious.options(tenant="acme").enqueue()
        kit.drain()
        assert seen == [job.id], "once, however much is asked"


def test_a_child_knows_its_parent():
    app, found = Mainstay("sqlite:///:memory:"), []

    @app.job
    def child() -> None:
        found.append(ctx.parent)

    @app.job
    def parent() -> None:
        ctx.enqueue(child.prepare())

    with app.testing() as kit:
        job = parent.enqueue()
        kit.drain()
    assert found == [job.id]


def test_an_attempt_that_has_lost_its_job_is_told():
    app = Mainstay("sqlite:///:memory:")
    now = app.clock.now()
    job = app.job(name="work")(lambda: None).options(tenant="acme").enqueue()
    app.store.register(WorkerInfo("w", "h", 1, 1, ("default",), ("work",), now, now, now + 60_000, 0, stopping=False))
    (claimed,) = app.store.claim("w", {"default": ["work"]}, 1, now).jobs
    reporter = WorkerReporter(app.store, SimpleNamespace(updates=UpdateBuffer()), app.clock, None, app.events)
    assert reporter.labels(claimed) == Labels(tenant="acme")
    for lost in (claimed._replace(token=claimed.token + 1), claimed._replace(id="0" * len(job.id))):
        with pytest.raises(LeaseLost):
            reporter.labels(lost)


def test_a_trial_gives_what_it_was_given():
    app = Mainstay("sqlite:///:memory:")

    @app.job(queue="mail")
    def work() -> list:
        return [ctx.type, ctx.queue, ctx.priority, ctx.tenant, ctx.ref, ctx.key, list(ctx.tags), ctx.parent]

    trial = Trial(work, tenant="acme", ref="profile/9", key="k", tags=["eu"], parent="01JX", priority=3)
    assert trial.run() == ["work", "mail", 3, "acme", "profile/9", "k", ["eu"], "01JX"]
    assert Trial(work).run() == ["work", "mail", 0, None, None, None, [], None]


def test_a_plain_call_has_no_labels_and_no_job():
    assert (ctx.tenant, ctx.ref, ctx.key, ctx.tags, ctx.parent) == (None, None, None, (), None)
    for name in ("id", "type", "queue", "priority", "created_at", "max_attempts"):
        with pytest.raises(UsageError, match="no job runs here"):
            getattr(ctx, name)
