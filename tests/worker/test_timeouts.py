"""Timeouts of all three kinds of handlers: attempts never overlap, the late result is refused (B14, B71)."""

import threading
from datetime import timedelta

import pytest

from mainstay import Retry
from mainstay.core.outcome import COMPLETED
from mainstay.worker.executors import Threads
from mainstay.worker.in_flight import Execution
from tests.waiting import eventually
from tests.worker.conftest import attempt, everywhere, gone, settled

KINDS = ["plain", "asynchronous", "separate"]
STOPPED = ["abandoned", "asynchronous", "separate"]  # a handler that does not end keeps no slot here


def overrun(worker, handle):
    """Whether the worker knows that the first attempt at this job has run out of time."""
    execution = worker.in_flight.find([(handle.id, 1)]).get((handle.id, 1))
    return execution is not None and execution.overrun is not None


@pytest.fixture
def worker(jobs):
    with jobs.app.worker(concurrency=1, process_slots=1, grace=0) as worker:
        yield worker


@pytest.mark.parametrize("kind", STOPPED)
def test_a_handler_that_takes_too_long_is_timed_out_and_its_slot_is_free(jobs, worker, kind):
    job = getattr(jobs, kind)
    slow = job.options(timeout=0.2).enqueue("late")
    timed_out = attempt(jobs.app, slow)
    assert (timed_out.outcome, timed_out.error) == ("timed out", "TimeoutError: ran longer than timeout=200ms")
    assert timed_out.ended_at - timed_out.started_at >= timedelta(milliseconds=200)
    assert job.enqueue().result(timeout=20) == kind


@everywhere
@pytest.mark.parametrize("kind", STOPPED)
def test_a_job_that_timed_out_is_tried_again(jobs, worker, journal, folder, kind):
    handle = getattr(jobs, kind).options(timeout=0.2, retry=Retry.fixed(2, "1ms")).enqueue("late")
    settled(jobs.app, handle, "dead")
    assert [tried.outcome for tried in jobs.app.attempts(handle.id)] == ["timed out"] * 2
    assert len(journal.lines(f"started {kind}")) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_what_ends_in_time_is_left_alone(jobs, worker, kind):
    handles = [getattr(jobs, kind).options(timeout=10).enqueue() for _ in range(5)]
    assert [handle.result(timeout=20) for handle in handles] == [kind] * 5


@pytest.mark.parametrize("kind", KINDS)
def test_the_end_is_told_once(jobs, worker, folder, kind):
    told = []
    jobs.app.events.on("ended", lambda job, outcome: told.append((job.id, outcome.kind)))
    slow = getattr(jobs, kind).options(timeout=0.2).enqueue("late")
    eventually(lambda: told or overrun(worker, slow), "the timeout")
    (folder / "late").touch()
    attempt(jobs.app, slow)
    again = getattr(jobs, kind).enqueue()
    again.result(timeout=20)
    eventually(lambda: not worker.slots.threads.stuck, "the thread to come back")
    assert told == [(slow.id, "timed out"), (again.id, "completed")]


def test_an_async_handler_is_interrupted(jobs, worker, journal):
    attempt(jobs.app, jobs.asynchronous.options(timeout=0.2).enqueue("late"))
    journal.wait("interrupted asynchronous")


def test_a_process_is_killed_with_all_that_it_started(jobs, worker, journal):
    attempt(jobs.app, jobs.starts_another.options(timeout=0.4).enqueue("late"))
    program = journal.pid("program")
    eventually(lambda: gone(program), "the program that the handler started to be killed")


def test_a_program_in_a_session_of_its_own_is_killed_too(jobs, worker, journal):
    attempt(jobs.app, jobs.starts_another.options(timeout=1).enqueue("late", True))
    program = journal.pid("program")
    eventually(lambda: gone(program), "the program to be killed")


def test_the_late_result_of_an_abandoned_thread_is_refused(jobs, worker, journal, folder):
    late = []
    jobs.app.events.on("late", lambda job: late.append(job.id))
    slow = jobs.abandoned.options(timeout=0.2).enqueue("late")
    attempt(jobs.app, slow)
    eventually(lambda: late == [slow.id], "the event")
    assert worker.slots.threads.stuck == 1
    (folder / "late").touch()
    journal.wait("ended abandoned")
    eventually(lambda: worker.slots.threads.stuck == 0, "the thread to come back")
    assert (slow.state, jobs.app.store.result(slow.id)) == ("dead", None)
    assert jobs.plain.enqueue().result(timeout=20) == "plain"


def test_abandoned_threads_are_replaced_up_to_a_limit(jobs, worker, journal, folder):
    for _ in range(2):  # the one slot, and as many again
        attempt(jobs.app, jobs.abandoned.options(timeout=0.1).enqueue("late"))
    assert worker.slots.room() == 0
    waiting = jobs.plain.enqueue()
    worker.wake()
    assert waiting.state == "queued"
    (folder / "late").touch()
    assert waiting.result(timeout=20) == "plain"


@everywhere
@pytest.mark.parametrize("kind", ["plain", "stubborn"])
def test_the_next_attempt_begins_when_the_late_handler_has_ended(jobs, journal, folder, kind):
    stuck = []
    jobs.app.events.on("stuck", lambda job: stuck.append(job.id))
    with jobs.app.worker(concurrency=4, grace=0):
        handle = getattr(jobs, kind).options(timeout=0.2, retry=jobs.AT_ONCE).enqueue("late")
        eventually(lambda: stuck == [handle.id], "the worker to say so")
        assert handle.state == "running"
        eventually(lambda: [line for line in jobs.app.logs(handle.id) if line.level == "warning"], "a line in its log")
        assert len(journal.lines(f"started {kind}")) == 1
        (folder / "late").touch()
        assert handle.result(timeout=20) == kind
    assert [word for word, *_ in map(str.split, journal.lines()) if word != "told"] == ["started", "ended"] * 2
    first, second = jobs.app.attempts(handle.id)
    assert (first.outcome, first.error) == ("timed out", "TimeoutError: ran longer than timeout=200ms")
    assert second.started_at >= first.ended_at


@everywhere
def test_a_sweep_leaves_a_late_job_to_its_live_worker(jobs, journal, folder):
    """However late, and whatever the sweep was told."""
    with jobs.app.worker(concurrency=4, grace=0) as worker:
        handle = jobs.plain.options(timeout=0.2, retry=jobs.AT_ONCE).enqueue("late")
        eventually(lambda: overrun(worker, handle), "the timeout")
        sweep = next(chore for chore in worker.chores if chore.name == "sweep")
        found = eventually(lambda: jobs.app.store.orphans(jobs.app.clock.now(), 0, 10), "the store to find it late")
        assert [orphan.gone for orphan in found] == [False]
        sweep._store = SeenLater(jobs.app.store, found)
        sweep.step(jobs.app.clock.now())
        assert handle.state == "running"


class SeenLater:
    """A store that finds these orphans."""

    def __init__(self, store, orphans):
        self._store, self._orphans = store, orphans

    def orphans(self, *_):
        return self._orphans

    def __getattr__(self, name):
        return getattr(self._store, name)


@everywhere
def test_async_handlers_that_ignore_their_timeout_keep_no_claimed_job_waiting(jobs, journal, folder):
    """Each keeps its slot: what is claimed beside it runs."""
    with jobs.app.worker(concurrency=2, grace=0):
        deaf = jobs.stubborn.options(timeout=0.2).enqueue("late")
        journal.wait("told stubborn")
        assert [jobs.asynchronous.enqueue().result(timeout=20) for _ in range(4)] == ["asynchronous"] * 4
        assert deaf.state == "running"


@everywhere
def test_what_is_claimed_for_a_blocked_loop_goes_back_and_plain_jobs_run(jobs, journal, folder):
    with jobs.app.worker(concurrency=4, grace=0):
        jobs.blocks.options(timeout=0.2).enqueue("late")
        journal.wait("started blocks")
        behind = jobs.asynchronous.enqueue()
        eventually(lambda: behind.job().token >= 1 and behind.state == "queued", "the job to go back")
        assert behind.job().attempt == 0
        assert jobs.plain.enqueue().result(timeout=20) == "plain"
        assert (
            behind.job().token <= 2
        )  # not claimed and released again and again; an offer that was made before may take it once
        (folder / "late").touch()
        assert behind.result(timeout=20) == "asynchronous"


@everywhere
def test_the_wall_clock_ends_no_handler_and_saves_none(jobs, journal, folder):
    clock = jobs.app.clock
    with Shifted(clock) as shifted, jobs.app.worker(concurrency=4, grace=0, lease="1h"):
        patient = jobs.plain.options(timeout=60).enqueue("gate")
        journal.wait("started plain gate")
        shifted.by = 600_000
        hasty = jobs.asynchronous.options(timeout=1).enqueue("late")
        journal.wait("started asynchronous late")
        shifted.by = -600_000
        assert attempt(jobs.app, hasty).outcome == "timed out"
        assert (patient.state, patient.job().token) == ("running", 1)
        (folder / "gate").touch()
        assert patient.result(timeout=20) == "plain"


class Shifted:
    """Sets the clock of this process, for the application and everything made with it."""

    def __init__(self, clock):
        self._clock, self._now, self.by = clock, clock.now, 0

    def __enter__(self):
        self._clock.now = lambda: self._now() + self.by
        return self

    def __exit__(self, *_):
        del self._clock.now


def test_a_thread_given_up_just_as_it_came_back_is_not_counted_as_stuck():
    back = threading.Event()

    def end(execution, outcome):
        back.set()
        return False  # someone else has ended the job

    threads = Threads(1, begin=lambda execution: object(), end=end, run=lambda execution, context: COMPLETED)
    execution = Execution(None, None, 0)
    threads.start([execution])
    back.wait(10)
    eventually(lambda: threads._idle == 1, "the thread to be idle")
    threads.give_up(execution)
    assert threads.stuck == 0
    threads.stop()


def test_a_thread_whose_job_was_lost_with_the_lease_is_replaced(jobs, worker, journal, folder):
    lost = jobs.plain.enqueue("late")
    journal.wait("started plain late")
    jobs.app.store.deregister(worker.id)  # as another worker's sweep does once the lease has run out
    worker.heartbeat.step(jobs.app.clock.now())
    assert jobs.plain.enqueue().result(timeout=20) == "plain"  # the only slot, though the first handler still runs
    assert not journal.lines("ended plain late")
    assert lost.state in ("running", "dead")


def test_a_handler_past_its_timeout_is_told(jobs, journal):
    told = threading.Event()

    @jobs.app.job(retry=jobs.ONCE, timeout=0.2)
    def listens() -> None:
        from mainstay import ctx

        eventually(lambda: ctx.cancelled, "the context to say so")
        told.set()

    with jobs.app.worker(concurrency=1, grace=0):
        attempt(jobs.app, listens.enqueue())
        assert told.wait(10)
