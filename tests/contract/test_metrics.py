"""Statistics and metrics of an application, on every engine: they agree with what happened, and a real parser reads the metrics."""

import asyncio
from collections import Counter

import pytest
from prometheus_client.parser import text_string_to_metric_families

from mainstay import Mainstay, UsageError
from mainstay.control.metrics_app import metrics_app
from mainstay.core.clock import DAY, HOUR
from mainstay.core.errors import StoreUnavailable
from tests.contract.building import FAILED, FINAL
from tests.servers.engines import ONE_OF_EACH

HOSTILE = 'a"b\\c'

pytestmark = pytest.mark.engines(*ONE_OF_EACH)


@pytest.fixture
def app(desk):
    return Mainstay(store=desk.store, clock=desk.clock)


@pytest.fixture
def lived(desk):
    """Ten jobs that ran 2 s each, one a minute; one of them died. Another one needed a second attempt, and one waits."""
    for n in range(10):
        desk.join()
        job = desk.run()
        desk.clock.advance("2s")
        desk.end(job, FINAL) if n == 5 else desk.end(job)
        desk.clock.advance("58s")
    desk.join()
    job = desk.run()
    desk.end(job, FAILED)
    desk.clock.advance("1s")
    desk.end(desk.take_this(job.id))
    desk.add()
    return desk


def samples(text):
    """All samples of a text, by name and labels."""
    families = list(text_string_to_metric_families(text))
    assert len({family.name for family in families}) == len(families)
    found = [sample for family in families for sample in family.samples]
    keys = Counter((sample.name, *sorted(sample.labels.items())) for sample in found)
    assert set(keys.values()) == {1}, "no sample comes twice"
    return {(sample.name, *sample.labels.values()): sample.value for sample in found}


def test_the_metrics_are_what_a_parser_reads(app, lived):
    found = samples(app.metrics())
    jobs = {key[2]: n for key, n in found.items() if key[0] == "mainstay_jobs_total" and n and key[2] != "enqueued"}
    assert jobs == {"started": 12, "completed": 10, "failed": 2, "retried": 1, "dead": 1}
    assert found["mainstay_queue_depth", "work", "queued"] == found["mainstay_workers", "live"] == 1
    assert found["mainstay_jobs_active", "work"] == 0
    assert found["mainstay_worker_slots",] == 8


def test_the_histograms_have_the_buckets_of_seconds_and_grow_along_them(app, lived):
    found = samples(app.metrics())
    buckets = {key[2]: n for key, n in found.items() if key[0] == "mainstay_job_duration_seconds_bucket"}
    assert list(buckets) == ["0.1", "0.5", "1", "5", "10", "30", "60", "300", "+Inf"]
    assert list(buckets.values()) == [2, 2, 2, *[12] * 6]
    assert found["mainstay_job_duration_seconds_sum", "work"] == 20
    tries = {key[2]: n for key, n in found.items() if key[0] == "mainstay_job_attempts_bucket"}
    assert (tries["1"], tries["2"], tries["+Inf"], found["mainstay_job_attempts_sum", "work"]) == (10, 11, 11, 12)
    assert found["mainstay_job_wait_seconds_count", "work"] == 12


def test_counters_never_go_back_when_minutes_and_hours_go(app, lived):
    before = samples(app.metrics())
    for days in (0, 1, 60):
        lived.clock.move_to(lived.now + days * DAY + HOUR)
        lived.store.roll_up(lived.now, HOUR, DAY)
        found = samples(app.metrics())
        assert all(
            found[key] >= n for key, n in before.items() if key[0] not in ("mainstay_workers", "mainstay_worker_slots")
        )


def test_a_type_cannot_break_the_format(app, desk):
    desk.add(HOSTILE)
    desk.end(desk.take(wants={"default": [HOSTILE]})[0])
    assert samples(app.metrics())["mainstay_jobs_total", HOSTILE, "completed"] == 1


def test_stats_by_type_and_as_a_series_agree(app, lived):
    (row,) = app.stats("1h").rows
    assert (row.type, row.completed, row.failed, row.retried, row.dead) == ("work", 10, 2, 1, 1)
    assert (row.attempts, row.success, sum(row.trend)) == (12, 10 / 12, 12)
    assert row.run.mean == pytest.approx(20 / 12)
    assert 1.7 <= row.run.p50 <= row.run.p95 <= 2.3
    series = app.stats("1h", by="minute").rows
    assert len(series) == 61
    assert (
        sum(each.completed for each in series) == sum(each.completed for each in app.stats("7d", by="day").rows) == 10
    )
    assert app.stats("1h", types=["nobody"]).rows == ()


def test_stats_of_a_day_are_the_same_after_minutes_have_become_hours(app, lived):
    lived.clock.move_to(lived.now + 5 * HOUR)
    before = app.stats("24h").rows
    lived.store.roll_up(lived.now, 3 * HOUR, 30 * DAY)
    (found,), (was,) = app.stats("24h").rows, before
    assert found._replace(enqueued=0) == was._replace(enqueued=0)
    assert app.stats("1h").rows == ()


@pytest.mark.parametrize("given", [{"since": "x"}, {"since": "59s"}, {"by": "week"}, {"since": "3h", "by": "minute"}])
@pytest.mark.engines("memory")
def test_what_cannot_be_shown_is_refused(app, given):
    with pytest.raises(UsageError):
        app.stats(**given)


# over HTTP ------------------------------------------------------------------------------------------------------------
def asked(application, method="GET"):
    """The status, the headers and the body of an answer."""
    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(application({"type": "http", "method": method, "path": "/"}, None, send))
    start, body = sent
    return start["status"], dict(start["headers"]), body["body"].decode()


@pytest.mark.engines("memory")
def test_metrics_over_http(app, lived):
    status, headers, body = asked(app.metrics_app())
    assert (status, body) == (200, app.metrics())
    assert headers[b"content-type"].startswith(b"text/plain; version=0.0.4")
    assert int(headers[b"content-length"]) == len(body.encode())
    assert asked(app.metrics_app(), "HEAD")[::2] == (200, "")
    assert asked(app.metrics_app(), "POST")[0] == 405


def test_a_store_that_cannot_be_reached_is_no_secret_of_the_answer():
    def metrics():
        raise StoreUnavailable("no route to db.internal")

    status, _, body = asked(metrics_app(metrics))
    assert (status, body) == (503, "StoreUnavailable\n")


def test_a_server_can_start_and_end_it():
    events, sent = iter(["lifespan.startup", "lifespan.shutdown"]), []

    async def receive():
        return {"type": next(events)}

    async def send(message):
        sent.append(message["type"])

    asyncio.run(metrics_app(str)({"type": "lifespan"}, receive, send))
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
