"""A worker fires schedules by itself: on time by the engine's clock, and within a second of a change."""

import threading

import pytest

from mainstay import Mainstay
from mainstay.core.clock import HOUR, SystemClock
from mainstay.stores import open_store

PATIENCE = 30  # seconds
LATE = 2_000  # ms; a worker that polled would be later than this on the average


class Wrong(SystemClock):
    """The clock of a process that is wrong by so much."""

    def __init__(self, by):
        self.by = by

    def now(self):
        return super().now() + self.by


@pytest.fixture(params=[0, -HOUR, HOUR])
def app(request, engine_url, engine):
    """An application; on engines that have a clock of their own, also one whose own clock is wrong."""
    if request.param and not engine.startswith(("postgres", "redis", "valkey")):
        pytest.skip("the clock of a file is that of its machine")
    app = Mainstay(store=open_store(engine_url), clock=Wrong(request.param))

    @app.job
    def work() -> None: ...

    app.work = work
    yield app
    app.close()


@pytest.mark.engines("sqlite", "postgres18", "valkey")
def test_ticks_fire_on_time(app):
    late, done, clock = [], threading.Event(), SystemClock()

    def fired(schedule, jobs):
        (job,) = app.store.get_many(jobs)
        late.append(clock.now() - job.tick)
        if len(late) == 12:
            done.set()

    app.events.on("fired", fired)
    begun = clock.now() / 1000 + 4  # by then a slow machine has started the worker
    for n in range(10):
        app.schedule(f"s{n}", app.work.prepare(), every="1d", start=begun + n / 10)
    with app.worker():
        app.create_schedule("new", app.work.prepare(), every="1s", start=begun, limit=2)
        assert done.wait(PATIENCE)
    assert min(late) >= -5  # both clocks are read, one after the other
    assert max(late) < LATE
    assert len(app.search("schedule:new").ids) == 2
