"""Health on every engine: each part is healthy, degraded or unhealthy by its thresholds, which operators change live."""

import socket
import time

import pytest

from mainstay import Mainstay
from mainstay.control.health import DEGRADED, HEALTHY, UNHEALTHY
from mainstay.core.clock import HOUR, MINUTE, ManualClock, SystemClock
from mainstay.core.decide import decide
from mainstay.core.errors import UsageError
from mainstay.core.job import Rule, WorkerInfo
from mainstay.core.outcome import Outcome
from mainstay.stores import move, open_store
from mainstay.upkeep.schedule import Schedules
from tests.contract.building import draft

DEAD = Outcome("failed", error="Boom: no", retry=False, reason="permanent")


@pytest.fixture
def app(store, clock):
    app = Mainstay(store=store, clock=clock)
    app.set_setting("health.store_ms", 60_000)  # a busy machine
    return app


def part(app, name):
    return next(each for each in app.health("60s").components if each.name == name)


def join(app, worker="w1", lease=30 * MINUTE, **options):
    now = app.clock.now()
    info = WorkerInfo(worker, "host", 4321, 8, ("default",), ("mail",), now, now, now + lease, 0, stopping=False)
    app.store.register(info._replace(**options))


def die(app, count, worker="w1"):
    now = app.clock.now()
    app.store.enqueue([draft("mail") for _ in range(count)], now)
    claimed = app.store.claim(worker, {"default": ["mail"]}, count, now).jobs
    app.store.finish([decide(job, DEAD, now, lambda: 0.0) for job in claimed])


def test_an_installation_with_a_worker_is_healthy(app):
    join(app)
    found = app.health("60s")
    assert found.status == HEALTHY, found
    assert {each.name for each in found.components} >= {
        "store",
        "workers",
        "queues",
        "dead letters",
        "schedules",
        "clock",
    }
    assert part(app, "workers").figures == {"live": 1, "slots": 8, "running": 0}


def test_no_worker_is_unhealthy_and_too_few_are_degraded(app, clock):
    app.store.enqueue([draft("mail"), draft("mail")], clock.now())
    found = part(app, "workers")
    assert (found.status, found.text) == (UNHEALTHY, "none is running, and 2 jobs wait")
    assert found.fix.startswith("mainstay worker")
    app.set_setting("health.workers", 2)
    join(app)
    assert part(app, "workers").status == DEGRADED
    join(app, "w2")
    app.store.renew("w2", clock.now(), 30 * MINUTE, stopping=True)
    assert part(app, "workers").status == DEGRADED
    join(app, "w3")
    assert part(app, "workers").status == HEALTHY
    app.set_setting("health.workers", 0)
    for worker in ("w1", "w2", "w3"):
        app.store.deregister(worker)
    assert part(app, "workers").status == HEALTHY


def test_dead_jobs_degrade_from_one_and_are_unhealthy_from_a_hundred(app):
    join(app)
    assert part(app, "dead letters").status == HEALTHY
    die(app, 1)
    assert (part(app, "dead letters").status, app.health("60s").status) == (DEGRADED, DEGRADED)
    die(app, 98)
    assert part(app, "dead letters").figures["dead"] == 99
    assert part(app, "dead letters").status == DEGRADED
    die(app, 1)
    assert (part(app, "dead letters").status, app.health("60s").status) == (UNHEALTHY, UNHEALTHY)
    app.set_setting("health.dead_degraded", 101)
    app.set_setting("health.dead_unhealthy", 200)
    assert part(app, "dead letters").status == HEALTHY


def test_dead_jobs_that_an_operator_ignores_do_not_count(app):
    join(app)
    die(app, 1)
    (record,) = app.dead()
    app.dead_group(record.fingerprint).ignore()
    assert (part(app, "dead letters").status, part(app, "dead letters").figures["dead"]) == (HEALTHY, 0)


def test_a_job_that_waits_too_long_and_a_full_queue_degrade(app, clock):
    join(app, lease=9 * HOUR)
    app.store.enqueue([draft("mail")], clock.now())
    clock.advance("1h")
    assert part(app, "queues").status == HEALTHY
    clock.advance("1s")
    assert (part(app, "queues").status, part(app, "queues").figures["oldest_ms"]) == (DEGRADED, HOUR + 1000)
    app.set_setting("health.oldest", "2h")
    assert part(app, "queues").status == HEALTHY
    app.set_queue("default", max_depth=1)
    found = part(app, "queues")
    assert (found.status, found.figures["full"]) == (DEGRADED, ["default"])
    assert found.fix.startswith("mainstay queues set default --max-depth 2")


def test_schedules_that_are_late_or_fail_degrade(app, clock):
    join(app, lease=9 * HOUR)
    app.store.enqueue([draft("mail")], clock.now())
    app.create_schedule("nightly", "mail", every="1h")
    Schedules(app).catch_up()
    clock.advance("1h")
    clock.advance("5m")
    assert part(app, "schedules").status == HEALTHY
    clock.advance("1s")
    assert (part(app, "schedules").status, part(app, "schedules").figures["overdue"]) == (DEGRADED, ["nightly"])
    Schedules(app).catch_up()
    assert part(app, "schedules").status == HEALTHY
    (state,) = app.store.rules(["tick"])
    app.store.set_rule(Rule("tick", "nightly", {**state.value, "problem": "UsageError: no"}))
    found = part(app, "schedules")
    assert (found.status, found.figures["failing"]) == (DEGRADED, ["nightly"])
    app.pause_schedule("nightly")
    assert part(app, "schedules").status == HEALTHY


@pytest.mark.engines("memory", "sqlite", "postgres")  # Redis writes the instant of a beat itself
def test_a_worker_whose_clock_is_ahead_degrades(app):
    join(app, beat_at=app.clock.now() + MINUTE)
    assert part(app, "clock").status == DEGRADED
    app.set_setting("health.skew", "2m")
    assert part(app, "clock").status == HEALTHY


@pytest.mark.engines("postgres", "redis")
def test_a_clock_that_differs_from_the_engines_degrades(url):
    with open_store(url) as store:
        now = SystemClock().now()
        assert part(Mainstay(store=store, clock=ManualClock(now)), "clock").status == HEALTHY
        found = part(Mainstay(store=store, clock=ManualClock(now - MINUTE)), "clock")
        assert (found.status, "behind the store's clock" in found.text) == (DEGRADED, True)


def test_a_slow_store_is_degraded_and_one_whose_jobs_have_moved_unhealthy(app):
    join(app)
    app.set_setting("health.store_ms", 0)
    assert part(app, "store").status == DEGRADED
    app.store.set_setting(move.MOVED, "elsewhere")
    assert part(app, "store").status == UNHEALTHY


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("health.store", 1, "did you mean"),
        ("health.store_ms", "fast", "a whole number"),
        ("health.store_ms", -1, "a whole number"),
        ("health.store_ms", True, "a whole number"),
        ("health.oldest", "soon", "a duration"),
        ("health.oldest", None, "a duration"),
    ],
)
@pytest.mark.engines("memory")
def test_a_threshold_that_does_not_fit_is_refused(app, name, value, says):
    with pytest.raises(UsageError, match=says):
        app.set_setting(name, value)
    assert app.setting(name, "none") in ("none", 60_000)


@pytest.mark.engines("memory")
def test_a_damaged_threshold_counts_as_not_set(app):
    join(app)
    app.store.set_setting("health.workers", '"many"')
    assert part(app, "workers").status == HEALTHY


@pytest.mark.engines("memory")
@pytest.mark.parametrize("scheme", ["postgresql://ada@127.0.0.1:{}/jobs", "redis://127.0.0.1:{}/0"])
def test_a_store_that_hangs_is_unhealthy_in_time(scheme):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        found = Mainstay(scheme.format(silent.getsockname()[1])).health("300ms")
        assert time.monotonic() - began < 5
    assert found.status == UNHEALTHY
    assert [each.name for each in found.components] == ["store"]
    assert "not replied within 300ms" in found.components[0].text
