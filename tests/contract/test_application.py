"""What an application reads about its jobs, and running an ended one again, on each engine."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from mainstay import Conflict, Mainstay, NotFound, Permanent, Review, ctx
from mainstay.testing.kit import InlineWorker


@pytest.fixture
def app(store, clock):
    return Mainstay(store=store, clock=clock)


@pytest.fixture
def run(app):
    """Run what is due."""

    def run():
        InlineWorker(app).drain()

    return run


def moment(clock):
    return datetime.fromtimestamp(clock.now() / 1000, UTC)


def test_a_job_has_python_values(app, clock, run):
    @app.job(timeout="90s", keep="2d", tags=["eu"])
    def add(a: int, b: int) -> dict[str, int]:
        ctx.progress(1, 4)
        ctx.log("adding", a=a)
        return {"sum": a + b}

    handle = add.enqueue(1, b=2)
    created = moment(clock)
    waiting = app.get(handle.id)
    assert (waiting.args, waiting.result, waiting.progress) == ({"a": 1, "b": 2}, None, None)
    assert json.loads(waiting.payload) == waiting.args
    assert (waiting.created_at, waiting.started_at) == (created, None)
    clock.advance(5)
    run()
    job = handle.job()
    assert (job.state, job.result, job.progress) == ("completed", {"sum": 3}, 0.25)
    assert (job.created_at, job.started_at, job.finished_at) == (created, moment(clock), moment(clock))
    assert (job.timeout, job.keep, job.expires_at) == (
        timedelta(seconds=90), timedelta(days=2), moment(clock) + timedelta(days=2),
    )  # fmt: skip
    assert job == app.get(handle) == app.list("type:add")[0]
    assert repr(job) == f"<Job {handle.id} add completed, attempt 1 of 3>"


def test_attempts_log_lines_and_actions_have_datetimes(app, clock, run):
    @app.job
    def fail() -> None:
        ctx.log("about to fail")
        raise Permanent("no")

    handle = fail.enqueue()
    run()
    (attempt,), (line,) = app.attempts(handle), app.logs(handle)
    assert (attempt.started_at, attempt.ended_at, line.at) == (moment(clock),) * 3
    app.retry(handle)
    (action,) = app.actions(handle)
    assert (action.at, action.action) == (moment(clock), "retry")


def test_the_proposed_result_of_a_review_can_be_read(app, run):
    @app.job
    def check() -> None:
        raise Review("look", output={"pay": 7})

    handle = check.enqueue()
    run()
    assert (handle.job().state, handle.job().result) == ("review", {"pay": 7})


def test_a_completed_job_runs_again_as_a_copy(app, run):
    ran = []

    @app.job(queue="mail", timeout="7m", retry=5)
    def send(to: str) -> str:
        ran.append(to)
        return f"sent {to}"

    first = send.options(key="once", tags=["eu"], tenant="acme", ref="order/7", priority=4).enqueue("ada")
    run()
    with pytest.raises(Conflict, match=r"app\.copy"):
        app.retry(first)
    copy = app.copy(first)
    assert copy.created
    job, original = copy.job(), first.job()
    for name in ("type", "args", "queue", "priority", "timeout", "keep", "max_attempts", "tags", "tenant", "ref"):
        assert getattr(job, name) == getattr(original, name), name
    assert (job.parent, job.key, job.state) == (first.id, None, "queued")
    run()
    assert (ran, copy.job().result, original.result) == (["ada", "ada"], "sent ada", "sent ada")
    assert [found.id for found in app.list(f"parent:{first.id}")] == [copy.id]


def test_only_an_ended_job_is_copied(app):
    @app.job
    def wait() -> None: ...

    handle = wait.enqueue()
    with pytest.raises(Conflict, match="it has not ended"):
        app.copy(handle)
    with pytest.raises(NotFound):
        app.copy("0" * 26)
    app.cancel(handle)
    assert app.copy(handle).job().state == "queued"
