"""A cancel reaches the code: threads at a safe point, async code at an await, processes by SIGTERM, then SIGKILL."""

import asyncio
import threading

import pytest

from mainstay import Conflict, ResultTimeout, UsageError, ctx
from mainstay.worker import processes, slots
from tests.waiting import eventually
from tests.worker.conftest import attempt, everywhere, gone, settled

STOPS = {"reads": "from page", "reads_separately": "from page", "tidies": "started tidies"}


@everywhere
@pytest.mark.parametrize("kind", STOPS)
def test_a_cancel_stops_the_handler_and_waits_for_it(jobs, journal, kind):
    with jobs.app.worker():
        handle = getattr(jobs, kind).enqueue()
        journal.wait(STOPS[kind])
        assert handle.cancel(wait="20s") == "cancelled"
        if kind == "tidies":
            assert journal.lines("tidied")  # its cleanup came to its end
    job = handle.job()
    assert (job.state, job.reason) == ("cancelled", "cancelled on request")
    assert job.cancel_took is not None
    assert job.cancel_took.total_seconds() < 5


@everywhere
def test_a_cancel_is_noticed_within_a_second_if_the_notification_is_lost(jobs, journal):
    worker = jobs.app.worker()
    worker.listener._on_cancel = lambda: None  # type: ignore[method-assign]
    with worker:
        handle = jobs.reads.enqueue()
        journal.wait("from page")
        handle.cancel(wait="20s")
    assert handle.job().cancel_took.total_seconds() < 1.5  # 0.8 s by design; the machine may be busy


@everywhere
def test_a_worker_that_is_killed_after_the_request_ends_the_job_as_cancelled(jobs, start_worker, journal):
    handle = jobs.plain.enqueue("late")
    process = start_worker(lease="1s")
    journal.wait("started plain")
    assert handle.cancel() == "cancelling"
    process.kill()
    process.wait()
    with jobs.app.worker():
        assert settled(jobs.app, handle, "cancelled").state == "cancelled"
        jobs.whoami.enqueue().result(timeout=20)
    assert len(journal.lines("started plain")) == 1


def test_a_process_that_reaches_no_safe_point_is_interrupted_and_cleans_up(jobs, journal, monkeypatch):
    monkeypatch.setattr(processes, "SAFE_POINT", 0.05)
    monkeypatch.setattr(processes, "CANCEL_GRACE", 60.0)
    with jobs.app.worker():
        handle = jobs.sleeps_apart.enqueue()
        pid = journal.pid("started sleeps_apart")
        assert handle.cancel(wait="20s") == "cancelled"
        assert journal.lines("tidied up")
        assert attempt(jobs.app, handle).outcome == "cancelled"
        eventually(lambda: gone(pid), "its process to be replaced: it was stopped anywhere")
        assert jobs.separate.enqueue().result(timeout=20) == "separate"


def test_a_process_that_is_interrupted_nowhere_is_killed(jobs, journal, monkeypatch):
    monkeypatch.setattr(processes, "SAFE_POINT", 0.05)
    monkeypatch.setattr(processes, "CANCEL_GRACE", 0.1)
    with jobs.app.worker():
        handle = jobs.freezes.enqueue()
        pid = journal.pid("started freezes")
        assert handle.cancel(wait="20s") == "cancelled"
        assert gone(pid)


def test_a_handler_that_goes_on_ends_as_cancelled_without_result_and_children(jobs, journal):
    with jobs.app.worker():
        handle = jobs.goes_on.enqueue()
        journal.wait("started goes_on")
        assert handle.cancel(wait="20s") == "cancelled"
    assert journal.lines("caught") == ["caught Cancelled"]
    assert jobs.app.store.result(handle.id) is None
    assert jobs.app.list("type:child") == []


def test_an_error_of_the_cleanup_is_kept_and_the_job_is_cancelled(jobs, journal):
    with jobs.app.worker():
        handle = jobs.cleans_up_badly.enqueue()
        journal.wait("started cleans_up_badly")
        handle.cancel(wait="20s")
    job = handle.job()
    assert (job.state, job.reason, job.error) == (
        "cancelled", "cancelled on request", "OSError: the disk is full",
    )  # fmt: skip
    assert "the disk is full" in jobs.app.attempts(handle.id)[0].traceback


def test_a_handler_without_a_safe_point_is_reported_and_ends_as_cancelled(jobs, journal, folder, monkeypatch):
    monkeypatch.setattr(slots, "UNRESPONSIVE", 100)
    told = []
    jobs.app.events.on("unresponsive", lambda job: told.append(job.id))
    with jobs.app.worker():
        handle = jobs.plain.enqueue("late")
        journal.wait("started plain")
        handle.cancel()
        eventually(lambda: told, "the report")
        with pytest.raises(ResultTimeout, match="still runs"):
            handle.cancel(wait=0.01)
        assert handle.job().label == "cancelling"
        (folder / "late").touch()
        settled(jobs.app, handle, "cancelled")
    assert told == [handle.id]
    assert any("still runs" in line.message for line in jobs.app.logs(handle.id))


def test_hooks_hear_of_a_cancel(jobs, journal):
    heard = []
    jobs.app.on_cancel(heard.append)
    jobs.app.on_failed(heard.append)
    jobs.app.on_complete(heard.append)
    with jobs.app.worker():
        stopped, failed = jobs.reads.enqueue(), jobs.cleans_up_badly.enqueue()
        journal.wait("from page")
        journal.wait("started cleans_up_badly")
        stopped.cancel(wait="20s")
        failed.cancel(wait="20s")
    assert {(event.id, event.state, event.error) for event in heard} == {
        (stopped.id, "cancelled", None), (failed.id, "cancelled", "OSError: the disk is full"),
    }  # fmt: skip


def test_an_ended_job_is_a_conflict_and_tx_cannot_wait(jobs):
    with jobs.app.worker():
        handle = jobs.whoami.enqueue()
        handle.result(timeout=20)
        with pytest.raises(Conflict, match="has ended"):
            handle.cancel(wait="1s")
    with pytest.raises(UsageError, match="after the commit"):
        jobs.app.cancel(handle, tx=object(), wait="1s")


def test_it_can_be_awaited(jobs, journal):
    async def cancel(handle):
        return await handle.acancel(wait="20s")

    with jobs.app.worker():
        handle = jobs.reads.enqueue()
        journal.wait("from page")
        assert asyncio.run(cancel(handle)) == "cancelled"


def test_log_and_progress_are_no_safe_points(jobs):
    """A handler that logs has not said that it may be stopped there: between a payment and its record, for example."""
    asked, seen = threading.Event(), []

    @jobs.app.job
    def pays() -> None:
        asked.set()
        eventually(lambda: ctx.cancelled, "the cancel")
        with ctx.stage("pay"):
            ctx.log("paid")
            ctx.progress(1, 2)
        seen.append("recorded")
        ctx.check()
        seen.append("after the safe point")

    with jobs.app.worker():
        handle = pays.enqueue()
        assert asked.wait(20)
        handle.cancel(wait="20s")
    assert seen == ["recorded"]
