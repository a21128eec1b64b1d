"""Schedules in a user's test: `advance` moves the clock from tick to tick, and `drain` runs what they have made."""

from datetime import UTC, datetime, timedelta

import pytest

from mainstay import Mainstay, ctx
from mainstay.core import schedule as core
from mainstay.core.clock import DAY, HOUR
from mainstay.core.errors import ConfigError, UsageError
from mainstay.testing import Trial

# Seed 003: name, cron with seconds first, type, arguments, and how often it fires in a day.
DEFAULTS = [
    ("session-cleanup", "0 */15 * * * *", "session-cleanup", {"maxAge": 86_400_000}, 96),
    ("memory-importance-decay", "0 0 */6 * * *", "memory-importance-decay", {"decayFactor": 0.99}, 4),
    ("index-optimization", "0 0 3 * * *", "index-optimization", {"threshold": 0.8}, 1),
    ("pattern-training-daily", "0 0 4 * * *", "pattern-training", {"batchSize": 1000, "epochs": 5}, 1),
    ("quota-check", "0 0 * * * *", "quota-check", {}, 24),
]


@pytest.fixture
def app():
    return Mainstay("sqlite:///:memory:")


def test_the_five_default_schedules_of_a_system(app):
    runs = []
    for name, cron, type, arguments, _ in DEFAULTS:

        @app.job(name=type)
        def handler(**given: float) -> None:
            runs.append((ctx.schedule, ctx.tick, given))

        app.schedule(name, handler.prepare(**arguments), cron=cron, tz="UTC")
    with app.testing() as kit:
        kit.clock.move_to(round(datetime(2026, 6, 1, 0, 0, 30, tzinfo=UTC).timestamp() * 1000))
        kit.advance("1d")
        kit.drain()
    for name, _, _, arguments, count in DEFAULTS:
        found = [(tick, given) for schedule, tick, given in runs if schedule == name]
        assert len(found) == len({tick for tick, _ in found}) == count
        assert all(given == arguments for _, given in found)
    (training,) = [tick for schedule, tick, _ in runs if schedule == "pattern-training-daily"]
    assert training == datetime(2026, 6, 1, 4, tzinfo=UTC)


@pytest.mark.parametrize(("mode", "jobs"), [("skip", 0), ("latest", 1), ("all", 72)])
def test_the_clock_alone_moves_as_if_no_worker_ran(app, mode, jobs):
    @app.job
    def work() -> None: ...

    app.schedule("hourly", work.prepare(), cron="0 * * * *", catch_up=mode)
    with app.testing() as kit:
        kit.clock.move_to(round(datetime(2026, 6, 1, 0, 10, tzinfo=UTC).timestamp() * 1000))
        kit.advance()
        kit.clock.advance("3d")
        assert kit.drain().completed == jobs


def test_a_job_of_no_schedule_has_no_tick(app):
    seen = []

    @app.job
    def work() -> None:
        seen.append((ctx.schedule, ctx.tick))

    with app.testing() as kit:
        work.enqueue()
        kit.drain()
    work()
    tick = datetime(2026, 6, 1, tzinfo=UTC)
    Trial(work, schedule="nightly", tick=tick).run()
    assert seen == [(None, None), (None, None), ("nightly", tick)]


def test_a_copy_of_a_job_is_for_the_same_tick(app):
    @app.job
    def work() -> None: ...

    app.schedule("hourly", work.prepare(), every="1h")
    with app.testing() as kit:
        kit.advance("1h")
        kit.drain()
        (job,) = kit.jobs
        again = app.copy(job.id).job()
        assert (again.schedule, again.tick, again.parent) == ("hourly", job.tick, job.id)


def test_declarations_are_checked_where_they_are_made(app):
    @app.job
    def work(n: int = 0) -> None: ...

    app.schedule("nightly", work.prepare(), cron="0 4 * * *")
    app.schedule("nightly", work.prepare(), cron="0 4 * * *")  # a module that is imported twice
    with pytest.raises(ConfigError, match="two schedules"):
        app.schedule("nightly", work.prepare(), cron="0 5 * * *")
    with pytest.raises(UsageError, match="not a prepared job"):
        app.create_schedule("other", work, cron="0 4 * * *")
    for options, says in (({"delay": "5m"}, "without delay="), ({"start_by": "5m"}, "without start_by=")):
        with pytest.raises(UsageError, match=says):
            app.schedule("other", work.options(**options).prepare(), cron="0 4 * * *")
    assert list(app.declared_schedules) == ["nightly"]


def test_next_fires(app):
    with app.testing() as kit:
        kit.clock.move_to(round(datetime(2026, 3, 7, 12, tzinfo=UTC).timestamp() * 1000))
        found = app.next_fires(cron="30 2 * * *", tz="America/New_York", count=2)
        assert found == [datetime(2026, 3, 8, 7, tzinfo=UTC), datetime(2026, 3, 9, 6, 30, tzinfo=UTC)]
        assert app.next_fires(every="1h", count=1) == [datetime(2026, 3, 7, 13, tzinfo=UTC)]
        for wrong in ({}, {"name": "x", "cron": "@daily"}, {"cron": "@daily", "count": 0}):
            with pytest.raises(UsageError):
                app.next_fires(**wrong)


# pure -----------------------------------------------------------------------------------------------------------------
def test_the_id_of_a_tick_is_always_the_same_and_sorts_by_time():
    ids = [core.tick_id("nightly", hour * HOUR) for hour in range(50)]
    assert ids == sorted(ids) == [core.tick_id("nightly", hour * HOUR) for hour in range(50)]
    assert len({len(each) for each in ids}) == 1
    assert core.tick_id("other", 0) != ids[0]


def test_jitter_spreads_over_its_whole_range():
    found = [core.jitter("nightly", tick, 1_000) for tick in range(2_000)]
    assert min(found) < 20
    assert max(found) > 980
    assert abs(sum(found) / 2_000 - 500) < 50
    assert core.jitter("nightly", 7, None) == 0


@pytest.mark.parametrize("days", [1, 100, 3_650])
def test_the_newest_tick_is_found_whatever_the_distance(days):
    now = 1_780_272_000_000
    for values in ({"cron": "0 4 * * *"}, {"cron": "* * * * * *"}, {"cron": "0 0 1 1 *"}, {"every": 7 * HOUR}):
        spec = {**core.DEFAULTS, **values}
        found = core.newest(spec, 0, now - days * DAY, now)
        assert found is None or (found <= now and next(core.ticks(spec, 0, found)) > now)
        assert (found is None) == (next(core.ticks(spec, 0, now - days * DAY)) > now)


@pytest.mark.parametrize("text", ["* * * * *", "@yearly", "0 0 29 2 */7"])
def test_a_tick_that_is_in_time_looks_at_no_tick_beyond_the_next(text, monkeypatch):
    looked = []
    ticks = core.ticks
    monkeypatch.setattr(core, "ticks", lambda *given: (looked.append(tick) or tick for tick in ticks(*given)))
    value = {"set": {"cron": text, "job": {"type": "work", "payload": "{}"}}}
    state = core.decide("x", value, None, 1_780_272_000_000).state
    firing = core.decide("x", value, state, state["next"])
    assert [draft.tick for draft in firing.drafts] == [state["next"]]
    assert firing.state["missed"] == 0
    assert max(looked) == firing.state["next"]


@pytest.mark.parametrize(
    "values", [{"every": 1_000 * 365 * DAY}, {"cron": "0 0 29 2 */7"}, {"cron": "@yearly", "start": 0}]
)
def test_ticks_end_with_the_calendar(app, values):
    found = list(core.ticks({**core.DEFAULTS, **values}, 0, 1_780_272_000_000))
    assert 1 < len(found) < 8_000
    assert datetime.fromtimestamp(found[-1] / 1000, UTC).year > 8_000
    with app.testing():
        assert len(app.next_fires(every=timedelta(days=365_000), count=1_000)) == 7


def test_a_clock_that_is_set_back_fires_no_tick_again():
    value = {"set": {"every": HOUR, "job": {"type": "work", "payload": "{}"}}}
    state, now, made = None, 100 * HOUR, []
    for moved in (0, 1, 1, 1, -3, 1, 1, 1, 1, 24, -24, 24, 1):
        now += moved * HOUR
        while (firing := core.decide("x", value, state, now)) is not None:
            state = firing.state
            made += [draft.tick for draft in firing.drafts]
    assert made == sorted(set(made))
    assert (made[0], made[-1]) == (101 * HOUR, 129 * HOUR)
