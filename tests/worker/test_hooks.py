"""Hooks are told what happens to jobs, and change nothing; middleware runs around each attempt, where its handler runs."""

import asyncio
import threading
from contextvars import ContextVar

import pytest

from mainstay import Draft, JobEvent, Mainstay, Permanent, Retry, Snooze, UsageError, ctx
from mainstay.testing import Trial
from mainstay.worker import hook_runner
from tests.waiting import eventually
from tests.worker.conftest import everywhere, installed, settled


@pytest.fixture
def app():
    return Mainstay("sqlite:///:memory:")


def listen(hooked, told):
    """Note every hook of an application or a type."""
    for name in ("start", "complete", "failed", "progress"):
        getattr(hooked, f"on_{name}")(lambda event, name=name: told.append((name, event)))


def test_hooks_follow_the_life_of_a_job(app):
    told: list[tuple[str, JobEvent]] = []
    listen(app, told)

    @app.job(queue="mail", retry=Retry(3, base="1ms"))
    def work() -> dict:
        ctx.progress(1, 2)
        if ctx.attempt == 1:
            error = ValueError("no")
            error.code = "e7"
            raise error
        return {"pages": 2}

    with app.worker(concurrency=1):
        job = work.options(priority=4).enqueue()
        job.result(timeout=30)
    assert [name for name, _ in told] == ["start", "progress", "failed", "start", "progress", "complete"]
    assert {(event.id, event.type, event.queue, event.priority) for _, event in told} == {(job.id, "work", "mail", 4)}
    start, progress, failed, _, _, complete = (event for _, event in told)
    assert (start.attempt, start.max_attempts, start.state, start.seconds) == (1, 3, "running", None)
    assert (progress.done, progress.total) == (1, 2)
    assert (failed.state, failed.error, failed.code, failed.final) == ("scheduled", "ValueError: no", "e7", False)
    assert (complete.state, complete.attempt, complete.result) == ("completed", 2, {"pages": 2})
    assert complete.seconds >= 0
    assert start.created_at <= start.started_at <= complete.started_at


def test_a_final_failure_says_so_and_no_other_end_is_a_failure(app):
    told = []
    listen(app, told)

    @app.job
    def work(how: str) -> None:
        raise Permanent("never", code="gone") if how == "dead" else Snooze("1h")

    with app.testing() as kit:
        work.enqueue("dead")
        work.enqueue("snooze")
        kit.drain(retries=False, raises=False)
    assert [(name, event.final, event.code) for name, event in told if name != "start"] == [("failed", True, "gone")]


def test_a_hook_of_a_type_hears_of_its_jobs_only_also_under_an_alias(app):
    of_app, of_type = [], []

    @app.job(aliases=["once"])
    def work() -> None: ...

    @app.job
    def other() -> None: ...

    listen(app, of_app)
    listen(work, of_type)
    with app.testing() as kit:
        work.enqueue()
        other.enqueue()
        app.store.enqueue([Draft("once", "{}")], app.clock.now())  # of a program with the old name
        kit.drain()
    assert sorted(event.type for name, event in of_type if name == "complete") == ["once", "work"]
    assert sorted(event.type for name, event in of_app if name == "complete") == ["once", "other", "work"]


def test_async_hooks_are_awaited(app):
    told = []

    @app.on_complete
    async def note(event):
        await asyncio.sleep(0)
        told.append(event.id)

    @app.job
    def work() -> None: ...

    @app.job
    async def awaited() -> None: ...

    with app.testing() as kit:
        jobs = [work.enqueue().id, awaited.enqueue().id]
        kit.drain()
    assert sorted(told) == sorted(jobs)


@pytest.mark.parametrize("error", [ValueError("in the hook"), SystemExit(3)])
def test_a_hook_that_raises_is_reported_and_changes_nothing(app, capfd, error):
    told = []

    @app.on_complete
    def broken(event):
        raise error

    app.on_complete(lambda event: told.append(event.id))

    @app.job
    def work() -> int:
        return 7

    with app.worker(concurrency=1):
        jobs = [work.enqueue() for _ in range(2)]
        assert [job.result(timeout=30) for job in jobs] == [7, 7]
    assert sorted(told) == sorted(job.id for job in jobs)
    text = capfd.readouterr().err
    assert "the hook on_complete" in text
    assert "broken failed" in text


def test_a_hook_that_hangs_holds_up_no_job(app, monkeypatch, capfd):
    monkeypatch.setattr(hook_runner, "GRACE", 0.1)
    monkeypatch.setattr(hook_runner, "WAITING", 2)
    hangs, gate = threading.Event(), threading.Event()

    @app.on_start
    def hang(event):
        hangs.set()
        gate.wait(60)

    @app.job
    def work() -> None: ...

    with app.worker(concurrency=1):
        jobs = [work.enqueue() for _ in range(8)]
        for job in jobs:
            job.result(timeout=30)
        assert hangs.wait(30)
    gate.set()
    eventually(lambda: "mainstay-hooks" not in {each.name for each in threading.enumerate()}, "its thread ends")
    assert "calls were left out" in capfd.readouterr().err


def test_two_workers_of_one_application_tell_each_event_once(app):
    told = []

    @app.job
    def work() -> None: ...

    listen(app, told)
    with app.worker(concurrency=1), app.worker(concurrency=1):
        for job in [work.enqueue() for _ in range(10)]:
            job.result(timeout=30)
    assert sorted(name for name, _ in told) == ["complete"] * 10 + ["start"] * 10


def test_without_hooks_there_is_no_listener_and_no_thread(app):
    @app.job
    def work() -> None: ...

    with app.worker(concurrency=1):
        assert not any(app.events.listeners(name) for name in ("started", "stored", "progress"))
        assert "mainstay-hooks" not in {thread.name for thread in threading.enumerate()}
        assert work.handler is work.function


HOOKED = """
import os

from jobs import app, mark


@app.job(process=True)
def hooked() -> None:
    mark("hooked", os.getpid())


@hooked.middleware
def noted():
    mark("before", os.getpid())
    yield
    mark("after", os.getpid())


hooked.on_start(lambda event: mark("on_start", os.getpid()))
hooked.on_complete(lambda event: mark("on_complete", os.getpid()))
"""


@everywhere
def test_hooks_hear_of_process_slots_and_middleware_runs_in_them(jobs, folder, journal):
    (folder / "hooked.py").write_text(HOOKED, encoding="utf-8")
    with installed(folder, "hooked") as module, jobs.app.worker(concurrency=1):
        settled(jobs.app, module.hooked.enqueue(), "completed")
    lines = [line.split() for line in journal.lines()]
    assert sorted(words[0] for words in lines) == ["after", "before", "hooked", "on_complete", "on_start"]
    where = {words[0]: words[1] for words in lines}
    assert where["before"] == where["hooked"] == where["after"] != where["on_start"]


# middleware ---------------------------------------------------------------------------------------------------------

TENANT: ContextVar[str | None] = ContextVar("tenant", default=None)


def test_middleware_runs_around_each_attempt_the_application_outermost(app):
    steps = []

    @app.job
    def work() -> str:
        steps.append(f"work for {TENANT.get()}")
        return "done"

    @work.middleware
    def inner():
        steps.append("inner in")
        yield
        steps.append("inner out")

    @app.middleware
    def outer():
        steps.append("outer in")
        held = TENANT.set(ctx.tenant)
        try:
            yield
        finally:
            TENANT.reset(held)
            steps.append("outer out")

    with app.testing() as kit:
        job = work.options(tenant="acme").enqueue()
        kit.drain()
        assert job.result(timeout=1) == "done"
    assert steps == ["outer in", "inner in", "work for acme", "inner out", "outer out"]
    steps.clear()
    assert Trial(work, tenant="zeta").run() == "done"
    assert steps[2] == "work for zeta"
    steps.clear()
    assert work() == "done"
    assert steps == ["work for None"], "a plain call stays a plain call"


def test_middleware_that_is_registered_later_holds_from_the_next_attempt_on(app):
    steps = []

    @app.job
    def work() -> None:
        steps.append("work")

    def noted():
        steps.append("before")
        yield

    with app.testing() as kit:
        for hooked in (None, app, work):
            if hooked is not None:
                hooked.middleware(noted)
            work.enqueue()
            kit.drain()
    assert steps == ["work", "before", "work", "before", "before", "work"]


def test_middleware_of_async_handlers_may_be_async(app):
    steps = []

    @app.middleware
    async def awaited():
        await asyncio.sleep(0)
        steps.append("async in")
        yield
        steps.append("async out")

    @app.middleware
    def plain():
        steps.append("in")
        yield
        steps.append("out")

    @app.job
    async def work() -> None:
        steps.append("work")

    @app.job
    def sync() -> None:
        steps.append("sync")

    with app.testing() as kit:
        work.enqueue()
        kit.drain()
        assert steps == ["async in", "in", "work", "out", "async out"]
        steps.clear()
        sync.enqueue()
        kit.drain()
        assert steps == ["in", "sync", "out"], "async middleware does not fit a plain handler"


def test_what_middleware_raises_is_the_failure_and_it_sees_what_the_handler_raises(app):
    seen = []

    @app.job(retry=1)
    def work(how: str) -> None:
        raise KeyError(how)

    @work.middleware
    def guard():
        try:
            yield
        except KeyError as error:
            seen.append(error.args[0])
            raise PermissionError("not allowed") from error

    with app.testing() as kit:
        job = work.enqueue("a")
        kit.drain(raises=False)
        assert app.get(job.id).error == "PermissionError: not allowed"
    assert seen == ["a"]


def test_wrong_hooks_and_middleware_are_refused(app):
    @app.job
    def work() -> None: ...

    async def awaited():
        yield

    with pytest.raises(UsageError, match="needs a function that takes a JobEvent"):
        app.on_failed("mail")
    with pytest.raises(UsageError, match="generator function"):
        app.middleware(lambda: None)
    with pytest.raises(UsageError, match="plain function: its middleware cannot be async"):
        work.middleware(awaited)
    assert (app.hooks, app.middlewares, work.middlewares) == ({}, (), ())
