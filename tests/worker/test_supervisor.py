"""Several worker processes under one supervisor: deaths are seen at once and made good; the end is graceful (B29 to B31, B39)."""

import itertools
import os
import signal

import pytest

from tests.waiting import eventually
from tests.worker.conftest import ended, everywhere, gone, settled, terminate


def workers(app, count, seconds=20):
    """The registered workers, once there are that many."""

    def enough():
        found = app.store.workers()
        return found if len(found) == count else None

    return eventually(enough, f"{count} workers to be registered", seconds)


def stop(supervisor):
    terminate(supervisor)
    return ended(supervisor)


def test_several_processes_work_and_end_on_sigterm(jobs, start_supervisor):
    supervisor = start_supervisor(3, concurrency=1)
    found = workers(jobs.app, 3)
    assert len({worker.pid for worker in found} - {supervisor.pid}) == 3
    handles = jobs.app.enqueue_many(jobs.counts.prepare(n) for n in range(50))
    assert [handle.result(timeout=20) for handle in handles] == [None] * 50
    assert stop(supervisor) == (0, "")
    assert jobs.app.store.workers() == []


def test_a_dead_worker_s_jobs_run_again_at_once_and_another_takes_its_place(jobs, start_supervisor, journal, folder):
    supervisor = start_supervisor(1, lease="60s")
    (first,) = workers(jobs.app, 1)
    handle = jobs.plain.options(retry=jobs.AT_ONCE).enqueue("gate")
    journal.wait("started plain")
    os.kill(first.pid, signal.SIGKILL)
    journal.wait("started plain", 2, seconds=5)  # no lease has run out by then
    (second,) = workers(jobs.app, 1)
    assert first.id != second.id
    (folder / "gate").touch()
    assert handle.result(timeout=20) == "plain"
    assert [tried.outcome for tried in jobs.app.attempts(handle.id)] == ["crashed", "completed"]

    def left():
        return {path.name.partition(".")[0] for path in (folder / "jobs.db-mainstay").iterdir()}

    eventually(lambda: left() == {second.id}, "the dead worker's lock and socket to be gone")
    terminate(supervisor)
    code, complaint = ended(supervisor)
    assert code == 0
    assert f"worker {first.id} was killed by signal 9; starting another" in complaint


def test_the_supervisor_itself_frees_the_jobs_of_a_dead_worker(jobs, start_supervisor, journal, folder, monkeypatch):
    monkeypatch.setenv("SWEEP", "60000")  # the other worker would not look for an hour
    supervisor = start_supervisor(2, concurrency=1)
    workers(jobs.app, 2)
    (folder / "jobs.py").write_text("import os; os._exit(7)", encoding="utf-8")  # and no third one comes up
    handle = jobs.plain.options(retry=jobs.AT_ONCE).enqueue("gate")
    journal.wait("started plain gate")
    os.kill(next(worker.pid for worker in jobs.app.store.workers() if worker.id == handle.job().worker), signal.SIGKILL)
    assert settled(jobs.app, handle, "queued", "running", seconds=5)
    eventually(lambda: handle.job().token == 2, "the other worker to claim it", 5)
    (folder / "gate").touch()
    stop(supervisor)


def test_b39_a_job_that_kills_every_worker_is_dead_lettered_and_others_go_on(jobs, start_supervisor):
    poison = jobs.kills_its_worker.options(retry=100).enqueue()
    supervisor = start_supervisor(1)
    assert settled(jobs.app, poison, "dead").reason.startswith("poison")
    assert jobs.whoami.enqueue().result(timeout=20)
    assert stop(supervisor)[0] == 0


def test_a_worker_told_to_stop_from_outside_is_replaced(jobs, start_supervisor):
    supervisor = start_supervisor(1)
    (first,) = workers(jobs.app, 1)
    os.kill(first.pid, signal.SIGTERM)
    eventually(lambda: gone(first.pid), "the worker to end gracefully")
    (second,) = workers(jobs.app, 1)
    assert second.pid != first.pid
    assert stop(supervisor)[0] == 0


@pytest.mark.parametrize(
    ("module", "told"),
    [
        ("raise RuntimeError('no licence')", "importing broken failed: RuntimeError: no licence"),
        ("app = 7", "broken:app is a int, not a Mainstay application"),
        ("from mainstay import Mainstay\napp = Mainstay('sqlite:///:memory:')", "keeps its jobs in memory"),
        ("import os\nos._exit(5)", "ended with exit code 5"),
    ],
)
def test_it_gives_up_when_no_worker_ever_comes_up(folder, start_supervisor, module, told):
    (folder / "broken.py").write_text(module, encoding="utf-8")
    supervisor = start_supervisor(4, app="broken:app")
    code, complaint = ended(supervisor)
    assert code == 1
    assert complaint.count(told) == (1 if "exit code" not in told else 3)
    assert complaint.splitlines()[-1].startswith("mainstay: giving up")


def test_a_worker_that_dies_again_and_again_is_restarted_more_and_more_slowly(jobs, start_supervisor, folder):
    supervisor = start_supervisor(1)
    workers(jobs.app, 1)
    (folder / "jobs.py").write_text("import os; os._exit(7)", encoding="utf-8")  # from now on no worker comes up
    jobs.kills_its_worker.enqueue()
    lines = itertools.islice(iter(supervisor.stderr.readline, ""), 4)
    assert [line.strip().partition("; ")[2] for line in lines] == [
        "starting another", "starting another in 0.5 s", "starting another in 1 s", "starting another in 2 s",
    ]  # fmt: skip
    assert stop(supervisor)[0] == 0


@everywhere
def test_a_second_signal_ends_everything_now(jobs, start_supervisor, journal):
    handle = jobs.plain.enqueue("gate")
    supervisor = start_supervisor(1, grace="60s")
    journal.wait("started plain")
    terminate(supervisor)
    journal.wait("told gate")
    assert supervisor.poll() is None
    supervisor.send_signal(signal.SIGINT)
    assert ended(supervisor) == (0, "")
    assert (handle.state, handle.job().attempt) == ("queued", 0)


def test_signals_sent_to_the_workers_too_do_not_cut_the_grace_short(jobs, start_supervisor, journal, folder):
    handle = jobs.plain.enqueue("gate")
    supervisor = start_supervisor(1)
    journal.wait("started plain")
    (worker,) = workers(jobs.app, 1)
    for pid in (worker.pid, supervisor.pid, worker.pid):  # as a service manager does that signals a whole group
        os.kill(pid, signal.SIGTERM)
    journal.wait("told gate")
    (folder / "gate").touch()
    assert ended(supervisor) == (0, "")
    assert handle.state == "completed"


def test_what_does_not_end_is_killed_after_the_grace_and_its_jobs_are_freed(jobs, start_supervisor, journal):
    handle = jobs.holds_the_gil.enqueue(60)
    supervisor = start_supervisor(1, extra=0.5, grace=0.1)
    pid = journal.pid("started 1")
    code, complaint = stop(supervisor)
    assert code == 1
    assert "did not end in time and is killed" in complaint
    assert gone(pid)
    assert (handle.state, jobs.app.store.workers()) == ("queued", [])


def test_workers_of_a_dead_supervisor_end_gracefully_and_keep_their_lease(jobs, start_supervisor, journal, folder):
    handle = jobs.plain.enqueue("gate")
    supervisor = start_supervisor(1, lease="1s")
    journal.wait("started plain")
    (worker,) = workers(jobs.app, 1)
    supervisor.kill()
    journal.wait("told gate")

    def beats():
        return next((seen.beat_at for seen in jobs.app.store.workers() if seen.id == worker.id), 0)

    killed_at = jobs.app.clock.now()
    eventually(lambda: beats() >= killed_at + 1_000, "it to beat on by itself for a lease")
    (folder / "gate").touch()
    assert settled(jobs.app, handle, "completed").token == 1
    eventually(lambda: gone(worker.pid), "it to end")
    assert jobs.app.store.workers() == []


def test_a_worker_that_rejoined_is_kept_alive_under_its_new_identity(jobs, start_supervisor, journal, folder):
    supervisor = start_supervisor(1, lease=1)
    (first,) = workers(jobs.app, 1)
    jobs.app.store.deregister(first.id)  # as a sweep does when the lease has run out
    (second,) = eventually(
        lambda: [worker for worker in jobs.app.store.workers() if worker.id != first.id], "the worker to rejoin"
    )
    assert second.pid == first.pid
    eventually(
        lambda: (now := fresh(jobs.app, second.id)) and now > second.beat_at, "it to beat under its new identity"
    )
    handle = jobs.holds_the_gil.enqueue(2)
    assert handle.result(timeout=20) == 1
    assert [worker.id for worker in jobs.app.store.workers()] == [second.id]
    assert stop(supervisor) == (0, "")


def fresh(app, worker):
    return next((seen.beat_at for seen in app.store.workers() if seen.id == worker), 0)


@everywhere
def test_a_process_with_a_handler_that_does_not_end_is_replaced_before_the_next_attempt(
    jobs, start_supervisor, journal, folder
):
    handle = jobs.plain.options(timeout=1, retry=jobs.AT_ONCE).enqueue("late")
    supervisor = start_supervisor(1, concurrency=4, grace=1)
    (first,) = workers(jobs.app, 1)
    journal.wait("started plain late")
    eventually(lambda: gone(first.pid), "the process to end")
    assert len(journal.lines("started plain late")) == 1
    journal.wait("started plain late", 2)
    (folder / "late").touch()
    assert handle.result(timeout=20) == "plain"
    assert [tried.outcome for tried in jobs.app.attempts(handle.id)] == ["timed out", "completed"]
    assert stop(supervisor)[0] == 0


IMPATIENT = """
import sys
from mainstay.worker import supervisor
supervisor.GRACE = 500
sys.exit(supervisor.Supervisor("jobs:app", 1, {"lease": "1s", "grace": 1}).run())
"""


@everywhere
def test_a_process_in_which_nothing_runs_but_an_overdue_handler_is_killed(jobs, start, journal):
    """The supervisor renews its lease, so nobody else would free the job."""
    handle = jobs.holds_the_gil.options(timeout=0.2, retry=jobs.AT_ONCE).enqueue(60)
    supervisor = start(IMPATIENT)
    pid = journal.pid("started 1")
    eventually(lambda: gone(pid), "the process to be killed")
    eventually(lambda: [tried.outcome for tried in jobs.app.attempts(handle.id)] == ["crashed"], "the job to be freed")
    jobs.app.cancel(handle.id)
    supervisor.kill()
    assert "hangs: it holds a job far past its timeout and is killed" in ended(supervisor)[1]
