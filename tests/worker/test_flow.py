"""Flow control with real workers: limits, rates, pauses, parents, breakers, back-pressure, fairness and expiry, on every engine."""

import asyncio
import threading
from datetime import UTC, datetime, timedelta

import pytest

from mainstay import Breaker, Limit, Mainstay, QueueFull, ctx
from tests.waiting import eventually

pytestmark = pytest.mark.engines("sqlite", "postgres18", "valkey")
SECOND = timedelta(seconds=1)


@pytest.fixture
def app(engine_url):
    with_types = Mainstay(engine_url)
    yield with_types
    with_types.close()


def results(handles, seconds=60):
    return [handle.result(timeout=seconds) for handle in handles]


def spans(app, handles):
    """When each job started and ended, in the order of their starts."""
    return sorted((job.started_at, job.finished_at) for job in (app.get(handle) for handle in handles))


def most_at_once(found):
    """The largest number of spans that overlap."""
    edges = sorted(
        [(start, 1) for start, _ in found] + [(end, -1) for _, end in found], key=lambda edge: (edge[0], edge[1])
    )
    most = now = 0
    for _, step in edges:
        now += step
        most = max(most, now)
    return most


def fastest(app, handles, rate, burst=1):
    """By how many starts some window has more than the rate permits; zero or less is right.

    A server charges by its own clock, but a job starts by that of the worker, which was read before the call. `tests/contract`
    has the exact test.
    """
    found, slack = spans(app, handles), 0.002 if app.store.url.startswith("sqlite") else 0.25
    starts = [start for start, _ in found]
    return max(
        (later - first + 1) - (burst + rate * ((starts[later] - starts[first]).total_seconds() + slack))
        for first in range(len(starts))
        for later in range(first, len(starts))
    )


# the three limiters of seed 003 ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(("running", "rate", "jobs"), [(5, 10, 20), (3, 5, 9), (20, 100, 60)])
def test_a_fleet_starts_no_more_at_once_and_no_faster_than_permitted(app, running, rate, jobs):
    together = threading.Barrier(running)  # so many do run at once

    @app.job(limit=Limit(running=running, rate=f"{rate}/s"))
    def call(n: int):
        together.wait(60)

    handles = app.enqueue_many(call.prepare(n) for n in range(jobs))
    with app.worker(concurrency=running), app.worker(concurrency=running):
        results(handles)
    found = spans(app, handles)
    assert most_at_once(found) == running
    assert fastest(app, handles, rate) <= 0
    assert {app.get(handle).attempt for handle in handles} == {1}


def test_a_burst_starts_at_once_and_the_rest_at_the_rate(app):
    @app.job(limit=Limit(rate="20/s", burst=5))
    def call(n: int):
        pass

    handles = app.enqueue_many(call.prepare(n) for n in range(15))
    with app.worker(concurrency=10):
        results(handles)
    found = spans(app, handles)
    assert fastest(app, handles, 20, burst=5) <= 0
    assert found[4][0] - found[0][0] < SECOND / 2


def test_each_tenant_has_a_limit_of_its_own(app):
    gates, running = {name: threading.Barrier(2) for name in "ab"}, []

    @app.job(limit=Limit(running=2, key="tenant/*"))
    def call():
        running.append(ctx.tenant)
        gates[ctx.tenant[0]].wait(60)

    handles = [call.options(tenant=f"{name}/{n}").enqueue() for n in range(4) for name in "ab"]
    with app.worker(concurrency=8):
        results(handles)
    for name in "ab":
        own = [handle for handle in handles if app.get(handle).tenant.startswith(name)]
        assert most_at_once(spans(app, own)) == 2


def test_a_handler_pushes_its_rate_and_comes_back_without_losing_an_attempt(app):
    told = []

    @app.job(limit=Limit(rate="100/s"))
    def call():
        if not told:
            told.append(True)
            ctx.rate_limited(retry_after="300ms")

    @app.job(limit=Limit(rate="100/s"))
    async def acall():
        if len(told) == 1:
            told.append(True)
            await ctx.arate_limited(retry_after="300ms")

    with app.worker(concurrency=2):
        for type in (call, acall):
            job = type.enqueue()
            job.result(timeout=60)
            found = app.get(job)
            assert found.started_at - found.created_at >= SECOND * 0.3
            assert (found.attempt, len(app.attempts(job))) == (1, 2)
    assert len(told) == 2


@pytest.mark.parametrize("is_async", [False, True])
def test_a_batch_pushes_the_rates_of_all_its_jobs(app, is_async):
    calls = []

    def call(items: list[int]) -> None:
        calls.append((items, datetime.now(UTC)))
        if len(calls) == 1:
            ctx.rate_limited(retry_after="1s")

    async def acall(items: list[int]) -> None:
        calls.append((items, datetime.now(UTC)))
        if len(calls) == 1:
            await ctx.arate_limited(retry_after="1s")

    limit = Limit(rate="100/s", burst=4, key="tenant")
    work = app.job(batch=4, wait="2s", limit=limit, name="call")(acall if is_async else call)
    jobs = app.enqueue_many(work.options(tenant="ab"[n % 2]).prepare(n) for n in range(4))
    with app.worker(concurrency=2):
        eventually(lambda: all(app.get(job.id).state == "scheduled" for job in jobs), "the batch is snoozed")
        jobs += app.enqueue_many(work.options(tenant="ab"[n % 2]).prepare(n) for n in range(4, 6))
        results(jobs)
    assert sorted(calls[0][0]) == [0, 1, 2, 3]
    assert sorted(item for items, _ in calls[1:] for item in items) == list(range(6))
    for job in map(app.get, jobs):
        assert job.started_at - calls[0][1] >= SECOND * 0.99  # clocks count milliseconds
        assert job.attempt == 1


# pauses ---------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("what", [{"type": "mail"}, {"queue": "post"}, {}], ids=["type", "queue", "all"])
def test_workers_obey_a_pause_and_its_end_within_a_second(app, what):
    @app.job(queue="post")
    def mail(n: int):
        pass

    @app.job(queue="other")
    def check():
        pass

    with app.worker(concurrency=3):
        mail.enqueue(0).result(timeout=60)
        app.pause(**what, reason="an outage", actor="ada")
        held = [mail.enqueue(n) for n in range(3)]
        if what:
            results([check.enqueue() for _ in range(3)])  # the worker has claimed meanwhile
        assert {app.get(handle).label for handle in held} == {"queued"}
        first = app.why(held[0]).reasons[0]
        assert (first.kind, first.details["actor"], first.details["reason"]) == ("paused", "ada", "an outage")
        resumed = app.resume(**what, actor="ada")
        assert resumed.before["reason"] == "an outage"
        results(held)
    (end, *_) = [action for action in app.actions() if action.action == "rule"]
    assert all(app.get(handle).started_at - end.at < SECOND for handle in held)


# parents --------------------------------------------------------------------------------------------------------------
def test_sanitize_extract_upload_in_this_order(app):
    seen = []

    @app.job
    def sanitize(n: int):
        seen.append((n, "sanitize"))

    @app.job
    def extract(n: int):
        seen.append((n, "extract"))

    @app.job
    def upload(n: int):
        seen.append((n, "upload"))

    chains = []
    for n in range(10):
        first = sanitize.enqueue(n)
        second = extract.options(after=[first]).enqueue(n)
        chains.append((first, second, upload.options(after=[first, second]).enqueue(n)))
    assert app.why(chains[0][2]).reasons[0].details["parents"].keys() == {chains[0][0].id, chains[0][1].id}
    with app.worker(concurrency=4), app.worker(concurrency=4):
        results(handle for chain in chains for handle in chain)
    for n in range(10):
        assert [step for of, step in seen if of == n] == ["sanitize", "extract", "upload"]


@pytest.mark.parametrize(("then", "state"), [("cancel", "cancelled"), ("dead", "dead"), ("run", "completed")])
def test_what_becomes_of_a_child_whose_parent_fails(app, then, state):
    @app.job(retry=1)
    def parent():
        raise ValueError

    @app.job
    def child():
        pass

    first = parent.enqueue()
    second = child.options(after=[first.id], if_parent_fails=then).enqueue()
    with app.worker(concurrency=2):
        eventually(lambda: second.state == state, f"the child to be {state}")


# breakers -------------------------------------------------------------------------------------------------------------
def test_a_breaker_opens_tries_one_and_closes_and_no_attempt_is_spent(app):
    offline, calls = threading.Event(), []
    offline.set()

    @app.job(retry=1, breaker=Breaker(failures=0.5, of=4, rest="400ms"))
    def call(n: int):
        calls.append(n)
        if offline.is_set():
            raise ConnectionError

    with app.worker(concurrency=1):
        failed = [call.enqueue(n) for n in range(4)]
        eventually(lambda: all(handle.state == "dead" for handle in failed), "four failures")
        held = [call.enqueue(n) for n in range(10, 15)]
        (breaker,) = app.breakers()
        assert (breaker.type, breaker.state, breaker.of) == ("call", "open", 4)
        offline.clear()
        results(held)
    assert (sorted(calls[:4]), sorted(calls[4:])) == ([0, 1, 2, 3], [10, 11, 12, 13, 14])
    assert {app.get(handle).attempt for handle in held} == {1}
    assert min(app.get(handle).started_at for handle in held) >= breaker.until - SECOND / 50
    assert app.breakers()[0].state == "closed"


def test_an_operator_opens_a_breaker_and_closes_it(app):
    @app.job(breaker=Breaker())
    def call():
        pass

    with app.worker(concurrency=1):
        app.open_breaker("call", rest="1h", reason="maintenance", actor="ada")
        held = call.enqueue()
        assert app.why(held).reasons[0].kind == "breaker"
        app.close_breaker("call", actor="ada")
        held.result(timeout=60)


# back-pressure --------------------------------------------------------------------------------------------------------
def test_an_enqueue_waits_for_room(app):
    app.queue("mail", max_depth=3, when_full="wait", wait="60s")

    @app.job(queue="mail")
    def send(n: int):
        pass

    for n in range(3):
        send.enqueue(n)
    entered = []
    waiting = threading.Thread(target=lambda: entered.append(send.enqueue(3)))
    waiting.start()
    with app.worker(concurrency=1):
        waiting.join(60)
        results(entered)

    async def many():
        return await asyncio.gather(*(send.aenqueue(n) for n in range(9)))

    with app.worker(concurrency=1):
        results(asyncio.run(many()))


def test_an_enqueue_that_waited_long_enough_raises(app):
    app.queue("mail", max_depth=1, when_full="wait", wait="50ms")
    app.enqueue("send", queue="mail")
    with pytest.raises(QueueFull) as caught:
        app.enqueue("send", queue="mail")
    assert (caught.value.how, caught.value.max_depth) == ("wait", 1)
    with pytest.raises(QueueFull):
        asyncio.run(app.aenqueue("send", queue="mail"))


# fairness and expiry --------------------------------------------------------------------------------------------------
def test_a_small_tenant_does_not_wait_for_a_large_one(app):
    app.queue("default", fair=True)

    @app.job
    def work():
        pass

    large = app.enqueue_many(work.options(tenant="large").prepare() for _ in range(1_000))
    small = app.enqueue_many(work.options(tenant="small").prepare() for _ in range(10))
    order = []
    app.events.on("started", lambda job: order.append(job.id))
    with app.worker(concurrency=2):
        results(small)
        results(large[:1])
    last = max(order.index(handle.id) for handle in small)
    assert last < 40


def test_what_has_not_started_in_time_is_cancelled(app):
    @app.job
    def work():
        pass

    late = work.options(start_by="1ms").enqueue()
    good = work.options(start_by="1h").enqueue()
    with app.worker(concurrency=1):
        eventually(lambda: late.state == "cancelled", "the late job to be cancelled")
        good.result(timeout=60)
    assert app.get(late).reason.startswith("not started by 20")
    assert app.get(late).attempt <= 1
    assert app.get(good).start_by is not None


def test_a_claimed_job_that_is_late_is_cancelled_too(app, monkeypatch):
    """A worker that comes back after hours claims before its first round of chores."""
    monkeypatch.setattr(app.store, "expire", lambda now, limit: 0)
    ran = []

    @app.job
    def work():
        ran.append(True)

    late = work.options(start_by="1ms").enqueue()
    with app.worker(concurrency=1):
        eventually(lambda: late.state == "cancelled", "the late job to be cancelled")
    assert not ran


# types ----------------------------------------------------------------------------------------------------------------
def test_what_operators_set_survives_a_deploy_and_shows_as_drift(app, engine_url):
    @app.job(limit=Limit(running=5), description="Sends mail.")
    def send(n: int):
        pass

    with app.worker(concurrency=1):
        send.enqueue(1).result(timeout=60)
    app.set_type("send", priority=7, attempts=9, actor="ada")
    app.set_limit("send", running=2, actor="ada")
    deployed = Mainstay(engine_url)
    deployed.job(name="send", limit=Limit(running=3))(lambda n: None)
    with deployed.worker(concurrency=1):
        handle = deployed.enqueue("send", {"n": 1})
        handle.result(timeout=60)
    (record,) = app.types()
    assert (record.drift, record.set["priority"].actor) == (("attempts", "priority"), "ada")
    assert (deployed.get(handle).priority, deployed.get(handle).max_attempts) == (7, 9)
    (limit,) = app.limits()
    assert (limit.declared, limit.effective) == ({"running": 3}, {"running": 2})
    assert app.reset_type("send").after == {}
    assert app.reset_limit("send").after == {}
    assert app.limits()[0].effective == {"running": 3}
    deployed.close()
