"""Handlers that a stopping worker cannot stop: no attempt begins beside them, and they cost neither an attempt nor a crash."""

import gc
import os
import threading

import pytest

from mainstay.core.errors import StoreUnavailable
from mainstay.worker import outcome_buffer
from tests.waiting import eventually
from tests.worker.conftest import ended, everywhere, terminate

UNSTOPPABLE = ["plain", "stubborn", "blocks"]
LINGERS = """
import json, sys, jobs
from mainstay.worker.shutdown import exit_process
jobs.app.worker(**json.loads(sys.argv[1])).run()
jobs.mark("stopped")
jobs.wait_at("exit")
exit_process(0)
"""


def outcomes(app, handle):
    return [tried.outcome for tried in app.attempts(handle.id)]


def others_work(jobs):
    """A job that was enqueued later has run: whatever could be claimed before it was claimed."""
    return jobs.whoami.enqueue().result(timeout=20)


@everywhere
@pytest.mark.parametrize("kind", UNSTOPPABLE)
def test_the_next_attempt_begins_when_the_process_has_ended(jobs, start, journal, folder, kind):
    handle = getattr(jobs, kind).enqueue("late")
    process = start(LINGERS, '{"grace": 0}')
    journal.wait(f"started {kind}")
    terminate(process)
    journal.wait("stopped")
    with jobs.app.worker():
        assert others_work(jobs)
        assert (handle.state, len(journal.lines(f"started {kind}"))) == ("running", 1)
        (folder / "exit").touch()
        assert ended(process) == (0, "")
        journal.wait(f"started {kind}", 2)
        (folder / "late").touch()
        handle.result(timeout=20)
    assert (handle.job().attempt, outcomes(jobs.app, handle)) == (1, ["completed"])


@everywhere
def test_a_process_on_another_machine_costs_no_crash_either(jobs, start, journal, folder, monkeypatch):
    """Its lock cannot be seen, so its lease ends first."""
    jobs.app.store.counts(1)
    handle = jobs.plain.enqueue("late")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    process = start(LINGERS, '{"grace": 0, "lease": "1s"}')
    journal.wait("started plain")
    terminate(process)
    journal.wait("stopped")
    process.kill()
    with jobs.app.worker():
        journal.wait("started plain", 2)
        (folder / "late").touch()
        assert handle.result(timeout=20) == "plain"
    assert (handle.job().attempt, outcomes(jobs.app, handle)) == (1, ["completed"])
    eventually(lambda: notes(jobs.app) == [], "the note to be removed")


def notes(app):
    return [row for row in app.store.export_rows("settings", None, 100).rows if str(row[0]).startswith("released")]


@everywhere
@pytest.mark.parametrize("kind", UNSTOPPABLE)
def test_in_a_program_that_goes_on_the_handler_finishes_its_job(jobs, journal, folder, kind):
    left = []
    jobs.app.events.on("left", lambda job: left.append(job.id))
    with jobs.app.worker(grace=0, lease="1s") as stopped:
        handle = getattr(jobs, kind).enqueue("late")
        journal.wait(f"started {kind}")
    assert left == [handle.id]
    with jobs.app.worker() as other:
        since = jobs.app.clock.now()
        eventually(lambda: renewed(jobs.app, stopped) > since + 1_000, "a lease's time to pass", 20)
        assert others_work(jobs)
        assert (handle.state, len(journal.lines(f"started {kind}"))) == ("running", 1)
        (folder / "late").touch()
        handle.result(timeout=20)
        eventually(lambda: [each.id for each in jobs.app.store.workers()] == [other.id], "the first to deregister")
    assert (len(journal.lines(f"started {kind}")), outcomes(jobs.app, handle)) == (1, ["completed"])
    assert notes(jobs.app) == []


def renewed(app, worker):
    return next((seen.beat_at for seen in app.store.workers() if seen.id == worker.id), 0)


def test_what_ended_in_time_is_stored_before_the_stop_returns(jobs, journal, folder):
    with jobs.app.worker(grace=0):
        handle = jobs.plain.enqueue("late")
        journal.wait("started plain")
        done = jobs.app.enqueue_many(jobs.counts.prepare(n) for n in range(50))
        journal.wait("did", 50)
    assert {each.state for each in done} == {"completed"}
    assert handle.state == "running"


def test_a_cancelled_job_whose_handler_was_left_is_cancelled(jobs, start, journal, folder):
    handle = jobs.plain.enqueue("late")
    process = start(LINGERS, '{"grace": 0}')
    journal.wait("started plain")
    terminate(process)
    journal.wait("stopped")
    assert jobs.app.cancel(handle.id) == "cancelling"
    (folder / "exit").touch()
    ended(process)
    with jobs.app.worker():
        eventually(lambda: handle.state == "cancelled", "the sweep to free it")


FORGETS = """
import gc, jobs
handle = jobs.forgotten.options(timeout=0.1).enqueue()
with jobs.app.worker(grace=0):
    try:
        handle.result(timeout=20)
    except Exception as error:
        jobs.mark(type(error).__name__)
gc.collect()
jobs.mark("outside")
"""


def test_asyncio_prints_nothing_when_a_worker_stops(jobs, start, journal):
    """Neither about a handler that was given up, nor about a task that it left behind."""
    process = start(FORGETS)
    journal.wait("outside")
    assert ended(process) == (0, "")
    gc.collect()


def test_an_outcome_that_is_decided_while_the_worker_stops_is_stored(jobs, monkeypatch):
    """Between the end of a handler and the buffer of outcomes lies a moment."""
    deciding, go_on = threading.Event(), threading.Event()
    decide = outcome_buffer.decide

    def slow(*given):
        deciding.set()
        go_on.wait(20)
        return decide(*given)

    monkeypatch.setattr(outcome_buffer, "decide", slow)
    worker = jobs.app.worker(grace=0).start()
    handle = jobs.whoami.enqueue()
    assert deciding.wait(20)
    step, steps = worker.claimer.step, []

    def counted(now):
        steps.append(now)
        if len(steps) == 2:  # of the stop: the first finds nothing to store
            go_on.set()
        return step(now)

    worker.claimer.step = counted
    worker.stop()
    state = handle.state
    go_on.set()
    assert state == "completed"


@pytest.mark.engines("sqlite", "postgres18")  # on Redis a job comes with its notification, by another call
@pytest.mark.usefixtures("engine")
def test_a_claim_whose_reply_is_lost_while_the_worker_stops_is_released(jobs, journal, folder):
    """The worker holds the job until its last handler ends: nobody else would free it."""
    worker, claim = jobs.app.worker(grace=0), jobs.app.store.claim

    def losing(*given, **named):
        claims = claim(*given, **named)
        if claims.jobs:
            jobs.app.store.claim, worker.registration.stopping = claim, True
            raise StoreUnavailable("the reply is lost")
        return claims

    worker.start()
    late = jobs.plain.enqueue("late")
    journal.wait("started plain")
    jobs.app.store.claim = losing
    handle = jobs.app.enqueue_many([jobs.whoami.prepare()])[0]
    eventually(lambda: worker.registration.stopping, "the claim")
    worker.stop()
    assert (handle.state, late.state) == ("queued", "running")
    (folder / "late").touch()
    late.result(timeout=20)
    eventually(lambda: not worker.services, "the worker to end")


@pytest.mark.parametrize("kind", ["forks_in_a_thread", "forks_in_a_task"])
def test_a_copy_that_a_handler_forks_ends_with_the_handler_and_runs_no_other_job(jobs, start_worker, kind):
    forking = [getattr(jobs, kind).enqueue() for _ in range(2)]
    start_worker(concurrency=1)
    assert [handle.result(timeout=20) for handle in forking] == [0, 0]


def test_a_worker_that_is_made_before_a_fork_runs_in_the_child(jobs, tmp_path):
    """As a server does that loads the application before it forks."""
    worker = jobs.app.worker(concurrency=1)
    child = os.fork()
    if not child:
        try:
            with worker:
                results = [jobs.plain.enqueue().result(timeout=20) for _ in range(2)]
            (tmp_path / "done").write_text(str(len(results)), encoding="ascii")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert (tmp_path / "done").read_text(encoding="ascii") == "2"
