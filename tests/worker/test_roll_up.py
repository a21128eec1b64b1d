"""A worker makes hours of old minutes of the counters, and goes on when the store cannot be reached."""

import pytest

from mainstay import Mainstay
from mainstay.core.clock import DAY, HOUR, MINUTE, ManualClock
from mainstay.core.errors import StoreUnavailable
from mainstay.core.events import Events
from mainstay.upkeep.roll_up import RollUp
from tests.contract.building import Desk


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def app(clock):
    app = Mainstay("sqlite:///:memory:", clock=clock)

    @app.job
    def work(): ...

    yield app
    app.close()


def chore(app, keep="30d"):
    (found,) = [each for each in app.worker(stats_keep=keep).chores if isinstance(each, RollUp)]
    return found


def test_a_worker_rolls_up_once_a_minute_and_keeps_hours_as_long_as_it_is_told(app, clock):
    desk = Desk(app.store, clock)
    desk.end(desk.run())
    begin = desk.now - desk.now % MINUTE
    clock.advance("4h")
    assert chore(app, "2d").step(desk.now) == MINUTE
    (found,) = [each for each in app.store.tallies(begin - HOUR, desk.now, MINUTE) if each.name == "completed"]
    assert (found.at, found.n) == (begin - begin % HOUR, 1)
    clock.move_to(desk.now + 3 * DAY)
    chore(app, "2d").step(desk.now)
    assert app.store.tallies(begin - HOUR, desk.now, MINUTE) == []
    assert ("completed", 1) in [each[2:] for each in app.store.totals()]


def test_an_error_is_an_event_and_the_next_minute_another_try():
    class Gone:
        def roll_up(self, *_):
            raise StoreUnavailable("away")

    events, seen = Events(), []
    events.on("store_error", lambda **fields: seen.append(fields))
    assert RollUp(Gone(), events, DAY).step(0) == MINUTE
    assert len(seen) == 1
