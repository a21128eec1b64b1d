"""Batch handlers: several jobs of a type in one call, each with its own attempt and outcome."""

import asyncio
import random
import sqlite3
import threading
from contextlib import closing
from queue import SimpleQueue

import pytest

from mainstay import Cancel, JobFailed, Mainstay, Permanent, Retry, Review, Snooze, UsageError, ctx
from mainstay.core.clock import HOUR
from mainstay.core.events import Events
from mainstay.core.job import WorkerInfo
from mainstay.stores.results import Renewal
from mainstay.upkeep.sweep import Sweep
from tests.servers.engines import ENGINES
from tests.waiting import eventually
from tests.worker.conftest import everywhere, settled, terminate

FOREVER = "10s"  # longer than a test that does not wait for it
AT_ONCE = Retry(3, base="1ms", jitter=False)


@pytest.fixture
def app(request, tmp_path):
    name = request.getfixturevalue("engine") if "engine" in request.fixturenames else "memory"
    with ENGINES[name](tmp_path) as url, closing(Mainstay(url)) as app:
        yield app


def states(app, jobs):
    return [app.get(job.id).state for job in jobs]


# gathering ----------------------------------------------------------------------------------------------------------


@everywhere
@pytest.mark.parametrize("is_async", [False, True])
def test_full_batches_run_at_once_and_each_job_has_its_result(app, is_async):
    calls = []

    def double(items: list[int]) -> list[int]:
        calls.append(len(items))
        return [2 * n for n in items]

    async def adouble(items: list[int]) -> list[int]:
        await asyncio.sleep(0)
        return double(items)

    work = app.job(batch=4, wait=FOREVER, name="work")(adouble if is_async else double)
    jobs = app.enqueue_many(work.prepare(n) for n in range(12))
    with app.worker(concurrency=2):
        assert [job.result(timeout=30) for job in jobs] == [2 * n for n in range(12)]
    assert calls == [4, 4, 4]
    assert {app.get(job.id).attempt for job in jobs} == {1}


@everywhere
def test_a_batch_that_does_not_fill_runs_after_its_wait(app):
    calls = []

    @app.job(batch=100, wait="20ms")
    def work(items: list[int]) -> None:
        calls.append(len(items))

    jobs = app.enqueue_many(work.prepare(n) for n in range(3))
    with app.worker(concurrency=1):
        assert [job.result(timeout=30) for job in jobs] == [None] * 3
    assert calls == [3]


@everywhere
def test_jobs_that_come_later_join_a_batch_that_waits(app):
    calls = []

    @app.job(batch=3, wait=FOREVER)
    def work(items: list[int]) -> list[int]:
        calls.append(items)
        return items

    with app.worker(concurrency=1):
        jobs = [work.enqueue(0)]
        settled(app, jobs[0], "running")
        jobs += [work.enqueue(1), work.enqueue(2)]
        assert [job.result(timeout=30) for job in jobs] == [0, 1, 2]
    assert calls == [[0, 1, 2]]


def test_without_a_wait_a_batch_is_what_one_claim_brings(app):
    calls = []

    @app.job(batch=100, wait=0)
    def work(items: list[int]) -> None:
        calls.append(len(items))

    jobs = app.enqueue_many(work.prepare(n) for n in range(5))
    with app.worker():
        assert [job.result(timeout=30) for job in jobs] == [None] * 5
    assert calls == [5]


def test_a_batch_takes_one_slot(app):
    gate, started = threading.Event(), SimpleQueue()

    @app.job(batch=5, wait=FOREVER)
    def work(items: list[int]) -> None:
        started.put(len(items))
        assert gate.wait(30)

    @app.job
    def other() -> str:
        return "beside"

    jobs = app.enqueue_many(work.prepare(n) for n in range(15))
    with app.worker(concurrency=3) as worker:
        assert [started.get(timeout=30) for _ in range(2)] == [5, 5]
        eventually(lambda: worker.slots.room() == 0, "the third batch to take the third slot")
        assert worker.in_flight.active == 15
        gate.set()
        assert [job.result(timeout=30) for job in jobs] == [None] * 15
        assert other.enqueue().result(timeout=30) == "beside"
        assert worker.slots.room() == 3


def test_neither_plain_jobs_nor_batches_keep_the_others_from_the_slots(app):
    """Each job enqueues one like itself, so that both kinds always wait; concurrency 1 lets only one of them in."""
    ran = {"plain": 0, "batched": 0}
    both = threading.Event()

    def count(kind):
        ran[kind] += 1
        if min(ran.values()) >= 5:
            both.set()

    @app.job
    def plain() -> None:
        count("plain")
        ctx.enqueue(plain.prepare(), plain.prepare()) if not both.is_set() else None

    @app.job(batch=2, wait=0)
    def batched(items: list[int]) -> None:
        count("batched")
        if not both.is_set():
            ctx.batch[0].enqueue(batched.prepare(1), batched.prepare(2), batched.prepare(3))

    app.enqueue_many([plain.prepare() for _ in range(20)] + [batched.prepare(n) for n in range(20)])
    with app.worker(concurrency=1):
        assert both.wait(30)


# outcomes -----------------------------------------------------------------------------------------------------------


@everywhere
def test_an_exception_is_the_outcome_of_its_job_alone(app):
    @app.job(batch=10, wait="20ms", retry=Retry(2, base="1ms", jitter=False))
    def work(items: list[str]) -> list[str | Exception]:
        found = []
        for item in items:
            try:
                found.append(outcome(item))
            except Exception as error:  # noqa: BLE001
                found.append(error)
        return found

    def outcome(item):
        raise {
            "error": ValueError("broken"), "dead": Permanent("never", code="gone"), "later": Snooze("1h"),
            "cancelled": Cancel("old"), "review": Review("sure?", output=7), "good": StopIteration(),
        }[item]  # fmt: skip

    names = ["error", "dead", "later", "cancelled", "review", "error"]
    jobs = dict(zip(names, app.enqueue_many(work.prepare(name) for name in names), strict=False))
    with app.worker():
        settled(app, jobs["error"], "dead")
        expected = {"error": "dead", "dead": "dead", "later": "scheduled", "cancelled": "cancelled", "review": "review"}
        for name, state in expected.items():
            settled(app, jobs[name], state)
    assert [tried.error for tried in app.attempts(jobs["error"].id)] == ["ValueError: broken"] * 2
    trace = app.attempts(jobs["error"].id)[0].traceback
    assert "in work" in trace
    assert "in outcome" in trace
    assert "batch_runner" not in trace
    assert app.attempts(jobs["dead"].id)[0].code == "gone"
    assert app.get(jobs["later"].id).attempt == 0
    app.approve(jobs["review"].id)
    assert jobs["review"].result() == 7


def test_what_the_handler_raises_fails_each_job_and_each_decides_its_own_retry(app):
    @app.job(batch=3, wait=FOREVER)
    def work(items: list[int]) -> None:
        raise ConnectionError("away")

    jobs = [work.options(retry=Retry(n, base="1h")).enqueue(n) for n in (1, 2, 3)]
    with app.worker():
        eventually(lambda: states(app, jobs) == ["dead", "scheduled", "scheduled"], "each to end its attempt")
    assert {app.attempts(job.id)[0].error for job in jobs} == {"ConnectionError: away"}


@pytest.mark.parametrize(
    ("returned", "says"),
    [
        ([1], "UsageError: the batch has 2 jobs, but the handler returned a list of 1"),
        (7, "UsageError: a batch handler"),
    ],
)
def test_a_wrong_number_of_results_fails_all(app, returned, says):
    @app.job(batch=2, wait=FOREVER, retry=1)
    def work(items: list[int]) -> list[int]:
        return returned

    jobs = app.enqueue_many([work.prepare(1), work.prepare(2)])
    with app.worker():
        assert all(settled(app, job, "dead").error.startswith(says) for job in jobs)


def test_a_result_that_cannot_be_stored_fails_its_job_alone(app):
    @app.job(batch=2, wait=FOREVER)
    def work(items: list[int]) -> list[object]:
        return [object() if n else "good" for n in items]

    good, bad = app.enqueue_many([work.prepare(0), work.prepare(1)])
    with app.worker():
        assert good.result(timeout=30) == "good"
        assert settled(app, bad, "dead").reason == "its result cannot be stored"


@everywhere
def test_a_payload_that_does_not_fit_is_dead_alone(app):
    calls = []

    @app.job(batch=3, wait="20ms")
    def work(items: list[int]) -> list[int]:
        calls.append([*items, len(ctx.batch)])
        return items

    elsewhere = Mainstay(store=app.store)  # without the code, so that nobody checks
    jobs = [elsewhere.enqueue("work", {"item": item}) for item in (1, "two", 3)]
    with app.worker():
        assert [jobs[0].result(timeout=30), jobs[2].result(timeout=30)] == [1, 3]
        assert settled(app, jobs[1], "dead").reason == "invalid payload"
    assert calls == [[1, 3, 2]]


def test_a_payload_of_newer_code_is_left_to_others_alone(app):
    @app.job(batch=2, wait="20ms")
    def work(items: list[int]) -> list[int]:
        return items

    newer = Mainstay(store=app.store)
    good = work.enqueue(1)
    other = newer.job(batch=2, version=2, name="work")(work.function).enqueue(2)
    with app.worker():
        assert good.result(timeout=30) == 1
        job = settled(app, other, "scheduled")
    assert (job.reason, job.attempt) == ("waits for a worker with version 2 of work", 0)


def test_jobs_complete_in_one_transaction_of_the_handler(tmp_path):
    app = Mainstay(f"sqlite:///{tmp_path}/jobs.db")

    @app.job(batch=3, wait=FOREVER)
    def work(items: list[int]) -> list[int]:
        with closing(sqlite3.connect(tmp_path / "jobs.db", timeout=10)) as connection:
            connection.execute("CREATE TABLE mine (n)")
            for n, job in zip(items, ctx.batch, strict=True):
                connection.execute("INSERT INTO mine VALUES (?)", (n,))
                job.complete_in(connection, n)
            connection.commit()
        return items

    jobs = app.enqueue_many(work.prepare(n) for n in range(3))
    with closing(app), app.worker():
        assert [job.result(timeout=30) for job in jobs] == [0, 1, 2]


# ctx ----------------------------------------------------------------------------------------------------------------


@everywhere
def test_reports_go_to_every_job_or_to_one(app):
    @app.job(batch=2, wait=FOREVER, retry=AT_ONCE)
    def work(items: list[str]) -> list[dict]:
        ctx.log("to all")
        ctx.progress(1, 2)
        with ctx.stage("read"):
            for item, job in zip(items, ctx.batch, strict=True):
                job.log("to one", item=item)
                job.save(item=item)
        if ctx.batch[0].attempt == 1:
            raise ValueError("again")
        assert ctx.type == "work"
        return [job.checkpoint | {"id": job.id, "tenant": job.tenant} for job in ctx.batch]

    jobs = [work.options(tenant=name).enqueue(name) for name in ("a", "b")]
    with app.worker():
        found = [job.result(timeout=30) for job in jobs]
    assert found == [{"item": job.job().tenant, "id": job.id, "tenant": job.job().tenant} for job in jobs]
    for job, name in zip(jobs, ("a", "b"), strict=True):
        lines = [(line.message, line.fields.get("item")) for line in app.logs(job.id)]
        assert lines == [("to all", None), ("to one", name), ("read done", None)] * 2
        assert app.get(job.id).progress == 0.5


@pytest.mark.parametrize("name", ["id", "attempt", "tenant", "checkpoint", "created_at", "key", "priority", "queue"])
def test_what_differs_between_the_jobs_is_not_told_of_the_batch(app, name):
    @app.job(batch=2, wait="10ms", retry=1)
    def work(items: list[int]) -> None:
        getattr(ctx, name)

    with app.worker():
        job = settled(app, work.enqueue(1), "dead")
    assert job.error.startswith(
        "UsageError: this handler runs a batch of 1 jobs, and this is different for each of them"
    )


@pytest.mark.parametrize("call", ["save", "enqueue", "complete_in"])
def test_nor_can_it_be_done_for_all(app, call):
    arguments = {"save": {"n": 1}, "complete_in": {"tx": None}}

    @app.job(batch=2, wait="10ms")
    def work(items: list[int]) -> None:
        with pytest.raises(UsageError, match=r"use ctx\.batch"):
            getattr(ctx, call)(**arguments.get(call, {}))

    with app.worker():
        work.enqueue(1).result(timeout=30)


def test_children_belong_to_the_job_that_enqueues_them(app):
    @app.job(batch=2, wait=FOREVER)
    def work(items: list[int]) -> list[Exception | None]:
        for n, job in zip(items, ctx.batch, strict=True):
            job.enqueue(child.prepare(n))
        return [None, Permanent("no")]

    @app.job
    def child(n: int) -> int:
        return n

    good, bad = app.enqueue_many([work.prepare(1), work.prepare(2)])
    with app.worker():
        good.result(timeout=30)
        settled(app, bad, "dead")
    assert [job.args for job in app.list(f"parent:{good.id}")] == [{"n": 1}]
    assert app.list(f"parent:{bad.id}") == []


def test_hooks_are_told_of_each_job_and_middleware_runs_once(app):
    told, around = SimpleQueue(), []
    app.on_start(lambda event: told.put(("start", event.id)))
    app.on_complete(lambda event: told.put(("complete", event.result)))

    @app.middleware
    def once():
        around.append(len(ctx.batch))
        yield

    @app.job(batch=2, wait=FOREVER)
    def work(items: list[int]) -> list[int]:
        return items

    jobs = app.enqueue_many([work.prepare(1), work.prepare(2)])
    with app.worker():
        assert [job.result(timeout=30) for job in jobs] == [1, 2]
    assert around == [2]
    expected = [("start", jobs[0].id), ("start", jobs[1].id), ("complete", 1), ("complete", 2)]
    assert [told.get(timeout=30) for _ in range(4)] == expected


# what stops a batch -------------------------------------------------------------------------------------------------


@everywhere
@pytest.mark.parametrize("is_async", [False, True])
def test_a_cancelled_job_ends_with_its_batch_which_goes_on(app, is_async):
    started, seen = SimpleQueue(), SimpleQueue()

    def look(items: list[int]):
        started.put(len(items))
        eventually(lambda: ctx.batch[1].cancelled, "the cancel to come")
        ctx.batch[1].check()  # a safe point of the batch, which goes on
        seen.put((ctx.cancelled, [job.cancelled for job in ctx.batch]))
        return items

    def plain(items: list[int]) -> list[int]:
        return look(items)

    async def awaits(items: list[int]) -> list[int]:
        found = await asyncio.to_thread(look, items)
        await asyncio.sleep(0)
        return found

    work = app.job(batch=3, wait=FOREVER, name="work")(awaits if is_async else plain)
    jobs = app.enqueue_many(work.prepare(n) for n in range(3))
    with app.worker():
        assert started.get(timeout=30) == 3
        assert app.cancel(jobs[1].id) == "cancelling"
        assert [jobs[0].result(timeout=30), jobs[2].result(timeout=30)] == [0, 2]
        settled(app, jobs[1], "cancelled")
    assert seen.get(timeout=30) == (False, [False, True, False])


def test_a_batch_stops_when_all_its_jobs_are_cancelled(app):
    started, ended = SimpleQueue(), []

    @app.job(batch=2, wait=FOREVER)
    async def work(items: list[int]) -> None:
        started.put(len(items))
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0)  # a second CancelledError would come here
            ended.append(len(items))

    jobs = app.enqueue_many([work.prepare(1), work.prepare(2)])
    with app.worker():
        started.get(timeout=30)
        for job in jobs:
            app.cancel(job.id)
        for job in jobs:
            settled(app, job, "cancelled")
    assert ended == [2]


def test_a_job_that_is_cancelled_while_its_batch_gathers_does_not_run(app):
    calls = []

    @app.job(batch=2, wait=FOREVER)
    def work(items: list[int]) -> None:
        calls.append(items)

    with app.worker() as worker:
        first = work.enqueue(1)
        settled(app, first, "running")
        app.cancel(first.id)
        (execution,) = worker.in_flight.open()
        eventually(lambda: execution.cancel, "the worker to hear of it")
        work.enqueue(2).result(timeout=30)
        settled(app, first, "cancelled")
    assert calls == [[2]]


@pytest.mark.parametrize("is_async", [False, True])
def test_the_smallest_timeout_of_its_jobs_is_that_of_the_batch(app, is_async):
    def plain(items: list[int]) -> None:
        eventually(lambda: ctx.cancelled, "the timeout")
        ctx.check()

    async def awaits(items: list[int]) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.01)

    work = app.job(batch=2, wait=FOREVER, retry=1, name="work")(awaits if is_async else plain)
    jobs = [work.options(timeout=limit).enqueue(1) for limit in ("1h", "50ms")]
    with app.worker():
        found = [settled(app, job, "dead").error for job in jobs]
    assert found == ["TimeoutError: ran longer than timeout=50ms"] * 2


def test_an_abandoned_batch_frees_its_slot(app):
    gate = threading.Event()

    @app.job(batch=2, wait=FOREVER, retry=1, timeout="50ms", on_timeout="abandon")
    def work(items: list[int]) -> None:
        gate.wait(30)

    @app.job
    def other() -> str:
        return "runs"

    jobs = app.enqueue_many([work.prepare(1), work.prepare(2)])
    with app.worker(concurrency=1) as worker:
        assert all(settled(app, job, "dead").error.startswith("TimeoutError") for job in jobs)
        assert other.enqueue().result(timeout=30) == "runs"
        gate.set()
        eventually(lambda: worker.slots.threads.stuck == 0, "the thread to come back")


@everywhere
def test_a_stop_releases_the_jobs_of_a_batch_that_has_not_begun(app):
    @app.job(batch=3, wait=FOREVER)
    def work(items: list[int]) -> None:
        raise AssertionError

    jobs = [work.enqueue(n) for n in range(2)]
    with app.worker():
        for job in jobs:
            settled(app, job, "running")
    assert [(app.get(job.id).state, app.get(job.id).attempt) for job in jobs] == [("queued", 0)] * 2


def test_a_stop_does_not_wait_for_a_batch_that_a_claim_under_way_brings(app):
    @app.job(batch=3, wait=FOREVER)
    def work(items: list[int]) -> None:
        raise AssertionError

    claim, brought = app.store.claim, threading.Event()

    def meets_a_stop(*given):
        claims = claim(*given)
        if claims.jobs:
            worker.slots.ask_to_stop()
            brought.set()
        return claims

    job = work.enqueue(1)
    worker = app.worker()
    app.store.claim = meets_a_stop
    with worker:
        assert brought.wait(30)
        eventually(lambda: worker.in_flight.active == 0, "the job to be released before its wait is over", 5)
    assert (app.get(job.id).state, app.get(job.id).attempt) == ("queued", 0)


def test_a_stop_releases_the_jobs_of_a_batch_that_waits_for_a_slot(app):
    started, gate = threading.Event(), threading.Event()

    @app.job(batch=2, wait=0)
    def work(items: list[int]) -> None:
        started.set()
        gate.wait(30)

    with app.worker(concurrency=1) as worker:
        work.enqueue(1)
        assert started.wait(30)
        waiting = app.enqueue_many([work.prepare(2), work.prepare(3)])
        jobs = app.store.claim(worker.id, {"default": ["work"]}, 2, app.clock.now()).jobs
        worker.claimer._take_over(jobs, worker.slots._monotonic())  # as if two claims had met
        assert worker.slots.backlog == 1
        worker.slots.withdraw()
        gate.set()
        assert [job.result(timeout=30) for job in waiting] == [None, None]
    assert {app.get(job.id).attempt for job in waiting} == {1}


@everywhere
def test_a_batch_that_reaches_a_safe_point_of_a_stop_is_released(app):
    started = threading.Event()

    @app.job(batch=2, wait=FOREVER)
    def work(items: list[int]) -> list[int]:
        if ctx.batch[0].checkpoint:
            return [job.checkpoint["n"] for job in ctx.batch]
        for n, job in zip(items, ctx.batch, strict=True):
            job.save(n=n)
        started.set()
        eventually(lambda: ctx.cancelled, "the stop")
        ctx.check()
        raise AssertionError

    jobs = app.enqueue_many([work.prepare(1), work.prepare(2)])
    with app.worker():
        assert started.wait(30)
    assert [(app.get(job.id).state, app.get(job.id).attempt) for job in jobs] == [("queued", 0)] * 2
    with app.worker():
        assert [job.result(timeout=30) for job in jobs] == [1, 2]


def test_the_end_of_the_grace_interrupts_an_async_batch_once(app):
    started, tidied = threading.Event(), []

    @app.job(batch=3, wait=FOREVER)
    async def work(items: list[int]) -> None:
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.05)
            tidied.append(len(items))

    jobs = app.enqueue_many(work.prepare(n) for n in range(3))
    worker = app.worker(grace="10ms").start()
    assert started.wait(30)
    worker.stop()
    assert tidied == [3]
    assert [(app.get(job.id).state, app.get(job.id).attempt) for job in jobs] == [("queued", 0)] * 3


@everywhere
def test_a_lost_lease_costs_each_job_one_attempt(app):
    started = SimpleQueue()

    @app.job(batch=2, wait=FOREVER, retry=AT_ONCE)
    def work(items: list[int]) -> list[int]:
        started.put(len(items))
        if ctx.batch[0].attempt == 1:
            eventually(lambda: ctx.cancelled, "the worker to drop the jobs")
        return [job.attempt for job in ctx.batch]

    renew, refused = app.store.renew, [True]
    jobs = app.enqueue_many([work.prepare(1), work.prepare(2)])
    with app.worker(lease="60s") as worker:
        assert started.get(timeout=30) == 2
        app.store.renew = lambda *given: Renewal(False, []) if refused.pop() else renew(*given)
        worker.services["heartbeat"].wake()
        eventually(lambda: not refused, "the renewal to be refused")
        app.store.renew = renew
        assert [job.result(timeout=30) for job in jobs] == [2, 2]
        assert worker.slots.room() == worker.concurrency


def test_a_job_on_its_last_chance_runs_in_a_batch_alone(app):
    calls = []

    @app.job(batch=4, wait="20ms")
    def work(items: list[int]) -> None:
        calls.append(items)

    jobs = [work.enqueue(0)]
    for name in ("first", "second"):
        now = app.clock.now()
        app.store.register(WorkerInfo(name, "host", 1, 50, ("default",), ("work",), now, now, now + HOUR, 0, False))
        assert len(app.store.claim(name, {"default": ["work"]}, 100, now).jobs) == 1
        app.store.deregister(name)
        Sweep(app.store, random.random, Events(), 1).step(now)
    assert app.get(jobs[0].id).crashes == 2
    jobs += app.enqueue_many(work.prepare(n) for n in range(1, 4))
    with app.worker():
        assert [job.result(timeout=30) for job in jobs] == [None] * 4
    assert sorted(calls) == [[0], [1, 2, 3]]


@everywhere
def test_the_jobs_of_a_killed_batch_run_again(jobs, journal, start_worker, folder):
    handles = jobs.app.enqueue_many(jobs.together.prepare("gate") for _ in range(8))
    first = start_worker(lease="2s")
    journal.wait("started together 8")
    first.kill()
    first.wait()
    (folder / "gate").touch()
    start_worker(lease="2s")
    assert [handle.result(timeout=60) for handle in handles] == ["gate"] * 8
    crashes = {(found.crashes, found.attempt) for found in map(jobs.app.get, (handle.id for handle in handles))}
    assert crashes <= {(1, 2), (1, 1)}  # of a worker on another machine, nobody knows what had started


@everywhere
def test_a_stopped_process_finishes_its_batch(jobs, journal, start_worker, folder):
    handles = jobs.app.enqueue_many(jobs.together.prepare("gate") for _ in range(3))
    process = start_worker()
    journal.wait("started together 3")
    terminate(process)
    journal.wait("told gate")
    (folder / "gate").touch()
    assert [handle.result(timeout=60) for handle in handles] == ["gate"] * 3


def test_a_job_of_a_batch_that_failed_raises_for_those_who_wait(app):
    @app.job(batch=2, wait="10ms", retry=1)
    def work(items: list[int]) -> list[int | Exception]:
        return [ValueError("no")]

    with app.worker(), pytest.raises(JobFailed, match="ValueError: no"):
        work.enqueue(1).result(timeout=30)
