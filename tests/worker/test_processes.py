"""Process slots: a handler can neither corrupt nor outlive nor take down its worker, whatever it does (B14, B39, B67)."""

import os
import shutil
import signal
import sqlite3
import sys

import pytest

from mainstay.core.draft import Draft
from mainstay.core.errors import StoreUnavailable
from mainstay.worker import processes
from mainstay.worker.in_flight import Execution
from tests.waiting import eventually
from tests.worker.conftest import SOURCE, attempt, gone, installed, settled


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("processes")
    shutil.copy(SOURCE, folder / "jobs.py")
    return folder


@pytest.fixture(scope="module")
def jobs(folder):
    with installed(folder) as module:
        yield module


@pytest.fixture(scope="module")
def shared(jobs):
    """One worker with one process slot for most of these tests: what one of them does to it must not harm the next."""
    with jobs.app.worker(concurrency=8, process_slots=1, grace=1) as worker:
        yield worker


@pytest.fixture
def worker(shared):
    yield shared
    eventually(lambda: shared.in_flight.active == 0, "the worker to be idle again")


def test_result_notes_and_children_come_back(jobs, worker):
    handle = jobs.family.enqueue(["ann", "ben"])
    assert handle.result(timeout=20) == 2
    (line,) = jobs.app.logs(handle.id)
    assert (line.level, line.message, line.fields) == ("warning", "raising", {"count": 2})
    job = handle.job()
    assert (job.done, job.total) == (1.0, 2.0)
    children = jobs.app.list("type:child")
    assert {(born.parent, born.tags, born.priority) for born in children} == {(handle.id, ("born",), 3)}
    assert sorted(jobs.app.handle(born.id).result(timeout=20) for born in children) == ["ann", "ben"]


def test_jobs_of_an_old_name_and_version_run_too(jobs, worker):
    ((id, _),) = jobs.app.store.enqueue([Draft("apart", '{"door": ""}')], jobs.app.clock.now())
    assert jobs.app.handle(id).result(timeout=20) == "separate"


def test_one_child_serves_one_job_after_another(jobs, worker):
    pids = {jobs.surroundings.enqueue().result(timeout=20)["pid"] for _ in range(3)}
    assert len(pids) == 1
    assert os.getpid() not in pids


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("exit 0", "exit code 0"),
        ("exit 3", "exit code 3"),
        ("SIGKILL", "killed by signal 9 (SIGKILL)"),
        ("SIGSEGV", "killed by signal 11 (SIGSEGV)"),
        ("no pipe", "ProcessDied"),
    ],
)
def test_a_crash_fails_one_job_only(jobs, worker, how, told):
    crashing, next_one = jobs.die.enqueue(how), jobs.separate.enqueue()
    crashed = attempt(jobs.app, crashing)
    assert crashed.outcome == "crashed"
    assert crashed.error.startswith("ProcessDied: ")
    assert told in crashed.error
    assert next_one.result(timeout=20) == "separate"


def test_a_handler_that_kills_its_process_again_and_again_is_poison(jobs, worker):
    handle = jobs.die.options(retry=10).enqueue("SIGKILL")
    assert settled(jobs.app, handle, "dead").reason.startswith("poison")
    assert [crashed.outcome for crashed in jobs.app.attempts(handle.id)] == ["crashed"] * 3


@pytest.mark.parametrize(
    ("how", "told"),
    [("SystemExit", "SystemExit: 0"), ("Strange", "jobs.Strange: very"), ("KeyboardInterrupt", "KeyboardInterrupt")],
)
def test_whatever_is_raised_is_a_failure_not_a_crash(jobs, worker, how, told):
    failed = attempt(jobs.app, jobs.give_up.enqueue(how))
    assert (failed.outcome, failed.error) == ("failed", told)
    assert "give_up" in failed.traceback


def test_a_large_result_comes_through_and_one_that_is_too_large_is_refused(jobs, worker):
    assert len(jobs.big.enqueue(5_000_000).result(timeout=20)) == 5_000_000
    assert "the limit is" in attempt(jobs.app, jobs.big.enqueue(11_000_000)).error


def test_a_large_payload_comes_through(jobs, worker):
    names = ["x" * 1000] * 900
    assert jobs.family.enqueue(names).result(timeout=20) == 900


def test_a_forked_copy_of_a_handler_says_nothing(jobs, worker):
    handle = jobs.forks.enqueue()
    assert handle.result(timeout=20) == "the original's answer"
    assert jobs.app.logs(handle.id) == []
    assert jobs.separate.enqueue().result(timeout=20) == "separate"


def test_a_crash_is_seen_though_a_copy_holds_the_pipe_and_the_copy_is_killed(jobs, worker, journal):
    crashed = attempt(jobs.app, jobs.forks_in_c.enqueue())
    assert "exit code 5" in crashed.error
    copy = journal.pid("copied")
    eventually(lambda: gone(copy), "the copy to be killed")


def test_a_child_inherits_nothing(jobs, worker, monkeypatch):
    around = jobs.surroundings.enqueue().result(timeout=20)
    assert [name for name in around["files"] if "jobs.db" in name or "socket" in name] == []
    before = os.environ.get("PYTHONPATH")
    assert around["environment"] == ({} if before is None else {"PYTHONPATH": before})
    assert around["path"] == sys.path


def test_programs_that_a_handler_starts_can_be_stopped(jobs, worker):
    assert jobs.stops_another.enqueue().result(timeout=20) == -signal.SIGTERM


def test_a_child_leaves_signals_to_its_worker(jobs, worker, journal, folder):
    handle = jobs.separate.enqueue("signalled")
    pid = journal.pid("started separate signalled")
    os.kill(pid, signal.SIGTERM)
    os.kill(pid, signal.SIGINT)
    (folder / "signalled").touch()
    assert handle.result(timeout=20) == "separate"


def test_checkpoints_reach_the_next_attempt(jobs, worker):
    assert jobs.resumes.enqueue().result(timeout=20) == [3, 2]


def test_a_store_that_fails_to_give_the_checkpoint_costs_nothing(jobs, worker, monkeypatch):
    store, refusals = jobs.app.store, [StoreUnavailable("gone fishing")]
    checkpoint = store.checkpoint
    monkeypatch.setattr(store, "checkpoint", lambda job: raising(refusals.pop()) if refusals else checkpoint(job))
    assert jobs.resumes.enqueue().result(timeout=20) == [3, 2]
    assert refusals == []


def raising(error):
    raise error


def test_no_process_to_be_had_is_a_failure_not_a_crash(jobs, monkeypatch):
    monkeypatch.setattr(processes, "spawn", lambda *_, **__: raising(OSError(11, "Resource temporarily unavailable")))
    slots = processes.ProcessSlots(
        1, lambda execution: object(), lambda execution, outcome: ended.append(outcome), None
    )
    ended = []
    slots.start([Execution(None, jobs.separate, 0)])
    (outcome,) = eventually(lambda: ended, "the attempt to end")
    slots.stop()
    assert (outcome.kind, outcome.error) == ("failed", "BlockingIOError: [Errno 11] Resource temporarily unavailable")


def test_a_handler_may_ask_a_person(jobs, worker):
    handle = jobs.asks.enqueue()
    assert settled(jobs.app, handle, "review").reason == "unsure"
    jobs.app.approve(handle.id)
    assert handle.result(timeout=20) == {"guess": 7}


def test_a_child_completes_its_job_in_its_own_transaction(jobs, worker, folder):
    assert jobs.with_my_data.enqueue(commit=True).result(timeout=20) == {"rows": 1}
    forgotten = attempt(jobs.app, jobs.with_my_data.enqueue(commit=False))
    assert forgotten.error.startswith("NotCommitted")
    with sqlite3.connect(folder / "jobs.db") as connection:
        assert connection.execute("SELECT count(*) FROM mine").fetchone() == (1,)
    connection.close()


def test_a_cancelled_handler_is_told_first(jobs, worker, journal):
    handle = jobs.polite.enqueue()
    pid = journal.pid("started polite")
    journal.wait("page")
    assert handle.cancel() == "cancelling"
    assert settled(jobs.app, handle, "cancelled").reason == "cancelled on request"
    assert journal.lines("tidied up")
    assert not gone(pid)  # it goes on to the next job


def test_a_cancelled_handler_that_does_not_listen_is_killed(jobs, worker, journal, monkeypatch):
    monkeypatch.setattr(processes, "CANCEL_GRACE", 0.2)
    handle = jobs.separate.enqueue("deaf")
    pid = journal.pid("started separate deaf")
    handle.cancel()
    assert attempt(jobs.app, handle).outcome == "cancelled"
    assert gone(pid)


def test_jobs_for_busy_process_slots_are_left_to_other_workers(jobs, worker, journal, folder):
    handles = [jobs.separate.enqueue(f"gate{n}") for n in range(3)]
    journal.wait("started separate gate")
    assert sorted(handle.state for handle in handles) == ["queued", "queued", "running"]
    with jobs.app.worker(concurrency=8, process_slots=1, grace=1):
        journal.wait("started separate gate", 2)
        for n in range(3):
            (folder / f"gate{n}").touch()
        assert [handle.result(timeout=20) for handle in handles] == ["separate"] * 3
