"""The buffer keeps outcomes until the store has taken them, and acts on its verdicts."""

import pytest

from mainstay.core.clock import ManualClock
from mainstay.core.events import Events
from mainstay.core.outcome import COMPLETED
from mainstay.core.verdict import ALREADY, BUSY, CANCELLING, LOST, STORED
from mainstay.worker.in_flight import Execution, InFlight
from mainstay.worker.outcome_buffer import OutcomeBuffer
from tests.unit.test_decide import claimed


@pytest.fixture
def in_flight():
    found = InFlight()
    found.add([Execution(claimed(id=name), None, 0) for name in ("first", "second")])
    return found


@pytest.fixture
def told():
    """The jobs that the event `stored` has named."""
    return []


@pytest.fixture
def buffer(in_flight, told):
    events = Events()
    events.on("stored", lambda transitions: told.extend(each.id for each in transitions))
    buffer = OutcomeBuffer(in_flight, ManualClock(), lambda: 0.0, events)
    for execution in in_flight:
        assert buffer.add(execution, COMPLETED)
    return buffer


def test_an_outcome_of_a_locked_job_is_kept_and_sent_again(buffer, in_flight, told):
    batch, _ = buffer.take()
    buffer.apply_verdicts(batch, [BUSY, STORED])
    assert (told, [execution.job.id for execution in in_flight]) == (["second"], ["first"])
    again, _ = buffer.take()
    assert again == batch[:1]
    buffer.apply_verdicts(again, [STORED])
    assert (told, len(in_flight), buffer.pending) == (["second", "first"], 0, 0)


@pytest.mark.parametrize("verdict", [ALREADY, STORED, LOST])
def test_what_is_stored_or_lost_is_forgotten(buffer, in_flight, told, verdict):
    batch, _ = buffer.take()
    buffer.apply_verdicts(batch, [verdict] * 2)
    assert (len(in_flight), buffer.pending, bool(told)) == (0, 0, verdict != LOST)


def test_what_was_cancelled_meanwhile_is_decided_again(buffer, in_flight, told):
    batch, _ = buffer.take()
    buffer.apply_verdicts(batch, [CANCELLING, STORED])
    ((execution, transition),), _ = buffer.take()
    assert (execution.job.id, transition.state, told) == ("first", "cancelled", ["second"])


def test_a_lost_lease_drops_an_older_attempt_at_the_same_job_too(in_flight):
    in_flight.add([Execution(claimed(id="first", token=9), None, 0)])
    assert sorted(execution.job.token for execution in in_flight.drop_all()) == [4, 4, 9]
    assert (in_flight.active, len(in_flight)) == (0, 0)


def test_a_late_reply_about_an_older_attempt_hides_no_newer_one(in_flight):
    """Else a later look at what the store counts as ours would start the newer one again."""
    newer, older = (Execution(claimed(id="again", token=token), None, 0) for token in (2, 1))
    in_flight.add([newer])
    in_flight.add([older])
    in_flight.remove([older])
    assert (in_flight.get("again", 2), in_flight.get("again", 1)) == (newer, None)


def test_an_attempt_ends_once(buffer, in_flight):
    execution = next(iter(in_flight))
    assert not buffer.add(execution, COMPLETED)
    assert (in_flight.active, in_flight.ended, buffer.pending) == (0, 2, 2)
