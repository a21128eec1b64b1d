"""Timeouts of all three kinds of handlers: the slot is free again, the late result is refused (B14, B71)."""

import threading
from datetime import timedelta

import pytest

from mainstay import Retry
from mainstay.core.outcome import COMPLETED
from mainstay.worker.executors import Threads
from mainstay.worker.in_flight import Execution
from tests.waiting import eventually
from tests.worker.conftest import attempt, gone, settled

KINDS = ["plain", "asynchronous", "separate"]


@pytest.fixture
def worker(jobs):
    with jobs.app.worker(concurrency=1, process_slots=1, grace=0) as worker:
        yield worker


@pytest.mark.parametrize("kind", KINDS)
def test_a_handler_that_takes_too_long_is_timed_out_and_its_slot_is_free(jobs, worker, kind):
    job = getattr(jobs, kind)
    slow = job.options(timeout=0.2).enqueue("late")
    timed_out = attempt(jobs.app, slow)
    assert (timed_out.outcome, timed_out.error) == ("timed out", "TimeoutError: ran longer than 200ms")
    assert timed_out.ended_at - timed_out.started_at >= timedelta(milliseconds=200)
    assert job.enqueue().result(timeout=20) == kind


@pytest.mark.parametrize("kind", KINDS)
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
    attempt(jobs.app, slow)
    (folder / "late").touch()
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


def test_the_late_result_of_a_stuck_thread_is_refused(jobs, worker, journal, folder):
    late = []
    jobs.app.events.on("late", lambda job: late.append(job.id))
    slow = jobs.plain.options(timeout=0.2).enqueue("late")
    attempt(jobs.app, slow)
    assert late == [slow.id]
    assert worker.slots.threads.stuck == 1
    (folder / "late").touch()
    journal.wait("ended plain")
    eventually(lambda: worker.slots.threads.stuck == 0, "the thread to come back")
    assert (slow.state, jobs.app.store.result(slow.id)) == ("dead", None)
    assert jobs.plain.enqueue().result(timeout=20) == "plain"


def test_stuck_threads_are_replaced_up_to_a_limit(jobs, worker, journal, folder):
    for _ in range(2):  # the one slot, and as many again
        attempt(jobs.app, jobs.plain.options(timeout=0.1).enqueue("late"))
    assert worker.slots.room() == 0
    waiting = jobs.plain.enqueue()
    worker.wake()
    assert waiting.state == "queued"
    (folder / "late").touch()
    assert waiting.result(timeout=20) == "plain"


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
    threads.interrupt(execution)
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
