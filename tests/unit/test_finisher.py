"""Outcomes on their way to the store: kept until it has taken them, and told apart by what it answers."""

import pytest

from mainstay.core.clock import ManualClock
from mainstay.core.events import Events
from mainstay.core.outcome import COMPLETED
from mainstay.core.verdict import ALREADY, BUSY, CANCELLING, LOST, STORED
from mainstay.worker.in_flight import Flight, Flights
from mainstay.worker.outcome_buffer import Finisher
from tests.unit.test_decide import claimed


@pytest.fixture
def flights():
    found = Flights()
    found.add([Flight(claimed(id=name), None, 0) for name in ("first", "second")])
    return found


@pytest.fixture
def told():
    """What was told as stored."""
    return []


@pytest.fixture
def finisher(flights, told):
    events = Events()
    events.on("stored", lambda transitions: told.extend(each.id for each in transitions))
    finisher = Finisher(flights, ManualClock(), lambda: 0.0, events)
    for flight in flights:
        assert finisher.add(flight, COMPLETED)
    return finisher


def test_what_somebody_holds_up_is_kept_and_asked_again(finisher, flights, told):
    batch, _ = finisher.take()
    finisher.settle(batch, [BUSY, STORED])
    assert (told, [flight.job.id for flight in flights]) == (["second"], ["first"])
    again, _ = finisher.take()
    assert again == batch[:1]
    finisher.settle(again, [STORED])
    assert (told, len(flights), finisher.pending) == (["second", "first"], 0, 0)


@pytest.mark.parametrize("verdict", [ALREADY, STORED, LOST])
def test_what_is_settled_is_let_go(finisher, flights, told, verdict):
    batch, _ = finisher.take()
    finisher.settle(batch, [verdict] * 2)
    assert (len(flights), finisher.pending, bool(told)) == (0, 0, verdict != LOST)


def test_what_was_cancelled_meanwhile_is_decided_anew(finisher, flights, told):
    batch, _ = finisher.take()
    finisher.settle(batch, [CANCELLING, STORED])
    ((flight, transition),), _ = finisher.take()
    assert (flight.job.id, transition.state, told) == ("first", "cancelled", ["second"])


def test_a_lost_lease_drops_an_older_attempt_at_the_same_job_too(flights):
    flights.add([Flight(claimed(id="first", token=9), None, 0)])
    assert sorted(flight.job.token for flight in flights.drop_all()) == [4, 4, 9]
    assert (flights.active, len(flights)) == (0, 0)


def test_an_attempt_ends_once(finisher, flights):
    flight = next(iter(flights))
    assert not finisher.add(flight, COMPLETED)
    assert (flights.active, flights.ended, finisher.pending) == (0, 2, 2)
