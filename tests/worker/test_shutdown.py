"""Ending a worker: nothing is lost, nothing starts any more, what did not begin costs no attempt (B22 to B27)."""

import random
import signal
import threading

import pytest

from mainstay import UsageError
from mainstay.worker import processes, slots
from tests.waiting import eventually
from tests.worker.conftest import ended, everywhere, terminate

SIGNALS_ITSELF = """
import os, signal, sys, jobs
app, times = jobs.app, int(sys.argv[2])
verb = getattr(app.store, sys.argv[1])

def signalled(*arguments):
    for _ in range(times):
        signal.raise_signal(signal.SIGTERM)
    return verb(*arguments)

setattr(app.store, sys.argv[1], signalled)
sys.exit(app.worker(grace="60s").run())
"""


def test_b22_no_job_is_lost_or_run_twice_over_many_shutdowns_under_load(jobs, start_worker, journal):
    luck = random.Random(22)
    for turn in range(4):  # new jobs each turn: a fast worker runs all there are before its signal comes
        jobs.app.enqueue_many(jobs.counts.prepare(n) for n in range(1_000 * turn, 1_000 * (turn + 1)))
        done = len(journal.lines("did"))
        process = start_worker(concurrency=8)
        journal.wait("did", done + luck.randrange(1, 300))
        terminate(process)
        assert ended(process) == (0, "")
        assert jobs.app.list("state:running") == []
    with jobs.app.worker(concurrency=8):
        journal.wait("did", 4_000)
        eventually(lambda: not jobs.app.list("state:queued,running"), "every outcome to be stored")
    assert sorted(int(line.split()[1]) for line in journal.lines("did")) == list(range(4_000))
    assert {job.attempt for job in jobs.app.list("state:completed", limit=4_000)} == {1}


@pytest.mark.parametrize("kind", ["plain", "asynchronous", "separate"])
def test_b23_what_runs_may_finish_and_nothing_starts_any_more(jobs, start_worker, journal, folder, kind):
    job = getattr(jobs, kind)
    running = job.enqueue("gate")
    process = start_worker(concurrency=4, process_slots=2)
    journal.wait(f"started {kind} gate")
    terminate(process)
    journal.wait("told gate")
    later = job.enqueue("never")
    (folder / "gate").touch()
    assert ended(process) == (0, "")
    assert running.state == "completed"
    assert (later.state, later.job().attempt) == ("queued", 0)  # a claim that was under way is handed back
    assert not journal.lines(f"started {kind} never")


def test_b24_what_was_claimed_and_not_begun_is_claimable_at_once_without_an_attempt(jobs, journal, folder, monkeypatch):
    monkeypatch.setattr(slots, "PATIENCE", 60_000)  # so that it is the stop that hands them back
    handles = [jobs.plain.enqueue("gate") for _ in range(50)]
    worker = jobs.app.worker(concurrency=3)
    worker.claimer.pace = 100.0  # as after many quick jobs: it claims far ahead
    with worker:
        journal.wait("started plain", 3)
        assert [handle.state for handle in handles] == ["running"] * 50
        stopper = threading.Thread(target=worker.stop)
        stopper.start()
        eventually(lambda: len(untouched(jobs.app)) == 47, "47 jobs to be handed back while 3 still run")
        (folder / "gate").touch()
        stopper.join(20)
    assert sorted(handle.state for handle in handles) == ["completed"] * 3 + ["queued"] * 47
    with jobs.app.worker(concurrency=3):
        assert [handle.result(timeout=20) for handle in handles] == ["plain"] * 50
    assert {handle.job().attempt for handle in handles} == {1}


def test_a_worker_that_stops_says_so_in_the_store_at_once(jobs, journal, folder):
    jobs.plain.enqueue("gate")
    with jobs.app.worker(lease="10m") as worker:  # the next regular renewal is two minutes away
        journal.wait("started plain")
        assert not jobs.app.store.workers()[0].stopping
        stopper = threading.Thread(target=worker.stop)
        stopper.start()
        eventually(lambda: jobs.app.store.workers()[0].stopping, "the store to know")
        (folder / "gate").touch()
        stopper.join(20)


def untouched(app):
    return [job for job in app.list("state:queued", limit=100) if job.attempt == 0]


def test_a_claim_that_is_under_way_at_the_end_is_handed_back(jobs):
    claiming, go_on = threading.Event(), threading.Event()
    claim = jobs.app.store.claim

    def slow(*arguments):
        claims = claim(*arguments)
        if claims.jobs:
            claiming.set()
            go_on.wait(20)
        return claims

    jobs.app.store.claim = slow
    worker = jobs.app.worker(concurrency=2).start()
    handle = jobs.plain.enqueue()
    assert claiming.wait(20)
    stopper = threading.Thread(target=worker.stop)
    stopper.start()
    eventually(lambda: worker.services and worker.services["claimer"]._stopping, "the claimer to be told to stop")
    go_on.set()
    stopper.join(20)
    assert (handle.state, handle.job().attempt, jobs.app.store.workers()) == ("queued", 0, [])


def test_b25_a_handler_that_fails_during_the_drain_has_its_failure_recorded(jobs, start_worker, journal, folder):
    handle = jobs.fails.enqueue("gate")
    process = start_worker()
    journal.wait("started fails")
    terminate(process)
    (folder / "gate").touch()
    assert ended(process) == (0, "")
    assert (handle.state, handle.job().error) == ("dead", "ValueError: on its own")


def test_b26_the_lease_is_renewed_to_the_end_of_the_drain(jobs, start_worker, journal, folder):
    handle = jobs.plain.enqueue("gate")
    process = start_worker(lease="700ms")
    journal.wait("started plain")
    terminate(process)
    (draining,) = jobs.app.store.workers()
    with jobs.app.worker(types=["counts"]):  # sweeps, and would free the job of a worker without a lease
        three_leases = draining.beat_at + 2_100
        eventually(lambda: beat(jobs.app, draining.id) >= three_leases, "the worker to beat for three leases")
        (folder / "gate").touch()
        assert ended(process) == (0, "")
    assert (handle.state, handle.job().token) == ("completed", 1)


def beat(app, worker):
    return next((seen.beat_at for seen in app.store.workers() if seen.id == worker), 0)


@pytest.mark.parametrize("job", ["reads", "reads_separately"])
def test_a_handler_at_a_safe_point_is_handed_back_with_its_checkpoint(jobs, start_worker, journal, folder, job):
    handle = getattr(jobs, job).enqueue()
    process = start_worker(process_slots=1)
    journal.wait("page", 3)
    terminate(process)
    assert ended(process) == (0, "")
    assert (handle.state, handle.job().attempt, handle.job().token) == ("queued", 0, 1)
    last = int(journal.lines("page")[-1].split()[1])
    with jobs.app.worker(process_slots=1):
        resumed = int(journal.wait("from page", 2)[1].split()[-1])
        (folder / "enough").touch()
        assert handle.result(timeout=20) >= resumed
    assert resumed in (last, last + 1)  # saved, then told to stop before it could be marked
    assert handle.job().attempt == 1


@everywhere
@pytest.mark.parametrize("kind", ["asynchronous", "separate"])
def test_a_second_signal_ends_the_worker_now(jobs, start_worker, journal, kind):
    handle = getattr(jobs, kind).enqueue("gate")
    process = start_worker(grace="60s", process_slots=1)
    journal.wait(f"started {kind}")
    terminate(process)
    journal.wait("told gate")
    process.send_signal(signal.SIGINT)
    assert ended(process) == (0, "")
    assert (handle.state, handle.job().attempt) == ("queued", 0)
    assert jobs.app.store.workers() == []


@pytest.mark.parametrize(("verb", "times"), [("register", 1), ("register_types", 2), ("notifier", 1), ("claim", 1)])
def test_b27_a_signal_during_the_start_counts(jobs, start, verb, times):
    jobs.app.store.counts(1)  # there is a database
    process = start(SIGNALS_ITSELF, verb, str(times))
    assert ended(process) == (0, "")
    assert jobs.app.store.workers() == []


def test_a_handler_that_begins_in_the_moment_of_the_stop_is_told(jobs):
    worker = jobs.app.worker(concurrency=1)

    def meanwhile(execution, now):  # between the look whether to stop and the start
        worker.slots.ask_to_stop()
        return True

    worker.registration.holds = meanwhile
    with worker:
        handle = jobs.reads.enqueue()
        eventually(lambda: handle.job().token == 1 and handle.state == "queued", "it to be handed back")


def test_a_process_that_is_told_to_stop_just_before_it_gets_its_job_is_told_again(jobs, monkeypatch):
    worker = jobs.app.worker(concurrency=1, process_slots=1)
    send = processes.ChildProcess.send

    def meanwhile(child, message):
        if message["do"] == "run":
            worker.slots.ask_to_stop()
        send(child, message)

    monkeypatch.setattr(processes.ChildProcess, "send", meanwhile)
    with worker:
        handle = jobs.reads_separately.enqueue()
        eventually(lambda: handle.job().token == 1 and handle.state == "queued", "it to be handed back")


def test_a_handler_whose_job_is_taken_away_as_it_begins_does_not_run(jobs, journal):
    worker = jobs.app.worker(concurrency=1)

    def meanwhile(execution, now):
        worker.registration.open = False
        worker.slots.release_unstarted()
        return True

    worker.registration.holds = meanwhile
    with worker:
        handle = jobs.plain.enqueue()
        eventually(lambda: handle.job().token == 1 and handle.state == "queued", "it to be handed back")
        worker.registration.holds, worker.registration.open = lambda execution, now: True, True
        worker.wake()
        assert handle.result(timeout=20) == "plain"
        assert worker.slots.threads.stuck == 0
    assert len(journal.lines("started plain")) == 1


def test_a_worker_that_is_stopped_twice_has_stopped(jobs):
    worker = jobs.app.worker().start()
    worker.stop()
    worker.stop()
    assert jobs.app.store.workers() == []


def test_nothing_stays_beside_the_database(jobs, folder):
    with jobs.app.worker():
        assert list((folder / "jobs.db-mainstay").iterdir())
    assert list((folder / "jobs.db-mainstay").iterdir()) == []


REPLACEABLE = """
import jobs
from mainstay.worker.shutdown import exit_process, until_signalled
jobs.mark("process")
exit_process(until_signalled(jobs.app.worker(grace="1s"), replaceable=True))
"""


@everywhere
def test_a_process_with_a_handler_that_does_not_end_starts_anew_before_the_next_attempt(jobs, start, journal, folder):
    handle = jobs.plain.options(timeout=0.2, retry=jobs.AT_ONCE).enqueue("late")
    process = start(REPLACEABLE)
    journal.wait("started plain late", 2)
    assert [line for line in journal.lines() if not line.startswith("told")] == ["process", "started plain late"] * 2
    (folder / "late").touch()
    assert handle.result(timeout=20) == "plain"
    assert [tried.outcome for tried in jobs.app.attempts(handle.id)] == ["timed out", "completed"]
    terminate(process)
    assert ended(process) == (0, "")


SIGNALLED = (
    """
import os, signal, jobs
if (jobs.HERE / "journal").exists():
    os.kill(os.getpid(), signal.SIGTERM)  # the process has started anew and does not listen to signals yet
"""
    + REPLACEABLE
)


@everywhere
def test_a_signal_while_a_process_starts_anew_stops_it(jobs, start, journal):
    jobs.plain.options(timeout=0.2, retry=jobs.AT_ONCE).enqueue("late")
    process = start(SIGNALLED)
    assert ended(process) == (0, "")
    assert journal.lines().count("process") == 2


@everywhere
def test_async_handlers_may_clean_up_at_the_end_of_the_grace(jobs, journal):
    with jobs.app.worker(grace=0):
        handle = jobs.tidies.enqueue()
        journal.wait("started tidies")
    assert journal.lines("tidied")
    assert (handle.state, handle.job().attempt) == ("queued", 0)


@everywhere
def test_a_worker_that_has_stopped_does_not_start_again(jobs):
    worker = jobs.app.worker().start()
    with pytest.raises(UsageError, match="was started before"):
        worker.start()
    worker.stop()
    with pytest.raises(UsageError, match=r"make another one with app\.worker"):
        worker.start()
    assert jobs.app.store.workers() == []


BLOCK = """
import jobs, threading
try:
    with jobs.app.worker(signals=True):
        jobs.mark("inside")
        threading.Event().wait(60)
finally:
    jobs.mark("outside")
"""


@everywhere
def test_a_signal_leaves_the_block_of_a_worker_which_stops_gracefully(jobs, start, journal, folder):
    handle = jobs.plain.enqueue("gate")
    process = start(BLOCK)
    journal.wait("inside")
    journal.wait("started plain")
    terminate(process)
    journal.wait("told gate")
    assert not journal.lines("outside")
    (folder / "gate").touch()
    assert ended(process) == (128 + signal.SIGTERM, "")
    assert journal.lines("outside")
    assert (handle.state, jobs.app.store.workers()) == ("completed", [])


@everywhere
def test_a_second_signal_cuts_the_stop_of_a_block_short(jobs, start, journal, folder):
    handle = jobs.plain.enqueue("gate")
    process = start(BLOCK)
    journal.wait("inside")
    journal.wait("started plain")
    terminate(process)
    journal.wait("told gate")
    process.send_signal(signal.SIGINT)
    assert ended(process) == (128 + signal.SIGTERM, "")
    with jobs.app.worker():
        journal.wait("started plain", 2)
        (folder / "gate").touch()
        assert handle.result(timeout=20) == "plain"
    assert [tried.outcome for tried in jobs.app.attempts(handle.id)] == ["completed"]
