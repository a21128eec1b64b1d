"""`app.drain`: runs what is due and returns, within its limits, with a true summary."""

import threading
import time

import pytest

from mainstay import Retry, StoreUnavailable, UsageError, ctx
from mainstay.worker import one_shot
from mainstay.worker.drained import Drained
from mainstay.worker.one_shot import OneShot
from mainstay.worker.worker import Worker
from tests.waiting import eventually
from tests.worker.conftest import everywhere, settled


def later(handle):
    """The state and the attempts that a job has spent."""
    job = handle.job()
    return job.state, job.attempt


@everywhere
def test_it_runs_what_is_due_and_what_that_enqueues(jobs):
    @jobs.app.job(retry=Retry(2, base="1h"))
    def fails_first() -> None:
        raise ValueError("not yet")

    family, due_later = jobs.family.enqueue(["a", "b"]), jobs.whoami.options(delay="1h").enqueue()
    retried, dead = fails_first.enqueue(), fails_first.options(retry=1).enqueue()
    done = jobs.app.drain()
    assert done == Drained(completed=3, retried=1, dead=1)
    assert (done.processed, done.errors, done.left) == (5, 2, 0)
    assert family.state == "completed"
    assert [each.state for each in (due_later, retried, dead)] == ["scheduled", "scheduled", "dead"]
    assert jobs.app.store.workers() == []
    assert jobs.app.drain() == Drained()


@everywhere
@pytest.mark.parametrize("kind", ["counts", "together", "separate", "asynchronous"])
def test_max_jobs_is_exact(jobs, kind):
    type = getattr(jobs, kind)
    first = 1 if kind == "counts" else ""
    handles = jobs.app.enqueue_many(type.prepare(first) for _ in range(30))
    done = jobs.app.drain(max_jobs=11)
    assert (done.processed, done.left) == (11, 19)
    tokens = [handle.job().token for handle in handles]
    assert sorted(tokens) == [0] * 19 + [1] * 11  # each claim counts, also one that is released


@everywhere
@pytest.mark.parametrize("kind", ["reads", "reads_separately", "tidies"])
def test_what_has_not_finished_in_time_is_released(jobs, journal, kind):
    handles = [getattr(jobs, kind).enqueue() for _ in range(3)]
    since = time.monotonic()
    done = jobs.app.drain(max_seconds=4, concurrency=2, process_slots=2)
    assert time.monotonic() - since < 5
    assert (done.processed, done.left, done.running) == (0, 3, 0)
    assert [later(handle) for handle in handles] == [("queued", 0)] * 3
    assert [jobs.app.attempts(handle.id) for handle in handles] == [[]] * 3
    if kind == "reads":
        assert jobs.app.store.checkpoint(handles[0].id) is not None


@everywhere
@pytest.mark.parametrize("kind", ["plain", "stubborn", "blocks"])
def test_a_handler_that_nothing_can_stop_keeps_its_job_and_the_drain_returns(jobs, journal, folder, kind):
    handle = getattr(jobs, kind).enqueue("late")
    since = time.monotonic()
    done = jobs.app.drain(max_seconds=1)
    assert time.monotonic() - since < 2
    assert (done.processed, done.running, handle.state) == (0, 1, "running")
    assert jobs.app.drain(max_seconds=1) == Drained()  # no attempt begins beside it
    (folder / "late").touch()
    assert settled(jobs.app, handle, "completed").attempt == 1


def test_a_handler_that_outlives_its_timeout_does_not_hold_a_drain_for_ever(jobs, journal, folder):
    handle = jobs.plain.options(timeout=0.1).enqueue("late")
    assert jobs.app.drain().running == 1
    assert handle.state == "running"
    (folder / "late").touch()
    settled(jobs.app, handle, "dead")


@everywhere
def test_it_finds_the_jobs_of_a_worker_that_was_killed(jobs, start_worker, journal, folder):
    handle = jobs.plain.options(retry=3).enqueue("late")
    process = start_worker(lease="500ms")
    journal.wait("started plain")
    process.kill()
    process.wait()
    renewed = eventually(jobs.app.store.workers, "the dead worker")[0].beat_at
    eventually(lambda: jobs.app.clock.now() > renewed + 700, "its lease to end")
    (folder / "late").touch()
    assert jobs.app.drain().completed == 1
    assert handle.state == "completed"


def test_it_does_every_chore_of_a_worker_before_the_first_claim(jobs):
    done, counts = [], OneShot(jobs.app, one_shot.SimpleQueue())
    for name, step in counts._chores.items():
        counts._chores[name] = lambda now, name=name, step=step: done.append(name) or step(now)
    claim, before = jobs.app.store.claim, []
    jobs.app.store.claim = lambda *given, **named: before.append(list(done)) or claim(*given, **named)
    try:
        counts.drain()
    finally:
        del jobs.app.store.claim
    assert before[0] == [chore.name for chore in Worker(jobs.app).chores]


def test_it_counts_its_own_jobs_beside_another_worker_of_the_same_application(jobs, journal, folder):
    with jobs.app.worker(types=["plain"]):
        other = jobs.plain.enqueue("late")
        journal.wait("started plain")
        jobs.counts.enqueue(1)
        (folder / "late").touch()
        assert jobs.app.drain(types=["counts"]) == Drained(completed=1)
        assert other.result(timeout=20) == "plain"


@everywhere
def test_left_is_what_it_could_take(jobs):
    jobs.app.enqueue_many(jobs.counts.prepare(n) for n in range(5))
    jobs.child.enqueue("elsewhere")
    jobs.plain.enqueue()
    jobs.app.pause(type="plain")
    done = jobs.app.drain(max_jobs=2, types=["counts", "plain"])
    assert (done.processed, done.left) == (2, 3)


def test_a_store_that_fails_ends_it_in_time(jobs, monkeypatch):
    """Also one without a limit of time."""
    monkeypatch.setattr(one_shot, "UNREACHABLE", 0.3)
    claim = jobs.app.store.claim

    def failing(*given, **named):
        raise StoreUnavailable("the store is away")

    jobs.counts.enqueue(1)
    for limit in (None, 1):
        jobs.app.store.claim = failing
        since = time.monotonic()
        with pytest.raises(StoreUnavailable, match="is away"):
            jobs.app.drain(max_seconds=limit)
        assert time.monotonic() - since < 5
        jobs.app.store.claim = claim
    assert jobs.app.drain().completed == 1


def test_a_claim_that_got_no_reply_is_not_the_end(jobs):
    """The jobs that it brought are found and run."""
    claim, calls = jobs.app.store.claim, []

    def losing(*given, **named):
        claims = claim(*given, **named)
        calls.append(claims)
        if len(calls) == 1:
            raise StoreUnavailable("the reply is lost")
        return claims

    jobs.counts.enqueue(1)
    jobs.app.store.claim = losing
    assert jobs.app.drain() == Drained(completed=1)


def test_a_lost_lease_is_not_the_end(jobs, journal, folder):
    first, lost = jobs.plain.options(retry=3).enqueue("late"), []

    def lose(job):
        if not lost:
            lost.append(job)
            jobs.app.store.deregister(job.worker)
            (folder / "late").touch()

    jobs.app.events.on("started", lose)
    done = jobs.app.drain(lease="1s", max_seconds=20)
    assert (lost[0].id, first.state, done.left) == (first.id, "completed", 0)


def test_limits_that_make_no_sense_change_nothing(jobs):
    jobs.counts.enqueue(1)
    for limits in ({"max_jobs": 0}, {"max_seconds": 0}, {"max_jobs": -3}):
        with pytest.raises(UsageError):
            jobs.app.drain(**limits)
    assert jobs.app.store.workers() == []


def test_in_a_test_it_runs_in_the_calling_thread(jobs):
    threads = []

    @jobs.app.job(retry=Retry(2, base="1h"))
    def where(n: int) -> None:
        threads.append(threading.current_thread())
        if n == 2 and ctx.attempt == 1:
            raise ValueError

    with jobs.app.testing():
        jobs.app.enqueue_many(where.prepare(n) for n in range(4))
        assert jobs.app.drain(max_jobs=3) == Drained(completed=2, retried=1, left=1)
        assert jobs.app.drain() == Drained(completed=1)
    assert set(threads) == {threading.current_thread()}
